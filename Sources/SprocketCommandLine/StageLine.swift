internal import Sprocket

/// What `stages --json` says of a stage, a source or a sink; README.md lists the keys.
struct StageLine: Encodable {
  enum CodingKeys: String, CodingKey {
    case kind, name, text, argument, parallel, settings, reports
    case argumentOptional = "argument_optional"
  }

  struct Setting: Encodable {
    enum CodingKeys: String, CodingKey {
      case name, text, unit, allowed, choices, live
      case usual = "default"
    }
    let name, text, unit, allowed, usual: String
    /// Whether it may be changed while the run goes on.
    let live: Bool
    /// The allowed words, if only certain words are allowed.
    let choices: [String]?

    init(_ setting: SettingDescription) {
      name = setting.name
      text = setting.text
      unit = setting.unit
      allowed = setting.allowed
      choices = setting.choices.isEmpty ? nil : setting.choices
      usual = setting.defaultText
      live = setting.isLive
    }
  }

  struct Field: Encodable {
    let name, unit, kind: String
    /// Of a word.
    let words: [String]?

    init(_ field: ReportFieldDescription) {
      name = field.name
      unit = field.unit
      kind = field.kind.text
      words = if case .word(let words) = field.kind { words } else { nil }
    }
  }

  let kind, name, text: String
  /// For a source or sink: the argument after the name and a colon, and whether it may be omitted.
  let argument: String?
  let argumentOptional: Bool?
  /// Of a stage: frames are taken in any order, by several threads.
  let parallel: Bool?
  let settings: [Setting]
  /// Of a stage: the fields of its report.
  let reports: [Field]?

  init(_ plugin: Plugin) {
    (kind, name, text, argument) = ("stage", plugin.name, plugin.text, nil)
    argumentOptional = nil
    parallel = plugin.stages.allSatisfy { $0.order == .any }
    settings = plugin.settings.map(Setting.init)
    reports = plugin.stages.flatMap(\.fields).map(Field.init)
  }

  init(_ plugin: AudioPlugin) {
    (kind, name, text, argument) = ("audio stage", plugin.name, plugin.text, nil)
    (argumentOptional, parallel, reports) = (nil, nil, nil)
    settings = plugin.settings.map(Setting.init)
  }

  init<Made, Request>(_ found: Kind<Made, Request>) {
    (kind, name, text) = (Request.noun, found.name, found.text)
    argument = found.argument == nil ? nil : found.shownArgument
    argumentOptional = found.argument == nil ? nil : found.isArgumentOptional
    (parallel, reports) = (nil, nil)
    settings = found.settings.map(Setting.init)
  }
}

extension FieldKind {
  /// As a person would say it; of words, the words.
  var text: String {
    switch self {
    case .double, .float: "number"
    case .int64, .uint32: "whole number"
    case .bool: "true or false"
    case .levelCounts: "256 whole numbers"
    case .gridValues: "4x4 numbers, row by row"
    case .matrixValues: "3x3 numbers, row by row"
    case .cornerValues: "x and y of four points"
    case .text: "text"
    case .binary: "bytes"
    case .list(let list):
      "up to \(list.capacity), each with " + list.fields.map(\.name).joined(separator: ", ")
    case .word(let words): words.joined(separator: ", ")
    }
  }
}
