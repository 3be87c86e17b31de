// Mistakes in declarations of kinds. Their authors mend them, so no setting is named with the error.

extension NamedKind {
  public var mistakes: [RunError] { settingMistakes() }

  /// Returns the mistakes in the name and the settings. `required` is a setting that the user must give: its
  /// default may lie outside of its range.
  func settingMistakes(required: String? = nil) -> [RunError] {
    nameMistake.map { [$0] }
      ?? settingsType.mistakes(of: "the \(Self.noun) \(name)", required: required)
  }

  /// The mistake in its name; `nil` if options and files can name it.
  public var nameMistake: RunError? {
    name.isNameable
      ? nil
      : RunError(.usage, "a \(Self.noun) is called `\(printable(name))`, \(nameRemedy)")
  }
}

extension Kind {
  public var mistakes: [RunError] {
    settingMistakes(required: isArgumentOptional ? nil : argument)
  }
}

extension Plugin {
  public var mistakes: [RunError] {
    let own = settingMistakes()
    guard own.isEmpty else { return own }
    let owner = "the stage \(name)"
    let parts = [takenName, repeated("stages", stages.map(\.name), of: owner, "has")]
    return parts.compactMap(\.self) + stages.flatMap { $0.reportType.mistakes(of: owner) }
  }

  /// The mistake that the engine itself has a step, or each line of reports a key, of that name.
  private var takenName: RunError? {
    let hasReports = stages.contains { $0.reportType.hasFields }
    guard
      ["unpack", "pack", "select"].contains(name) || hasReports && Self.keysOfReports.contains(name)
    else { return nil }
    return RunError(
      .usage, "a stage is called `\(name)`, as something of the engine's own; give it another name")
  }

  /// Keys that each line of reports has, beside those of stages.
  package static let keysOfReports = [
    "number", "sequence", "epoch", "captured_ns", "clock", "fate", "latency_us", "stage",
    "exposure_us",
    "gain", "lens", "events",
  ]
}

extension KindSettings {
  /// Mistakes in the declaration of these settings. `owner` is whose they are, such as "the stage focus". The
  /// default of `required` need not be allowed.
  package static func mistakes(of owner: String, required: String? = nil) -> [RunError] {
    let settings = settings
    let names = settings.map(\.name)
    var mistakes = [repeated("settings", names, of: owner, "has")].compactMap(\.self)
    mistakes += names.filter { !$0.isNameable }.map {
      RunError(.usage, "\(owner) has a setting called `\(printable($0))`, \(nameRemedy)")
    }
    mistakes += Self().refusals.filter { $0.name != required }.map {
      RunError(.usage, "the default of \(owner): \($0.error)")
    }
    return mistakes
  }

  /// Names of the settings that have a value which is not allowed, each with its error.
  package var refusals: [(name: String, error: SettingError)] {
    var copy = self
    return Self.settings.compactMap { setting in
      do throws(SettingError) {
        try setting.apply(setting.read(from: self), to: &copy)
        return nil
      } catch {
        return (setting.name, error)
      }
    }
  }
}

extension FrameReport {
  fileprivate static var hasFields: Bool { !fields.isEmpty }

  /// Mistakes in the declaration of this report.
  package static func mistakes(of owner: String) -> [RunError] {
    SprocketCore.mistakes(in: fields.map(\.description), of: owner)
  }
}

/// Mistakes in fields of a report, and in those of its lists.
private func mistakes(
  in fields: [ReportFieldDescription], within list: String = "", of owner: String
) -> [RunError] {
  let names = fields.map { list + $0.name }
  var mistakes = [repeated("fields", names, of: owner, "reports")].compactMap(\.self)
  for case .list(let items) in fields.map(\.kind) {
    let name = fields.first { $0.kind == .list(items) }?.name ?? ""
    mistakes += SprocketCore.mistakes(in: items.fields, within: "\(list)\(name).", of: owner)
  }
  return mistakes
}

/// The error that two `things` have one name; `nil` if all names differ.
private func repeated(
  _ things: String, _ names: [String], of owner: String, _ verb: String
) -> RunError? {
  let twice = names.indices.first { names[..<$0].contains(names[$0]) }
  return twice.map {
    RunError(
      .usage,
      "\(owner) \(verb) two \(things) called `\(printable(names[$0]))`; rename one of them")
  }
}

private let nameRemedy = "which no option can name; use letters, digits, - and _"

extension String {
  /// Whether options, paths of settings and files can name it: letters, digits, - and _, and no - at the
  /// beginning, which begins an option.
  fileprivate var isNameable: Bool {
    !isEmpty && first != "-"
      && allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
  }
}
