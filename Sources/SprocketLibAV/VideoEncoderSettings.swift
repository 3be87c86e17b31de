/// How pictures are encoded.
public struct VideoEncoderSettings: Hashable, Sendable {
  /// `h264`, `hevc`, `av1`, `vp9`, `vp8`, or an encoder of libavcodec by its name, such as `h264_vaapi`.
  public var codec: String
  /// Constant quality (CRF), lower is better: 0 to 51, AV1 and VP9 to 63. `nil` where a bit rate alone is
  /// asked for; encoders have other scales, see ``usualQuality(_:)``.
  public var quality: Double?
  /// Bits per second: of the mean, or with a quality the most over a second.
  public var bitRate: Int?
  /// By the encoder's own names: `veryfast` (x264, x265), `10` (SVT-AV1); `nil` for the usual one.
  public var preset: String?
  public var tune: String?
  public var profile: String?
  public var level: String?
  /// Seconds from a key frame to the next, at most. Smaller: quicker seeking, larger files.
  public var keySeconds: Double
  /// Pictures come as they are taken: no picture refers to a later one, so that a file is complete up to
  /// the last picture, and the usual preset is a fast one.
  public var isLive: Bool
  /// 0: as many as the machine has processors.
  public var threads: Int
  /// Chroma stays as fine as it is, and samples as deep; else H.264 gets 4:2:0 of 8 bits, which everybody
  /// plays, and the others 4:2:0 of 8 or 10.
  public var keepsSamples: Bool
  /// In two passes: 1 writes what it learns into ``statistics``, 2 reads it. 0: in one.
  public var pass: Int
  public var statistics: String

  public init(
    codec: String, quality: Double? = nil, bitRate: Int? = nil, preset: String? = nil,
    tune: String? = nil, profile: String? = nil, level: String? = nil, keySeconds: Double = 1,
    isLive: Bool = false, threads: Int = 0, keepsSamples: Bool = false, pass: Int = 0,
    statistics: String = ""
  ) {
    (self.codec, self.quality, self.bitRate, self.preset) = (codec, quality, bitRate, preset)
    (self.tune, self.profile, self.level) = (tune, profile, level)
    (self.keySeconds, self.isLive, self.threads) = (keySeconds, isLive, threads)
    (self.keepsSamples, self.pass, self.statistics) = (keepsSamples, pass, statistics)
  }

  /// The library's encoders for a codec, the one that is preferred first; the name itself for all others.
  static func encoderNames(_ codec: String) -> [String] {
    switch codec {
    case "h264": ["libx264", "libopenh264"]
    case "hevc": ["libx265"]
    case "av1": ["libsvtav1"]
    case "vp9": ["libvpx-vp9"]
    case "vp8": ["libvpx"]
    default: [codec]
    }
  }

  /// Quality where neither that nor a bit rate is asked for: each encoder's own default, but H.264's 23 is
  /// known to all.
  static func usualQuality(_ encoder: String) -> Double? {
    switch encoder {
    case "libx264": 23
    case "libx265": 28
    case "libsvtav1": 35
    // Recommended by the WebM project for 1080p: 31, of 0 to 63.
    case "libvpx-vp9": 31
    default: nil
    }
  }

  /// The default preset. Live: one that keeps up with a 1080p camera on two processors. Else: a slower one
  /// that makes smaller files.
  static func usualPreset(_ encoder: String, isLive: Bool) -> String? {
    switch encoder {
    case "libx264": isLive ? "veryfast" : "medium"
    case "libx265": isLive ? "ultrafast" : "medium"
    case "libsvtav1": isLive ? "10" : "8"
    default: nil
    }
  }

  /// Throws for values that the encoder would report only on standard error, or replace silently.
  func check(_ encoder: String) throws(EncoderError) {
    let isX = encoder == "libx264" || encoder == "libx265"
    let isWide = ["libsvtav1", "libvpx", "libvpx-vp9"].contains(encoder)
    let range = isWide ? 0.0...63 : 0.0...51
    if let quality, !range.contains(quality) {
      throw .setting(
        encoder: encoder, name: "crf", value: "\(quality)",
        allowed: "0 to \(Int(range.upperBound))")
    }
    guard isX else { return }
    for (name, value, words) in [
      ("preset", preset, Self.presets), ("tune", tune, Self.tunes),
      ("profile", encoder == "libx264" ? profile : nil, Self.profiles),
    ] {
      guard let value, !words.contains(value) else { continue }
      throw .setting(
        encoder: encoder, name: name, value: value, allowed: words.joined(separator: ", "))
    }
  }

  private static let presets = [
    "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow",
    "placebo",
  ]
  /// x265 lacks two of them, and says so by itself.
  private static let tunes = [
    "film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode", "zerolatency",
  ]
  private static let profiles = ["baseline", "main", "high", "high10", "high422", "high444"]

  /// Bits per second where an encoder has no quality and none are asked for, per pixel of 30 frames/s:
  /// 0.1, 6.2 Mbit/s at 1080p. Larger: better pictures, larger files.
  static let usualBitsPerPixel = 0.1
}

/// Why pictures or sound cannot be encoded.
public enum EncoderError: Error, Equatable, Sendable {
  /// libavcodec or another of its libraries is not installed here; a sentence says which.
  case library(String)
  /// This libavcodec has none of these encoders.
  case missing([String])
  /// The encoder has no setting of that name, or not that value; `allowed` are those that it has, where they
  /// are known.
  case setting(encoder: String, name: String, value: String, allowed: String)
  /// There is no device of that kind (vaapi, qsv), or none that this user may use.
  case noDevice(encoder: String, kind: String, status: Int32)
  /// The library would not.
  case refused(encoder: String, operation: String, status: Int32)
}

extension EncoderError: CustomStringConvertible {
  /// What is wrong, without what to do.
  public var description: String {
    switch self {
    case .library(let missing): missing
    case .missing(let names):
      "libavcodec of this machine has no encoder \(names.joined(separator: " or "))"
    case .setting(let encoder, let name, let value, let allowed):
      "the encoder \(encoder) does not take \(name)=\(value)"
        + (allowed.isEmpty ? "" : ": give \(allowed)")
    case .noDevice(let encoder, let kind, let status):
      "the encoder \(encoder) needs a \(kind) device, and none can be opened (\(libraryText(status)))"
    case .refused(let encoder, let operation, let status):
      "the encoder \(encoder) does not start (\(operation): \(libraryText(status)))"
    }
  }
}
