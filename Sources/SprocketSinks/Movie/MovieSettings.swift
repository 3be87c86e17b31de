internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

/// What a user may choose about a movie.
public struct MovieSettings: KindSettings {
  /// Name of the file. The ending selects the container; `{n}` is replaced by the file's number. `-` is
  /// standard output.
  public var path = OutputName()
  /// Container of a movie on standard output; `nil`: MP4.
  public var container: Container?
  /// `nil`: 90.
  public var quality: Int?
  public var codec = MovieCodec()
  /// The part of the pictures that it shows, and its size.
  public var shape = MovieShape()
  /// What each file says of itself.
  public var metadata = MovieMetadata()
  /// Constant rate of the movie; `nil`: the frames' own times.
  public var rate: FrameRate?
  /// Whether the file has a track of the lines that `--reports` writes.
  public var reports = false
  /// Longest time that what was recorded stays off the disk; `nil`: as long as the kernel likes.
  public var sync: Duration?
  /// Whether it is recorded only when it is asked for.
  public var isOnDemand = false
  /// Length of a file, after which the next one is begun.
  public var split: Extent?
  /// Length after which a recording ends.
  public var longest: Extent?
  /// Free space of the disk below which a recording ends.
  public var keepFree: ByteCount?
  /// Bytes that the files of the movie's name may take together; the oldest are deleted.
  public var keepTotal: ByteCount?
  /// Time by which a recording begins before it was asked for.
  public var preRoll: Duration?
  /// `nil`: 256 MiB.
  public var preRollMemory: ByteCount?
  /// Condition on the stages' reports while which it is recorded; empty for none.
  public var when = ""
  /// How long it is recorded after `when` held; `nil`: 3 s.
  public var keep: Duration?

  public init() {}

  /// Kinds of movies.
  public enum Container: String, SettingValue, CaseIterable { case mov, mp4, mkv, webm }

  public static var settings: [Setting<MovieSettings>] {
    fileSettings + recordingSettings + MovieCodec.settings.map { $0.within(\.codec) }
      + (MovieShape.settings.map { $0.within(\.shape) })
      + MovieMetadata.settings.map { $0.within(\.metadata) }
  }

  private static var fileSettings: [Setting<MovieSettings>] {
    [
      Setting(
        "path", \.path, places: ["n"],
        "of the file: .mov, .mp4, .mkv or .webm; {n} is its number; -: standard output"),
      Setting("quality", \.quality, range: 1...100, "of JPEG that is encoded; auto: 90"),
      Setting(
        "rate", \.rate, "constant frames per second: frames are doubled and left out, and counted"),
      Setting(
        "reports", \.reports,
        "a track with a line of JSON per frame, as the output reports writes them"),
      .sync(\.sync),
      Setting("container", \.container, "of a movie on standard output; auto: mp4, in fragments"),
    ]
  }

  private static var recordingSettings: [Setting<MovieSettings>] {
    [
      Setting("on-demand", \.isOnDemand, "records only when it is asked for"),
      Setting(
        "split", \.split, "a movie goes on in its next file after so much time, or so many bytes"),
      Setting("longest", \.longest, "a movie ends after so much time, or so many bytes"),
      Setting("keep-free", \.keepFree, "a movie ends when its disk has less free than that"),
      Setting(
        "keep-total", \.keepTotal,
        "deletes the oldest files of this name, of earlier runs too, so that all take less than that"
      ),
      Setting(
        "pre-roll", \.preRoll,
        "begins so long before it was asked for; auto: 2 s before `record-when` held"),
      Setting(
        "pre-roll-memory", \.preRollMemory,
        "most memory of a pre-roll, which is shorter then; auto: 256M"),
      Setting(
        "record-when", \.when,
        "records while a condition on the stages' reports holds, such as motion.score > 0.2"),
      Setting("keep", \.keep, "goes on for so long after `record-when` held; auto: 3s"),
    ]
  }

  /// Pre-roll where the condition `when` asks and none is given, 2 s. Larger: more is seen of what led to the
  /// event.
  private static let usualPreRoll = Duration.seconds(2)
  /// Longest time from a frame's arrival to the condition's result at the chain's end, 3 s: a cinematic
  /// stabilizer looks 1 s ahead. Larger: longer look-ahead is allowed, and more memory is used.
  private static let conditionSlack = Duration.seconds(3)

  public func errors(at path: (String) -> SettingPath) -> [RunError] {
    guard self.path.path != MovieSink.standardOutput else { return streamErrors(at: path) }
    var ending = RunError.thrown { () throws(RunError) in
      if !self.path.isEmpty { _ = try MovieSink.container(self.path.path) }
    }.map { RunError($0.code, $0.description, [path("path")]) }
    if container != nil, !self.path.isEmpty {
      ending.append(
        RunError(
          .usage,
          "the ending of \(self.path.path) says what kind of movie it is; the container is for "
            + "standard output (-), leave it out", [path("container")]))
    }
    if let kind = MovieContainer(path: self.path.path), codec.isJPEG {
      ending += RunError.thrown { () throws(RunError) in try MovieSink.checkJPEG(kind) }
        .map { RunError($0.code, $0.description, [path("codec")]) }
    }
    return ending + totalErrors(at: path)
      + RunError.thrown { () throws(RunError) in try codec.check(at: path) }
  }

  /// Errors of a movie on standard output.
  private func streamErrors(at path: (String) -> SettingPath) -> [RunError] {
    var errors = RunError.thrown { () throws(RunError) in try codec.check(at: path) }
    if container == .webm, codec.isJPEG {
      errors += RunError.thrown { () throws(RunError) in try MovieSink.checkJPEG(.webm) }
        .map { RunError($0.code, $0.description, [path("codec")]) }
    }
    if isAsked || recordsAtOnce {
      let settings = [
        ("on-demand", isOnDemand), ("record-when", !when.isEmpty), ("split", split != nil),
        ("longest", longest != nil), ("keep-free", keepFree != nil),
        ("keep-total", keepTotal != nil),
      ].filter(\.1).map { path($0.0) }
      errors.append(RunError(.usage, MovieSink.isOneStream, [path("path")] + settings))
    } else if keepTotal != nil {
      errors.append(
        RunError(
          .usage,
          "standard output has no files of which a total could be kept; leave that out, or give a file",
          [path("keep-total"), path("path")]))
    }
    return errors
  }

  /// Errors of a total that cannot be kept.
  private func totalErrors(at path: (String) -> SettingPath) -> [RunError] {
    guard let keepTotal else { return [] }
    guard KeptTotal.files(of: self.path) != nil else {
      return [
        RunError(.usage, KeptTotal.needsNumber, [path("keep-total"), path("path")])
      ]
    }
    guard split != nil || isAsked else {
      return [
        RunError(
          .usage,
          "keeping a total deletes whole files; let the movie be split, such as every 5m",
          [path("keep-total"), path("split")])
      ]
    }
    guard case .bytes(let size) = split, size.bytes > keepTotal.bytes / 2 else { return [] }
    return [
      RunError(
        .usage,
        "the total \(keepTotal.settingText) is less than two files of \(size.settingText); give more, or let "
          + "the files be smaller", [path("keep-total"), path("split")])
    ]
  }

  /// Whether recordings wait until they are asked for, by a user or the condition.
  public var isAsked: Bool { isOnDemand || !when.isEmpty }

  /// Whether it is a recording that begins with the first frame, because it has limits or numbered files.
  public var recordsAtOnce: Bool {
    !isAsked && (limits != RecordingLimits() || path.places.contains("n"))
  }

  public var limits: RecordingLimits {
    var limits = RecordingLimits()
    switch split {
    case .time(let time): limits.fileDuration = time
    case .bytes(let size): limits.fileBytes = UInt64(size.bytes)
    case nil: break
    }
    switch longest {
    case .time(let time): limits.duration = time
    case .bytes(let size): limits.bytes = UInt64(size.bytes)
    case nil: break
    }
    limits.freeBytes = keepFree.map { UInt64($0.bytes) }
    return limits
  }

  public var usedKeep: Duration { keep ?? .seconds(3) }

  /// `nil` for none.
  public var usedPreRoll: PreRoll? {
    let duration = preRoll ?? (when.isEmpty ? nil : Self.usualPreRoll)
    guard isAsked, let duration, duration > .zero else { return nil }
    return PreRoll(
      duration, slack: when.isEmpty ? .zero : Self.conditionSlack,
      bytes: preRollMemory?.bytes ?? PreRoll.usualBytes)
  }
}

extension Setting {
  /// Makes the setting `sync` of a file that is written to the disk as it grows.
  static func sync(_ path: any WritableKeyPath<Owner, Duration?> & Sendable) -> Setting {
    Setting(
      "sync", path, range: .milliseconds(100)...Duration.seconds(3600),
      "what is written is on the disk so much later at most; auto: as the kernel does it")
  }
}

extension MovieSink {
  public static let kind = SinkKind(
    "movie", "a movie: .mov, .mp4, .mkv or .webm", argument: "path", MovieSettings.self
  ) { (settings, request) throws(RunError) in
    MovieSink(
      request.name ?? "movie", path: settings.path.settingText, container: settings.container,
      quality: settings.quality ?? 90,
      codec: settings.codec, shape: settings.shape,
      constantRate: settings.rate, overwrite: request.overwrite,
      isOnDemand: settings.isAsked || settings.recordsAtOnce, limits: settings.limits,
      preRoll: settings.usedPreRoll, sound: try request.makeTaps("movie"),
      soundSettings: request.sound, hasReports: settings.reports, sync: settings.sync,
      keepTotal: settings.keepTotal, metadata: settings.metadata)
  }
}

// Pictures that an encoder makes.
extension MovieSink {
  func declareEncoded(
    _ setup: inout SinkSetup, _ container: MovieContainer
  ) throws(RunError) -> (JPEGPacker.Requirements?, MovieEncoding?) {
    let format = resize?.format ?? setup.format
    try setup.reads(.image)
    guard let image = format.image else {
      throw RunError(.usage, "these frames have no picture to encode", change: .stage)
    }
    let settings = codec.settings(isLive: setup.isLive, isSynced: sync != nil)
    setup.ownBytes = VideoEncoder.memory(width: format.width, height: format.height, settings)
    // A pre-roll keeps pictures as JPEG, with their samples as they are, whatever their range.
    let needs =
      preRoll == nil ? nil : try declareJPEGs(&setup, format.withFullRange)
    if needs == nil, let resize { declareResized(&setup, resize) }
    let encoding = try MovieEncoding(
      settings, description(format, isEncoded: true), image,
      container, kept: try needs.map { (needs) throws(RunError) in try JPEGPicture(needs) },
      opens: !isOnDemand && recording?.isEmpty ?? true)
    if encoding.cuts {
      note("\(name): encoders take even sizes, so the last column or row is left out")
    }
    for loss in encoding.losses { note("\(name): \(loss)") }
    return (needs, encoding)
  }

  /// What helps where the encoder was too slow for a camera.
  func noteSlowness() {
    guard framesBehind > 0, let encoding else { return }
    let preset = encoding.preset.map { " (now \($0))" } ?? ""
    note(
      "\(name): the encoder was too slow for \(framesBehind) frames; give it a faster preset\(preset), or "
        + "choose a smaller size or rate")
  }
}
