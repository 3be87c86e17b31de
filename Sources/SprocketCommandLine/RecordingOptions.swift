internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` records of the frames, and where.
struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Records a movie; the ending says of which kind.", valueName: "path.mov | .mp4 | .mkv"),
    completion: .file())
  var movie: String?

  @Option(
    help: ArgumentHelp(
      "Writes a JPEG file per frame into a folder, which is made.", valueName: "folder"),
    completion: .directory)
  var stills: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "One still per so much time, the first frame at or after each: 1s, 500ms.",
      valueName: "duration"),
    transform: Duration.parsePositive)
  var every: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Quality of JPEG that is encoded, 1 to 100; default 90. A camera's own is kept as it is.",
      valueName: "n"),
    transform: wholeNumber(1...100, example: 90))
  var quality: Int?

  @Option(
    help: ArgumentHelp(
      "Writes all that the source delivers, as MCAP, to be replayed or read.", valueName: "path"),
    completion: .file())
  var dump: String?

  func validate() throws {
    if every != nil, stills == nil {
      throw ValidationError("--every is for --stills; add --stills FOLDER")
    }
    if quality != nil, stills == nil, movie == nil {
      throw ValidationError("--quality is for --movie and --stills; add one of them")
    }
  }

  /// In the order of the options.
  func sinks(_ registry: Registry) throws(RunError) -> [SinkChoice] {
    var sinks: [SinkChoice] = []
    let quality = quality?.settingText
    if let movie {
      sinks.append(
        try registry.sink(option: "--movie", "movie", movie, ["quality": quality]))
    }
    if let stills {
      sinks.append(
        try registry.sink(
          option: "--stills", "stills", stills, ["every": every?.settingText, "quality": quality]))
    }
    if let dump { sinks.append(try registry.sink(option: "--dump", "dump", dump)) }
    return sinks
  }
}
