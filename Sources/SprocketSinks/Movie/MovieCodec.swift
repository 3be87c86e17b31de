internal import SprocketCodecs
public import SprocketCore
internal import SprocketLibAV

/// How a movie's pictures are stored: as JPEG, or by an encoder of libavcodec.
public struct MovieCodec: Sendable, Hashable {
  /// `auto`, `mjpeg`, `h264`, `hevc`, `av1`, `vp9`, `vp8`, or an encoder of libavcodec by its name. `auto`:
  /// packets of a camera's own H.264 or HEVC that no stage changes; else as `mjpeg`.
  public var name = MovieCodec.automatic
  /// Constant quality, lower is better; `nil`: the usual one of the encoder, 23 for H.264, where no bit rate
  /// is given.
  public var crf: Double?
  /// Mean, or with `crf` the most over a second.
  public var bitRate: BitRate?
  public var preset: String?
  public var tune: String?
  public var profile: String?
  public var level: String?
  /// Longest time from a key frame to the next.
  public var keyFrames = Duration.seconds(1)
  /// 0: as many as the machine has processors.
  public var threads = 0
  public var samples = SampleChoice.common
  /// 0: one pass. 1: writes statistics of the pictures to ``statistics``. 2: reads them, to meet the bit
  /// rate.
  public var pass = 0
  /// Path of the statistics file of two passes. Encoders add endings to it.
  public var statistics = OutputName()

  public init() {}

  /// H.264 and HEVC, with the encoders' usual settings.
  public static let h264 = MovieCodec(known: "h264")
  public static let hevc = MovieCodec(known: "hevc")

  private init(known name: String) { self.name = name }

  /// The codec of that name, with its usual settings: one of ``known``, or an encoder of libavcodec, as
  /// `sprocket run --codec` takes it. Throws for any other, with the names that there are.
  public init(named name: String) throws(RunError) {
    self.name = name
    guard !Self.known.contains(name) else { return }
    do throws(RunError) {
      try check { _ in .codec }
    } catch {
      throw RunError(
        .usage,
        "\(error.description); there are \(Self.known.joined(separator: ", ")), and the encoders of "
          + "libavcodec by their names")
    }
  }

  static let automatic = "auto"

  /// Names that are the same with each encoder of libavcodec.
  public static let known = ["auto", "mjpeg", "h264", "hevc", "av1", "vp9", "vp8"]
  /// Those of its settings, beside `codec`.
  public static var settingNames: [String] { settings.map(\.name).filter { $0 != "codec" } }

  /// Whether pictures are stored as JPEG.
  public var isJPEG: Bool { name == "mjpeg" || isAutomatic }
  /// Whether a camera's own packets are stored as they are.
  var isAutomatic: Bool { name == Self.automatic }

  /// Whether chroma and depth are reduced.
  public enum SampleChoice: String, CaseIterable, SettingValue {
    /// To 4:2:0 and for H.264 8 bits, which every player knows.
    case common
    /// Only where the encoder has no other.
    case same
  }

  /// A setting that was given and that JPEG has not.
  var encoderSetting: String? {
    [
      ("crf", crf != nil), ("bitrate", bitRate != nil), ("preset", preset != nil),
      ("tune", tune != nil), ("profile", profile != nil), ("level", level != nil),
    ].first(where: \.1)?.0
  }

  /// Throws where libavcodec has no such encoder, and for values that it does not take.
  func check(at path: (String) -> SettingPath) throws(RunError) {
    if isJPEG {
      guard let name = encoderSetting else { return }
      throw RunError(
        .usage, "movie: \(self.name) has no \(name); set quality, or choose another codec",
        change: path("codec"), path("quality"))
    }
    do throws(EncoderError) {
      try settings(isLive: false, isSynced: false).check()
    } catch {
      // A library that is not there is no wrong value: the run says what it cannot write.
      if case .library = error { return }
      var setting = "codec"
      if case .setting(_, let name, _, _) = error { setting = name }
      throw .encoder(error, MovieEncoding.remedy(error, codec: name), at: path(setting))
    }
  }

  /// `isSynced`: no picture is to wait in the encoder, if it can do without.
  func settings(isLive: Bool, isSynced: Bool) -> VideoEncoderSettings {
    let isPrompt = isLive && isSynced && ["h264", "libx264", "hevc", "libx265"].contains(name)
    return VideoEncoderSettings(
      codec: name, quality: crf, bitRate: bitRate?.bitsPerSecond, preset: preset,
      tune: tune ?? (isPrompt ? "zerolatency" : nil),
      profile: profile, level: level, keySeconds: Double(keyFrames.nanosecondCount) / 1e9,
      isLive: isLive, threads: threads, keepsSamples: samples == .same, pass: pass,
      statistics: statistics.path)
  }

  static var settings: [Setting<MovieCodec>] {
    [
      Setting(
        "codec", \.name,
        "of pictures: auto (the camera's own where it can be, else mjpeg), mjpeg, h264, hevc, av1, vp9, vp8, "
          + "or an encoder of libavcodec by its name"),
      Setting(
        "crf", \.crf, "quality of an encoder, lower is better: h264 23, hevc 28, av1 35"),
      Setting(
        "bitrate", \.bitRate, "mean bits per second, such as 8M; with crf the most in a second"),
      Setting("preset", \.preset, "of the encoder: veryfast, medium, slow; of av1 0 to 13"),
      Setting("tune", \.tune, "of the encoder: zerolatency, film, animation"),
      Setting("profile", \.profile, "of the encoder: baseline, main, high, high10"),
      Setting("level", \.level, "of the encoder: 4.1"),
      Setting("keyframes", \.keyFrames, "longest time from a key frame to the next"),
      Setting("threads", \.threads, range: 0...64, "of the encoder; 0: one per processor"),
      Setting(
        "pass", \.pass, range: 0...2, "of two passes, which meet a bit rate better; 0: in one"),
      Setting("statistics", \.statistics, "file of two passes, which the first one writes"),
      Setting(
        "samples", \.samples, "common: 4:2:0, h264 of 8 bits; same: as fine and deep as they are"),
    ]
  }
}

extension RunError {
  /// Why pictures or sound cannot be encoded, and what to do.
  static func encoder(
    _ error: EncoderError, _ remedy: String, at path: SettingPath = .codec
  ) -> RunError { RunError(.usage, "movie: \(error); \(remedy)", change: path) }
}

/// Encodes the pictures of one format for one file after another.
final class MovieEncoding {
  private let settings: VideoEncoderSettings
  private let description: MovieDescription
  private let image: PixelFormat
  /// The encoder that `init` opened to check the settings, and the container that it is for.
  private var first: (encoder: VideoEncoder, container: MovieContainer)?
  /// For frames that are kept as JPEG.
  let kept: JPEGPicture?

  /// `opens`: the encoder of the first file is kept. On demand it would take memory until it is asked for.
  init(
    _ settings: VideoEncoderSettings, _ description: MovieDescription, _ image: PixelFormat,
    _ container: MovieContainer, kept: JPEGPicture?, opens: Bool
  ) throws(RunError) {
    (self.settings, self.description, self.kept) = (settings, description, kept)
    self.image = kept?.image ?? image
    let encoder = try open(container)
    if opens { first = (encoder, container) }
  }

  /// The encoder of the next file.
  func take(_ container: MovieContainer) throws(RunError) -> VideoEncoder {
    defer { first = nil }
    if let first, first.container == container { return first.encoder }
    return try open(container)
  }

  /// The speed preset that the last opened encoder uses.
  private(set) var preset: String?

  /// What pictures lose, as sentences for a user.
  private(set) var losses: [String] = []

  /// Statistics are written, or read, of all pictures.
  var isOfTwoPasses: Bool { settings.pass > 0 }

  /// Pictures are cut to even sizes.
  var cuts: Bool { description.width % 2 != 0 || description.height % 2 != 0 }

  /// The codec that is meant by another common name (`x264`) or by a misspelled one; `nil` if none is near.
  private static func codec(like name: String) -> String? {
    switch name.lowercased() {
    case "x264", "h.264", "avc", "avc1": "h264"
    case "x265", "h265", "h.265", "hvc1": "hevc"
    case "svtav1", "svt-av1", "aom", "rav1e": "av1"
    case "jpeg", "mjpg", "jpg": "mjpeg"
    case let name:
      nearestName(to: name, among: MovieCodec.known.filter { $0 != name })
    }
  }

  /// What to do where the encoder of `codec` cannot be opened.
  fileprivate static func remedy(_ error: EncoderError, codec name: String) -> String {
    switch error {
    case .library: "or choose a machine that has it"
    case .missing:
      codec(like: name).map { "did you mean \($0)?" }
        ?? "install Debian's libavcodec-extra, or choose mjpeg"
    case .setting: "give others"
    case .noDevice: "look at what `vainfo` says, or choose h264"
    case .refused(let encoder, _, _) where encoder.contains("_"):
      // h264_v4l2m2m, h264_nvenc and so on.
      "this machine may have no such device, or you may not use it (groups video and render); choose "
        + "h264"
    case .refused: "give other settings, or choose mjpeg"
    }
  }

  private func open(_ container: MovieContainer) throws(RunError) -> VideoEncoder {
    let encoder: VideoEncoder
    do throws(EncoderError) {
      encoder = try VideoEncoder(
        description, image, settings, ticksPerSecond: container.ticksPerSecond)
    } catch {
      throw .encoder(error, Self.remedy(error, codec: settings.codec))
    }
    preset = encoder.preset
    losses = []
    if !encoder.keepsFields {
      losses.append(
        "\(encoder.name) does not encode interlaced pictures as such: they are marked as interlaced, and "
          + "their fields are encoded as one picture; h264 keeps them")
    }
    if encoder.isShallower {
      losses.append(
        "samples of more than 8 bits become 8 bits; the codec hevc keeps them, and so does samples=same"
      )
    }
    guard container.holds(encoder) else {
      throw RunError(
        .usage,
        ".\(container.rawValue) files do not hold what the encoder \(encoder.name) makes; "
          + (container == .webm ? "choose vp9, vp8 or av1" : "record a .mkv"), change: .codec)
    }
    return encoder
  }
}
