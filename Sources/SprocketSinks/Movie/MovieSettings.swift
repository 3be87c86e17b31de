internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

/// What a user may choose about a movie.
public struct MovieSettings: KindSettings {
  public var quality = 90
  public var codec = MovieCodec()
  /// Constant rate of the movie; `nil`: the frames' own times.
  public var rate: FrameRate?
  /// Whether the file has a track of the lines that `--reports` writes.
  public var reports = false

  public init() {}

  public static var settings: [Setting<MovieSettings>] {
    [
      Setting("quality", \.quality, range: 1...100, "of JPEG that is encoded"),
      Setting(
        "rate", \.rate, "constant frames per second: frames are doubled and left out, and counted"),
      Setting(
        "reports", \.reports,
        "a track with a line of JSON per frame, as the output reports writes them"),
    ]
      + MovieCodec.settings.map { $0.within(\.codec) }
  }
}

extension MovieSink {
  public static let kind = SinkKind(
    "movie", "a movie: .mov, .mp4 or .mkv", argument: "PATH", MovieSettings.self
  ) { (path, settings, request) throws(RunError) in
    if settings.codec.isJPEG, let name = settings.codec.encoderSetting {
      throw RunError(
        .usage, "movie: mjpeg has no \(name); set quality, or choose another codec",
        change: .codec, SettingPath("outputs", "movie", "quality"))
    }
    return MovieSink(
      path: path, quality: settings.quality, codec: settings.codec, constantRate: settings.rate,
      overwrite: request.overwrite, isOnDemand: request.isOnDemand, limits: request.limits,
      preRoll: request.preRoll,
      sound: try request.makeTaps("movie"), soundSettings: request.sound,
      hasReports: settings.reports, sync: request.sync)
  }
}

// Pictures that an encoder makes.
extension MovieSink {
  func declareEncoded(
    _ setup: inout SinkSetup, _ container: MovieContainer
  ) throws(RunError) -> (JPEGPacker.Requirements?, MovieEncoding?) {
    let format = setup.format
    try setup.reads(.image)
    guard let image = format.image else {
      throw RunError(.usage, "movie: these frames have no picture to encode", change: .stage)
    }
    let settings = codec.settings(isLive: setup.isLive, isSynced: sync != nil)
    setup.ownBytes = VideoEncoder.memory(width: format.width, height: format.height, settings)
    // A pre-roll keeps pictures as JPEG, with their samples as they are, whatever their range.
    let needs =
      preRoll == nil ? nil : try setup.packsJPEGs(name, format.withFullRange, note)
    let encoding = try MovieEncoding(
      settings, description(format, isEncoded: true), image,
      container, kept: try needs.map { (needs) throws(RunError) in try JPEGPicture(needs) },
      opens: !isOnDemand && recording?.isEmpty ?? true)
    if encoding.cuts {
      note("movie: encoders take even sizes, so the last column or row is left out")
    }
    for loss in encoding.losses { note("movie: \(loss)") }
    return (needs, encoding)
  }

  /// What helps where the encoder was too slow for a camera.
  func noteSlowness() {
    guard framesBehind > 0, let encoding else { return }
    let preset = encoding.preset.map { " (now \($0))" } ?? ""
    note(
      "movie: the encoder was too slow for \(framesBehind) frames; give it a faster preset\(preset), or "
        + "choose a smaller size or rate")
  }
}
