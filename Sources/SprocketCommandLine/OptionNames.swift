internal import Sprocket

/// Names the options of the settings that an error is about.
enum OptionNames {
  /// Returns the sentence, and the options in brackets. `arguments` are those of the command, its name first.
  static func sentence(_ error: RunError, _ arguments: ArraySlice<String>) -> String {
    let isExport = arguments.first == "export"
    let name = { (path: SettingPath) in
      isExport ? export(path, arguments) : run(path, arguments)
    }
    if isExport, let refused = error.refused, let option = name(refused.path), option != "stage" {
      let (value, unit) = (refused.error, refused.error.unit)
      return "--\(option) \(value.given) is not allowed: give \(value.allowed)"
        + (unit.isEmpty ? "" : " (\(unit))")
    }
    var options: [String] = []
    let isPhoto = arguments.first == "photo"
    for option in error.settings.compactMap(name) where !options.contains(option) {
      options.append(isPhoto && option == "duration" ? "within" : option)
    }
    // Other commands have some of the options of `run`.
    if !isExport, arguments.first != "run" {
      let command = try? CommandHelp.root[arguments.first]
      let own = command?.shown.flatMap(\.longNames) ?? []
      options.removeAll { !own.contains("--\($0)") }
    }
    if options.isEmpty { return error.description }
    return "\(error.description) (\(options.map { "--\($0)" }.joined(separator: ", ")))"
  }

  /// Returns the option of `run` that gives a setting. `arguments` tell which of several was given.
  static func run(_ path: SettingPath, _ arguments: ArraySlice<String> = []) -> String? {
    let steps = path.steps
    let last = steps.count > 1 ? steps[steps.count - 1] : nil
    switch steps.first {
    case "source":
      guard let last else { return "source" }
      if last == "replug" { return "on-unplug" }
      if ["path", "name", "descriptor"].contains(last) { return "source" }
      return isOption(last, of: "source") ? last : "source-set"
    case "stages": return "stage"
    case "sound":
      switch last {
      case nil: return "microphone"
      case "stages": return "audio-stage"
      case "path": return "sound"
      case "levels", "sync": return last
      case "correction": return "audio-sync"
      default: return last.map { "audio-\($0)" }
      }
    case "outputs": return steps.count > 1 ? output(steps, arguments) : "sink"
    case "until": return "bracket"
    default: return steps.first
    }
  }

  /// Whether a group of `run` has an option of that name.
  private static func isOption(_ name: String, of group: String) -> Bool {
    let groups = (try? CommandHelp.root)?["run"]?.groups
    let options = groups?.first { $0.name == group }?.arguments
    return options?.contains { $0.longNames == ["--\(name)"] } == true
  }

  private static func output(_ steps: [String], _ arguments: ArraySlice<String>) -> String {
    let (kind, last) = (steps[1], steps[steps.count - 1])
    let isSink = arguments.contains { argument in
      argument.hasPrefix("\(kind):") || argument.hasPrefix("--sink=\(kind):") || argument == kind
    }
    if isSink, arguments.contains(where: { $0 == "--sink" || $0.hasPrefix("--sink=") }) {
      return "sink"
    }
    // `--codec` gives other settings of a movie, too.
    let isOther = arguments.contains { $0.contains(":\(last)=") || $0.contains(",\(last)=") }
    if steps.count > 2, !isOther, let option = OutputOption.all.first(where: { $0.setting == last })
    {
      return option.name
    }
    switch (kind, last) {
    case ("movie", "path"), ("movie", "movie"): return "movie"
    case ("movie", _): return "codec"
    case ("checksum", _): return arguments.contains("--checksum") ? "checksum" : "checksums"
    case ("pipe", "header"): return "pipe-header"
    default:
      let options = [
        "movie", "stills", "dump", "reports", "share", "page", "virtual", "pipe", "null",
      ]
      return options.contains(kind) ? kind : "sink"
    }
  }

  /// Returns the option of `export` that gives a setting; `nil` if it has none.
  private static func export(_ path: SettingPath, _ arguments: ArraySlice<String>) -> String? {
    let own = [
      "stages.resize.size": "scale", "stages.crop.aspect": "aspect", "stages.crop.pixels": "crop",
      "stages.rotate.turn": "rotate", "source.size": "scale", "source.stream": "stream",
      "source.from": "from", "source.rate": "rate", "outputs.movie.codec": "codec",
      "overwrite": "overwrite", "duration": "to",
    ]
    if let option = own[path.description] {
      // The stage may have been given by its own name.
      return path.steps[0] != "stages" || arguments.contains { $0.hasPrefix("--\(option)") }
        ? option : "stage"
    }
    switch path.steps.first {
    case "stages": return "stage"
    case "sound": return "audio"
    case "outputs": return run(path) == "codec" ? "codec" : nil
    default: return nil
    }
  }
}
