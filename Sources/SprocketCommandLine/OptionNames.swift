internal import Sprocket

/// Names the options of the settings that an error is about.
enum OptionNames {
  /// Returns the sentence, and the options in brackets. `arguments` are those of the command, its name first.
  static func sentence(_ error: RunError, _ arguments: ArraySlice<String>) -> String {
    let isExport = arguments.first == "export"
    let name = { (path: SettingPath) in isExport ? export(path, arguments) : run(path) }
    if isExport, let refused = error.refused, let option = name(refused.path), option != "stage" {
      let (value, unit) = (refused.error, refused.error.unit)
      return "--\(option) \(value.given) is not allowed: give \(value.allowed)"
        + (unit.isEmpty ? "" : " (\(unit))")
    }
    var options: [String] = []
    for option in error.settings.compactMap(name) where !options.contains(option) {
      options.append(option)
    }
    if options.isEmpty { return error.description }
    return "\(error.description) (\(options.map { "--\($0)" }.joined(separator: ", ")))"
  }

  /// Returns the option of `run` that gives a setting.
  static func run(_ path: SettingPath) -> String? {
    let steps = path.steps
    let last = steps.count > 1 ? steps[steps.count - 1] : nil
    switch steps.first {
    case "source":
      guard let last else { return "source" }
      if last == "replug" { return "on-unplug" }
      return ["format", "size", "rate", "from", "controls"].contains(last) ? last : "source-set"
    case "stages": return "stage"
    case "sound":
      guard let last else { return "microphone" }
      return last == "stages" ? "audio-stage" : "audio-\(last)"
    case "outputs":
      guard let last else { return "sink" }
      switch (steps[1], last) {
      case (_, steps[1]): return last
      case ("movie", "quality"), ("stills", "quality"), ("stills", "every"): return last
      case ("stills", "sharpest"): return "stills-sharpest"
      case ("movie", "reports"): return "movie-reports"
      case ("movie", _): return "codec"
      default: return steps[1]
      }
    default: return steps.first
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
