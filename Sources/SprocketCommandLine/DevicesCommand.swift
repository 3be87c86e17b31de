internal import ArgumentParser
internal import Sprocket

/// `devices`: what can be captured from.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract:
      "Lists cameras and microphones: formats, sizes, rates, and controls with their ranges.")

  @Flag(help: "Prints a JSON list instead; docs/cameras.md says what is in it.")
  var json = false

  @Flag(
    help: """
      Goes on until Ctrl-C: tells of what is there, then of what comes and goes, a line each. With --json, \
      each line is an object: `event` is present, added or removed, `device` as without --watch.
      """)
  var watch = false

  func execute(_ signals: inout StopSignals) throws {
    if watch { return try follow(&signals) }
    let (cameras, microphones) = try devices(&signals)
    if json {
      try Console.output.say(
        encoding: cameras.map { DeviceLine.camera(CameraLine($0)) }
          + microphones.map { DeviceLine.microphone(MicrophoneLine($0)) })
      return
    }
    let noCamera = "there is no camera; `\(programName) run` takes the built-in scene"
    let listed =
      (cameras.isEmpty ? [[noCamera]] : cameras.map { lines($0, microphones) })
      + (microphones.isEmpty ? [["there is no microphone"]] : microphoneLines(microphones))
    for line in listed.joined(separator: [""]) { Console.output.say(line) }
  }

  /// Tells of changes until a signal comes or nobody reads any more.
  private func follow(_ signals: inout StopSignals) throws {
    let watch = try DeviceWatch()
    let isOver = Locked(false)
    let json = json
    let work = try BackgroundWork("devices") {
      try watch.follow(while: { !isOver.withLock { $0 } && Console.output.failure == 0 }) {
        change in
        if json {
          Console.output.say(json: try jsonText(ChangeLine(change), isOneLine: true))
        } else {
          Console.output.say(line(change))
        }
      }
    }
    // A device that does not answer is left alone at the second signal.
    do {
      try work.value(&signals) {
        defer { isOver.withLock { $0 = true } }
        return isOver.withLock { $0 } ? .zero : .seconds(2)
      }
    } catch is Abandoned {}
  }

  private func line(_ change: DeviceChange) -> String {
    let start = "\(change.event.rawValue) "
    switch change.device {
    case .camera(let camera):
      let identity = camera.identity.map { ", \($0.name)" } ?? ""
      let problem = camera.problem.map { ": \($0)" } ?? ""
      return start + "camera \(camera.card) (\(camera.path))\(identity)\(problem)"
    case .microphone(let microphone):
      return start + "microphone \(microphone.card) (\(microphone.address))"
        + (microphone.problem.map { ": \($0)" } ?? "")
    }
  }

  /// Asks every device; one that does not answer is left alone at the first signal.
  private func devices(
    _ signals: inout StopSignals
  ) throws -> (cameras: [CameraInfo], microphones: [MicrophoneInfo]) {
    let stopped = RunError(.failed, "stopped before every device had answered")
    var isStopped = false
    do {
      let found = try BackgroundWork("devices") { (CameraInfo.all(), MicrophoneInfo.all()) }
        .value(&signals) {
          isStopped = true
          return .zero
        }
      // The devices may answer just when the signal comes: it ends the program all the same.
      guard !isStopped else { throw stopped }
      return found
    } catch is Abandoned {
      throw stopped
    }
  }

  private func lines(_ camera: CameraInfo, _ microphones: [MicrophoneInfo]) -> [String] {
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

  private func microphoneLines(_ microphones: [MicrophoneInfo]) -> [[String]] {
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
    case .number, .boolean: words = [description.allowed]
    }
    if let value = description.defaultValue {
      words.append("default \(description.text(of: value))")
    }
    if let value = control.value { words.append("now \(description.text(of: value))") }
    if control.isReadOnly { words.append("cannot be set") }
    if control.isInactive { words.append("inactive") }
    if let delay = control.delay {
      words.append("shown \(delay) \(delay == 1 ? "frame" : "frames") after the answer")
    }
    return wrapped("    \(pad(description.name, 30))", words, indent: 34)
  }
}
