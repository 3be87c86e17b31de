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
      "Sources/SprocketLibAV", ["Demuxer", "MediaInfo", "MediaJoin", "MediaPart", "SoundReader"],
      "what a film says of itself"),
    Permission(
      "Sources/SprocketMCAP", ["MCAPCursor", "MCAPFormat", "MCAPRecord", "MCAPRecord+Writing"],
      "the metadata of a file"),
    Permission("Sources/SprocketRecords", ["EventRecords"], "the metadata of a dump"),
    Permission(
      "Sources/SprocketSinks/Movie",
      ["MovieMetadata", "MovieOutput", "MovieRecording", "MovieSink"],
      "what a film says of itself"),
    Permission("Sources/SprocketSources/File", ["FileSource"], "what a film says of itself"),
  ]

  /// Behind the doors a function takes a settings value, which a door has read.
  static let textStaysAtTheDoors: Rule = { tree in
    let others = tree.files.filter { file in
      file.isSwift && file.module != nil && file.path != arguments
    }
    return others.compactMap { file in
      file.code.firstIndex { $0.contains("CommandLine.") }.map {
        Finding(file, line: $0, "reads the program's arguments; \(arguments) does")
      }
    }
      + permitted(
        mayNameTexts, "[String: String]", in: tree, place: "Rules+Doors.swift",
        isAbout: { file in
          file.module.map { !doors.contains($0) } ?? false && !file.path.hasPrefix(readers)
        }, holds: { $0.contains("[String: String]") })
  }
}
