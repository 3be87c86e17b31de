internal import ArgumentParser
internal import FoundationEssentials
internal import Sprocket

/// `sprocket devices`: what can be captured from.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Lists cameras: formats, sizes, rates, and controls with their ranges.")

  @Flag(help: "Prints a JSON list instead; README.md says what is in it.")
  var json = false

  func execute() throws {
    let cameras = CameraInfo.all()
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(cameras.map(CameraLine.init)), as: UTF8.self))
      return
    }
    guard !cameras.isEmpty else {
      print("there is no camera; `sprocket run` takes the built-in scene")
      return
    }
    for (index, camera) in cameras.enumerated() {
      if index > 0 { print("") }
      tell(camera)
    }
  }

  private func tell(_ camera: CameraInfo) {
    print("\(camera.card) (\(camera.path))")
    if let problem = camera.problem {
      print("  \(problem)")
      return
    }
    print("  driver \(camera.driver), bus \(camera.bus)")
    if camera.formats.isEmpty { print("  offers no format at the moment: nothing feeds it") }
    for group in groups(camera.formats.filter { $0.pixelFormat != nil }) { tell(group) }
    let unknown = camera.formats.filter { $0.pixelFormat == nil }.map(\.fourCC)
    if !unknown.isEmpty {
      print("  \(wrapped(["unknown to Sprocket: \(unknown[0])"] + unknown.dropFirst(), indent: 4))")
    }
    var heading = ""
    for control in camera.controls {
      if control.group != heading {
        heading = control.group
        print("  \(heading)")
      }
      tell(control)
    }
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

  private func tell(_ formats: [CameraFormat]) {
    let names = formats.map { $0.isEmulated ? "\($0.fourCC) (by libv4l2)" : $0.fourCC }
    print("  " + wrapped(names, indent: 4))
    for size in formats[0].sizes {
      print("    \(pad(size.text, 12))\(size.rates.text)")
    }
  }

  /// Words with commas between them, on lines of at most 100 columns.
  private func wrapped(_ words: [String], indent: Int) -> String {
    var lines: [String] = []
    var line = ""
    for (index, word) in words.enumerated() {
      let piece = index < words.count - 1 ? "\(word)," : word
      if line.isEmpty {
        line = piece
      } else if indent + line.count + 1 + piece.count <= 100 {
        line += " \(piece)"
      } else {
        lines.append(line)
        line = piece
      }
    }
    return (lines + [line]).joined(separator: "\n" + String(repeating: " ", count: indent))
  }

  private func tell(_ control: CameraControlInfo) {
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
    print("    \(pad(description.name, 30))\(wrapped(words, indent: 34))")
  }
}
