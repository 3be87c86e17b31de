internal import ArgumentParser
internal import Sprocket

/// `sprocket stages`: the inspector.
struct StagesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stages",
    abstract: "Lists stages and sources, or what one of them can be set to and reports.")

  @Argument(help: "A stage or source.")
  var name: String?

  func execute(_ registry: Registry) throws {
    guard let name else {
      print("stages (--stage NAME:KEY=VALUE,...):")
      for plugin in registry.stages { print("  \(pad(plugin.name, 14))\(plugin.text)") }
      print("sources (--source NAME, --source-set KEY=VALUE):")
      for source in registry.sources { print("  \(pad(source.usage, 14))\(source.text)") }
      return
    }
    if let source = registry.sources.first(where: { $0.name == name }) {
      print("\(source.name): \(source.text)")
      return printSettings(source.settings)
    }
    let plugin = try registry.stage(name)
    print("\(plugin.name): \(plugin.text)")
    for stage in plugin.stages {
      let order = stage.order == .any ? "any order, in parallel" : "in sequence"
      print(plugin.stages.count > 1 ? "stage \(stage.name), \(order)" : order)
    }
    printSettings(plugin.settings)
    printFields(plugin)
  }

  private func printSettings(_ settings: [SettingDescription]) {
    print(settings.isEmpty ? "no settings" : "settings:")
    for setting in settings {
      let unit = setting.unit.isEmpty ? "" : " \(setting.unit)"
      let value = setting.defaultText.isEmpty ? "none" : setting.defaultText
      print("  \(pad(setting.name, 14))\(setting.text)")
      print("  \(pad("", 14))default \(value)\(unit); \(setting.allowed)")
    }
  }

  private func printFields(_ plugin: Plugin) {
    let fields = plugin.stages.flatMap(\.fields)
    print(fields.isEmpty ? "no report" : "reports:")
    for field in fields {
      let kind =
        switch field.kind {
        case .double, .float: "number"
        case .int64, .uint32: "whole number"
        case .bool: "true or false"
        case .levelCounts: "256 whole numbers"
        case .gridValues: "4x4 numbers, row by row"
        case .matrixValues: "3x3 numbers, row by row"
        case .word(let words): words.joined(separator: ", ")
        }
      print("  \(pad(field.name, 22))\(kind)\(field.unit.isEmpty ? "" : ", \(field.unit)")")
    }
  }
}

/// `text` and spaces to at least `width` columns.
func pad(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(1, width - text.count))
}

/// Spaces and `text`, right-aligned in `width` columns.
func padLeft(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
