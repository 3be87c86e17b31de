internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `stages`: the inspector.
struct StagesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stages",
    abstract: "Lists stages, sources and sinks, or what one of them can be set to and reports.")

  @Argument(help: "A stage, source or sink.")
  var name: String?

  @Flag(help: "Prints a JSON list instead; README.md says what is in it.")
  var json = false

  func execute(_ kinds: Kinds) throws {
    try kinds.requireNoMistakes()
    let lines = try lines(kinds)
    guard json else {
      for line in lines { Console.output.say(line) }
      return
    }
    let all =
      kinds.stages.map(StageLine.init) + kinds.sources.map(StageLine.init)
      + kinds.outputs.map(StageLine.init) + kinds.microphones.map(StageLine.init)
      + kinds.audioStages.map(StageLine.init)
    try Console.output.say(encoding: all.filter { name == nil || $0.name == name })
  }

  private func lines(_ kinds: Kinds) throws(RunError) -> [String] {
    guard let name else { return overview(kinds) }
    var found = kinds.sources.filter { $0.name == name }.map { described($0, "--source") }
    found += kinds.microphones.filter { $0.name == name }.map { described($0, "--microphone") }
    found += kinds.audioStages.filter { $0.name == name }.map { stage in
      ["\(stage.name): \(stage.text)", "use: --audio-stage \(stage.name)"] + lines(stage.settings)
    }
    found += kinds.outputs.filter { $0.name == name }.map { described($0, "--sink") }
    found += kinds.stages.filter { $0.name == name }.map { described($0) }
    guard found.isEmpty else { return Array(found.joined(separator: [""])) }
    let known =
      kinds.stages.map(\.name) + kinds.sources.map(\.name) + kinds.outputs.map(\.name)
      + kinds.microphones.map(\.name) + kinds.audioStages.map(\.name)
    throw RunError(
      .usage, "there is no stage, source or sink `\(name)`; " + knownNames(known, near: name))
  }

  private func described<Made, Request>(_ kind: Kind<Made, Request>, _ option: String) -> [String] {
    ["\(kind.name): \(kind.text)", "use: \(option) \(kind.usage)"] + lines(kind.settings)
  }

  private func described(_ plugin: Plugin) -> [String] {
    let orders = plugin.stages.map { stage in
      let order = stage.order == .any ? "any order, in parallel" : "in sequence"
      return plugin.stages.count > 1 ? "stage \(stage.name), \(order)" : order
    }
    return ["\(plugin.name): \(plugin.text)"] + orders + lines(plugin.settings) + fields(plugin)
  }

  private func overview(_ kinds: Kinds) -> [String] {
    let names =
      kinds.stages.map(\.name) + kinds.sources.map(\.usage) + kinds.outputs.map(\.usage)
      + kinds.microphones.map(\.usage) + kinds.audioStages.map(\.name)
    let width = names.reduce(14) { max($0, $1.count + 1) }
    return ["stages (--stage NAME:KEY=VALUE,...):"]
      + kinds.stages.map { "  \(pad($0.name, width))\($0.text)" }
      + ["sources (--source NAME, --source-set KEY=VALUE):"]
      + kinds.sources.map { "  \(pad($0.usage, width))\($0.text)" }
      + ["sinks (--sink NAME, also with settings: NAME:ARGUMENT,KEY=VALUE,...):"]
      + kinds.outputs.map { "  \(pad($0.usage, width))\($0.text)" }
      + ["microphones (--microphone NAME,KEY=VALUE,..., or a device):"]
      + kinds.microphones.map { "  \(pad($0.usage, width))\($0.text)" }
      + ["audio stages (--audio-stage NAME:KEY=VALUE,...):"]
      + kinds.audioStages.map { "  \(pad($0.name, width))\($0.text)" }
  }

  private func lines(_ settings: [SettingDescription]) -> [String] {
    let width = settings.reduce(14) { max($0, $1.name.count + 1) }
    return [settings.isEmpty ? "no settings" : "settings:"]
      + settings.flatMap { setting in
        let unit = setting.unit.isEmpty ? "" : " \(setting.unit)"
        let value = setting.defaultText.isEmpty ? "none" : setting.defaultText
        return [
          "  \(pad(setting.name, width))\(setting.text)",
          "  \(pad("", width))default \(value)\(unit); \(setting.allowed)"
            + (setting.isLive ? "; also while the run goes on" : ""),
        ]
      }
  }

  private func fields(_ plugin: Plugin) -> [String] {
    let fields = plugin.stages.flatMap(\.fields)
    let width = fields.reduce(22) { max($0, $1.name.count + 1) }
    return [fields.isEmpty ? "no report" : "reports:"]
      + fields.map { field in
        let unit = field.unit.isEmpty ? "" : ", \(field.unit)"
        return "  \(pad(field.name, width))\(field.kind.text)\(unit)"
      }
  }
}

/// `text` and spaces to at least `width` columns, as the terminal will show them.
func pad(_ text: String, _ width: Int) -> String {
  let text = printable(text)
  return text + String(repeating: " ", count: max(1, width - text.count))
}

/// Spaces and `text`, right-aligned in `width` columns.
func padLeft(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
