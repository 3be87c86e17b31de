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
      "How --movie holds pictures: mjpeg (the default), h264, hevc, av1, or an encoder of libavcodec, and "
        + "its settings, such as h264:crf=20,preset=medium; `\(programName) stages movie` lists them.",
      valueName: "name[:key=value,...]"))
  var codec: String?

  @Flag(
    help: """
      --movie has one more track: the lines that --reports writes, each at its frame's time.
      """)
  var movieReports = false

  @Option(
    help: ArgumentHelp(
      "Writes a JPEG file per frame into a folder, which is made; or names the files, with {n}, {time}, "
        + "{name} and {bracket}, and says by the ending what they are: shots/{time}-{n}.jpg, "
        + ".png, .tif, .dng.",
      valueName: "folder | pattern"),
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
      "One still per so much time, the sharpest frame: 2s; adds `focus` where it is missing.",
      valueName: "duration"),
    transform: Duration.parsePositive)
  var stillsSharpest: Duration?

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

  @Flag(
    help: """
      --movie and --stills wait until they are asked for: by a key, a signal, or the control socket. \
      `{n}` in --movie stands for the file's number.
      """)
  var onDemand = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie goes on in its next file after so much time, or so many bytes: 60s, 500M.",
      valueName: "duration | size"), transform: Extent.parse)
  var split: Extent?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie ends after so much time, or so many bytes over all its files: 10m, 4G.",
      valueName: "duration | size"), transform: Extent.parse)
  var longest: Extent?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie ends when its disk has less free than that: 2G.", valueName: "size"),
    transform: byteCount)
  var keepFree: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "What --movie, --dump, --sound and --reports write is on the disk so much later at most: what a power "
        + "cut costs, 100ms or more. Default: as the kernel does it.", valueName: "duration"),
    transform: { text in
      let time = try Duration.parsePositive(text)
      guard time >= .milliseconds(100) else {
        throw ValidationError("give 100ms or more, such as 1s")
      }
      return time
    })
  var sync: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With --on-demand or --record-when: a recording begins so long before it was asked for.",
      valueName: "duration"
    ),
    transform: Duration.parsePositive)
  var preRoll: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Most memory of --pre-roll; default 256M. A pre-roll that needs more is shorter.",
      valueName: "size"), transform: byteCount)
  var preRollMemory: Int?

  @Option(
    help: ArgumentHelp(
      "--movie records while this holds, and begins before: 'motion.score > 0.2'. Compares fields of the "
        + "stages' reports with < <= > >= == !=; and, or, not.", valueName: "condition"))
  var recordWhen: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With --record-when: goes on for so long after; default 3s.", valueName: "duration"),
    transform: Duration.parse)
  var keep: Duration?

  /// Pre-roll of `--record-when` if none is given, 2 s. Larger: more is seen of what led to the event.
  private static let usualPreRoll = Duration.seconds(2)
  /// Longest time from a frame's arrival to the condition's result at the chain's end, 3 s: a cinematic
  /// stabilizer looks 1 s ahead. Larger: longer look-ahead is allowed, and more memory is used.
  private static let triggerSlack = Duration.seconds(3)

  /// A movie's length, as time or bytes.
  enum Extent: Equatable {
    case time(Duration)
    case bytes(Int)

    @Sendable
    static func parse(_ text: String) throws -> Extent {
      if let bytes = try? byteCount(text) { return .bytes(bytes) }
      guard let duration = try? Duration.parsePositive(text) else {
        throw ValidationError("give a duration or a size, such as 60s or 500M")
      }
      return .time(duration)
    }
  }

  /// Whether the movie waits for requests.
  var isAsked: Bool { onDemand || recordWhen != nil }

  /// Limits of the movie's recordings.
  var limits: RecordingLimits {
    var limits = RecordingLimits()
    switch split {
    case .time(let time): limits.fileDuration = time
    case .bytes(let bytes): limits.fileBytes = UInt64(bytes)
    case nil: break
    }
    switch longest {
    case .time(let time): limits.duration = time
    case .bytes(let bytes): limits.bytes = UInt64(bytes)
    case nil: break
    }
    limits.freeBytes = keepFree.map { UInt64($0) }
    return limits
  }

  /// Pre-roll of the movie's recordings; `nil` for none.
  var preRollLimits: PreRoll? {
    let duration = preRoll ?? (recordWhen == nil ? nil : Self.usualPreRoll)
    return duration.map { duration in
      PreRoll(
        duration, slack: recordWhen == nil ? .zero : Self.triggerSlack,
        bytes: preRollMemory ?? PreRoll.usualBytes)
    }
  }

  /// Whether the movie is a recording that begins with the first frame, because it has limits, or a pattern
  /// as its name.
  var recordsAtOnce: Bool {
    guard let movie, !isAsked else { return false }
    return limits != RecordingLimits() || movie.contains(MovieSink.place)
  }

  /// Folder of the movies, or of the stills: the status line shows the free space of its disk.
  var movieFolder: String? {
    guard isAsked || recordsAtOnce, let path = movie ?? stills else { return nil }
    guard movie != nil else { return StillSink.folder(of: path) }
    return path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }

  func validate() throws {
    if every != nil, stills == nil {
      throw ValidationError("--every is for --stills; add --stills FOLDER")
    }
    if stillsSharpest != nil, stills == nil {
      throw ValidationError("--stills-sharpest is for --stills; add --stills FOLDER")
    }
    if stillsSharpest != nil, every != nil || onDemand {
      throw ValidationError(
        "--stills-sharpest chooses the stills itself; leave out \(every != nil ? "--every" : "--on-demand")"
      )
    }
    if quality != nil, stills == nil, movie == nil {
      throw ValidationError("--quality is for --movie and --stills; add one of them")
    }
    if codec != nil, movie == nil {
      throw ValidationError("--codec is for --movie; add --movie PATH")
    }
    if movieReports, movie == nil {
      throw ValidationError("--movie-reports is for --movie; add --movie PATH")
    }
    if onDemand, movie == nil, stills == nil {
      throw ValidationError("--on-demand is for --movie and --stills; add one of them")
    }
    if recordWhen != nil, movie == nil {
      throw ValidationError("--record-when is for --movie; add --movie PATH")
    }
    if keep != nil, recordWhen == nil {
      throw ValidationError("--keep is for --record-when; add --record-when CONDITION")
    }
    if preRoll != nil, movie == nil || !isAsked {
      throw ValidationError(
        "--pre-roll is for movies that are asked for; add --movie PATH, and --on-demand or --record-when"
      )
    }
    if preRollMemory != nil, preRollLimits == nil {
      throw ValidationError("--pre-roll-memory is for --pre-roll; add --pre-roll DURATION")
    }
    if limits != RecordingLimits(), movie == nil {
      throw ValidationError("--split, --longest and --keep-free are for --movie; add --movie PATH")
    }
  }

  /// In the order of the options. `stillCondition` chooses the stills, where it is given.
  func sinks(
    _ registry: Registry, stillCondition: String? = nil
  ) throws(RunError) -> [SinkChoice] {
    var sinks: [SinkChoice] = []
    let quality = quality?.settingText
    if let movie {
      var values = try codecValues
      let isEncodedByQuality = values["codec"] ?? "mjpeg" == "mjpeg"
      if let codec = values["codec"], !isEncodedByQuality, quality != nil, stills == nil {
        throw RunError(
          .usage,
          "--quality is for mjpeg and stills; \(codec) has crf, lower is better: --codec \(codec):crf=20"
        )
      }
      if isEncodedByQuality { values["quality"] = quality }
      if movieReports { values["reports"] = true.settingText }
      sinks.append(try registry.sink(option: "--movie", "movie", movie, values))
    }
    if let stills {
      sinks.append(
        try registry.sink(
          option: "--stills", "stills", stills,
          [
            "every": every?.settingText, "sharpest": stillsSharpest?.settingText,
            "quality": quality, "when": stillCondition,
          ]))
    }
    if let dump { sinks.append(try registry.sink(option: "--dump", "dump", dump)) }
    return sinks
  }

  /// Settings of the movie that --codec gives.
  private var codecValues: [String: String] {
    get throws(RunError) {
      guard let codec else { return [:] }
      var (name, values) = try nameAndValues(codec, option: "--codec")
      if name != "mjpeg", values["quality"] != nil {
        throw RunError(
          .usage,
          "--codec \(codec): quality is for mjpeg; \(name) has crf, lower is better: \(name):crf=20"
        )
      }
      values["codec"] = name
      return values
    }
  }
}
