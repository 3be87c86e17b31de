// Where options are text: at the doors of the house, and nowhere behind them.

extension Rules {
  /// Rooms that read options, requests and descriptions of runs. What they read with is in `readers`.
  private static let doors: Set<String> = ["SprocketCommandLine", "SprocketPipelines"]
  private static let readers = "Sources/SprocketCore/Options/"
  /// The one file that reads what the program was called with.
  private static let arguments = "Sources/SprocketCommandLine/ProgramArguments.swift"

  /// Texts by their names that are no options.
  static let mayNameTexts = [
    Permission("Sources/SprocketCore/Audio", ["AudioSource"], "what a film says of itself"),
    Permission("Sources/SprocketCore/Source", ["Source"], "what a film says of itself"),
    Permission("Sources/SprocketCore/Stage", ["LiveSettings"], "what files and news tell of"),
    Permission(
      "Sources/SprocketLibAV", ["Demuxer", "MediaInfo", "SoundReader"], "what a film says of itself"
    ),
    Permission(
      "Sources/SprocketMCAP", ["MCAPCursor", "MCAPFormat", "MCAPRecord", "MCAPRecord+Writing"],
      "the metadata of a file"),
    Permission("Sources/SprocketRecords", ["EventRecords"], "the metadata of a dump"),
    Permission(
      "Sources/SprocketSinks/Movie", ["MovieOutput", "MovieRecording", "MovieSink"],
      "what a film says of itself"),
    Permission("Sources/SprocketSources/File", ["FileSource"], "what a film says of itself"),
  ]

  static let textStaysAtTheDoors: Rule = { tree in
    var needed = Set(mayNameTexts.flatMap(\.paths))
    var found: [Finding] = []
    for file in tree.files where file.isSwift {
      guard let module = file.module else { continue }
      if file.path != arguments,
        let line = file.code.firstIndex(where: { $0.contains("CommandLine.") })
      {
        found.append(Finding(file, line: line, "reads the program's arguments; \(arguments) does"))
      }
      guard !doors.contains(module), !file.path.hasPrefix(readers),
        let line = file.code.firstIndex(where: { $0.contains("[String: String]") }),
        needed.remove(file.path) == nil
      else { continue }
      found.append(
        Finding(
          file, line: line, "has options as text; take a settings value, which a door has read"))
    }
    return found
      + needed.sorted().map {
        Finding($0, "is listed in Rules+Doors.swift, but names no texts: take it off")
      }
  }
}
