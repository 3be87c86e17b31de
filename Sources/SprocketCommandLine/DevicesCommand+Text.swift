internal import Sprocket

// Devices as text.

extension DevicesCommand {
  func lines(_ camera: CameraInfo, _ microphones: [MicrophoneInfo]) -> [String] {
    var lines = ["\(camera.card) (\(camera.path))"]
    if let identity = camera.identity {
      lines.append("  identity \(identity.name)")
      if identity.place != identity.name { lines.append("  in this port \(identity.place)") }
    }
    if let position = camera.position { lines.append("  position \(position.rawValue)") }
    let together = microphones.filter { $0.unit != nil && $0.unit == camera.identity?.unit }
    if !together.isEmpty { lines += wrapped("  microphone ", together.map(\.address), indent: 4) }
    if !camera.holders.isEmpty { lines += wrapped("  open in ", camera.holders, indent: 4) }
    if let problem = camera.problem { return lines + ["  \(problem)"] }
    lines.append("  driver \(camera.driver), bus \(camera.bus)")
    if camera.formats.isEmpty { lines.append("  offers no format at the moment: nothing feeds it") }
    for group in groups(camera.formats.filter { $0.pixelFormat != nil }) {
      lines += self.lines(group)
    }
    let unknown = camera.formats.filter { $0.pixelFormat == nil }.map(\.fourCC)
    if !unknown.isEmpty {
      lines += wrapped(
        "  ", ["unknown to Sprocket: \(unknown[0])"] + unknown.dropFirst(), indent: 4)
    }
    var heading = ""
    for control in camera.controls {
      if control.group != heading {
        heading = control.group
        lines.append("  \(heading)")
      }
      lines += self.lines(control)
    }
    return lines
  }

  /// Formats with the same sizes, together.
  private func groups(_ formats: [CameraFormat]) -> [[CameraFormat]] {
    var groups: [[CameraFormat]] = []
    for format in formats {
      if let index = groups.firstIndex(where: { $0[0].sizes == format.sizes }) {
        groups[index].append(format)
      } else {
        groups.append([format])
      }
    }
    return groups
  }

  private func lines(_ formats: [CameraFormat]) -> [String] {
    let names = formats.map { $0.isEmulated ? "\($0.fourCC) (by libv4l2)" : $0.fourCC }
    return wrapped("  ", names, indent: 4)
      + formats[0].sizes.map { "    \(pad($0.text, 12))\($0.rates.text)" }
  }

  /// Words with commas between them behind `start`, on lines of at most 100 columns, all but the first
  /// indented by `indent`.
  private func wrapped(_ start: String, _ words: [String], indent: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for (index, word) in words.enumerated() {
      let piece = printable(index < words.count - 1 ? "\(word)," : word)
      if line.isEmpty {
        line = piece
      } else if indent + line.count + 1 + piece.count <= 100 {
        line += " \(piece)"
      } else {
        lines.append(line)
        line = piece
      }
    }
    lines.append(line)
    let margin = String(repeating: " ", count: indent)
    return [start + lines[0]] + lines.dropFirst().map { margin + $0 }
  }

  func microphoneLines(_ microphones: [MicrophoneInfo]) -> [[String]] {
    microphones.enumerated().map { index, microphone in
      // A card's controls stand below its first device.
      let isFirst = index == 0 || microphones[index - 1].id != microphone.id
      return lines(microphone, controls: isFirst ? microphone.controls : [])
    }
  }

  private func lines(_ microphone: MicrophoneInfo, controls: [MicrophoneControlInfo]) -> [String] {
    let names = [microphone.card] + (microphone.device.isEmpty ? [] : [microphone.device])
    var lines = ["\(names.joined(separator: ", ")) (\(microphone.address))"]
    if !microphone.holders.isEmpty {
      let count =
        microphone.subdevices > 1 ? " \(microphone.holders.count) of \(microphone.subdevices)" : ""
      lines += wrapped("  in use\(count): ", microphone.holders, indent: 4)
    }
    if let problem = microphone.problem {
      lines.append("  \(problem)")
    } else {
      lines.append("  driver \(microphone.driver), \(microphone.place)")
      lines += wrapped(
        "  ", microphone.formats.map { "\($0.number.rawValue) (\($0.name))" }, indent: 4)
      lines.append("  \(microphone.rateText)")
      lines.append("  \(microphone.channelText)")
    }
    if !microphone.aliases.isEmpty {
      lines.append("  with conversions, or shared:")
      lines += wrapped("    ", microphone.aliases, indent: 4)
    }
    if !controls.isEmpty { lines.append("  Controls") }
    return lines + controls.flatMap(self.lines)
  }

  private func lines(_ control: MicrophoneControlInfo) -> [String] {
    var words = [control.description.allowed]
    if let range = control.decibelRange {
      words[0] += " (\(range.lowerBound.settingText) to \(range.upperBound.settingText) dB)"
    }
    if let value = control.value {
      let decibels = control.decibels.map { " (\($0.settingText) dB)" } ?? ""
      words.append("now \(control.description.text(of: value))\(decibels)")
    }
    return wrapped("    \(pad(control.description.name, 30))", words, indent: 34)
  }

  private func lines(_ control: CameraControlInfo) -> [String] {
    let description = control.description
    var words: [String]
    switch description.kind {
    case .button: words = ["does something when it is set"]
    case .menu(let choices): words = choices.map { "\($0.name) (\($0.value.settingText))" }
    case .number, .boolean, .text: words = [description.allowed]
    case .array where control.dimensions.isEmpty: words = ["a structure of values"]
    case .array:
      words = ["\(control.dimensions.map(\.settingText).joined(separator: " x ")) values"]
    }
    if let value = description.defaultValue {
      words.append("default \(description.text(of: value))")
    }
    if let value = control.value { words.append("now \(description.text(of: value))") }
    if let text = control.text { words.append("now \"\(text)\"") }
    if control.isReadOnly { words.append("cannot be set") }
    if control.isInactive { words.append("inactive") }
    if let delay = control.delay {
      words.append("shown \(delay) \(delay == 1 ? "frame" : "frames") after the answer")
    }
    return wrapped("    \(pad(description.name, 30))", words, indent: 34)
  }
}
