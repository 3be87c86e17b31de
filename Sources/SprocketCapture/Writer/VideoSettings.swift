public import Sprocket
internal import SprocketStages

/// How the pictures of an ``AssetWriter`` are stored.
public struct VideoSettings: Sendable {
  /// How pictures are compressed.
  public enum Codec: String, Sendable, CaseIterable {
    case h264, hevc, av1
    /// Motion-JPEG: `quality` alone is for it.
    case jpeg
  }

  /// What becomes of pictures whose aspect is not that of `size`.
  public enum ScalingMode: Sendable, CaseIterable {
    /// The picture keeps its aspect, and is as large as the size allows: the file may be smaller than `size`.
    case fit
    /// Takes the size whatever the aspect.
    case resize
    /// The whole picture in the middle, with bars.
    case resizeAspect
    /// Covers the size; what is beyond it is cut off, the same on both sides.
    case resizeAspectFill
  }

  public var codec = Codec.h264
  /// Width and height as they are displayed: with an orientation of a quarter turn the file's own are
  /// exchanged. `nil`: the pictures' size.
  public var displaySize: (width: Int, height: Int)?
  public var scalingMode = ScalingMode.fit
  /// How a player turns the picture; the pixels stay.
  public var transform = Orientation.upright
  /// Mean bits per second; `nil`: constant quality.
  public var averageBitRate: BitRate?
  /// Constant quality of an encoder, lower is better; `nil`: the encoder's usual one. For JPEG see `quality`.
  public var constantQuality: Double?
  /// Of JPEG, 1 to 100.
  public var quality = 90
  /// Most frames from one key frame to the next, at `expectedFrameRate`; `nil`: a second.
  public var maxKeyFrameInterval: Int?
  /// Frames per second; `nil`: those of the frames' format.
  public var expectedFrameRate: FrameRate?
  /// `baseline`, `main`, `high`, `high10`.
  public var profile: String?
  /// Such as `4.1`.
  public var level: String?
  /// `veryfast`, `medium`, `slow`; of AV1 0 to 13.
  public var preset: String?

  public init(_ codec: Codec = .h264) { self.codec = codec }

  /// The engine's codec. Throws for what the codec has not.
  func movieCodec(_ rate: FrameRate) throws(CaptureError) -> MovieCodec {
    var made = MovieCodec()
    guard codec != .jpeg else {
      let given = [
        ("averageBitRate", averageBitRate != nil), ("constantQuality", constantQuality != nil),
        ("maxKeyFrameInterval", maxKeyFrameInterval != nil), ("profile", profile != nil),
        ("level", level != nil), ("preset", preset != nil),
      ]
      if let wrong = given.first(where: \.1)?.0 {
        throw CaptureError(
          .settingsRefused, "JPEG has no \(wrong); set quality, or choose another codec")
      }
      made.name = "mjpeg"
      return made
    }
    made.name = codec.rawValue
    made.bitRate = averageBitRate
    made.crf = constantQuality
    (made.profile, made.level, made.preset) = (profile, level, preset)
    if let interval = maxKeyFrameInterval {
      guard interval >= 1, rate.frames > 0 else {
        throw CaptureError(
          .settingsRefused,
          "maxKeyFrameInterval counts frames, 1 or more, and needs expectedFrameRate; set it")
      }
      made.keyFrames = .nanoseconds(Int64(nearest: Double(interval) * 1e9 / rate.framesPerSecond))
    }
    return made
  }

  /// What pictures pass on their way to the encoder.
  func stages() throws(CaptureError) -> [StageChoice] {
    guard let displaySize else { return [] }
    guard displaySize.width > 0, displaySize.height > 0 else {
      throw CaptureError(.settingsRefused, "displaySize is 1x1 or more, such as 1280x720")
    }
    let isTurned = transform.rawValue >= Orientation.transposed.rawValue
    let size = TargetSize(
      width: isTurned ? displaySize.height : displaySize.width,
      height: isTurned ? displaySize.width : displaySize.height)
    let mode: Resize.Mode =
      switch scalingMode {
      case .fit: .fit
      case .resize: .stretch
      case .resizeAspect: .letterbox
      case .resizeAspectFill: .fill
      }
    return [.resize { ($0.size, $0.mode) = (size, mode) }]
  }
}

/// How the sound of an ``AssetWriter`` is stored.
public struct AudioSettings: Sendable {
  public var codec = AudioCodec.aac
  /// Bits per second and channel of AAC and Opus; `nil`: 64,000 and 48,000.
  public var bitRatePerChannel: BitRate?
  /// `nil`: those of the sound. Fewer are means, more are copies or silence.
  public var channels: Int?
  /// Samples per second; `nil`: those of the sound.
  public var sampleRate: Int?

  public init(_ codec: AudioCodec = .aac) { self.codec = codec }

  func recorded(_ format: AudioFormat) throws(CaptureError) -> RecordedSound {
    guard channels.map({ 1...AudioFormat.mostChannels ~= $0 }) ?? true,
      sampleRate.map(AudioFormat.rates.contains) ?? true
    else {
      throw CaptureError(
        .settingsRefused, "sound has 1 to 8 channels, and 8000 to 192000 samples per second")
    }
    var made = RecordedSound()
    (made.codec, made.channels, made.rate) = (codec, channels, sampleRate)
    if let bitRatePerChannel {
      guard codec == .aac || codec == .opus else {
        throw CaptureError(
          .settingsRefused, "\(codec) has no bit rate; leave it out, or choose AAC or Opus")
      }
      made.bitRate = BitRate(
        bitsPerSecond: bitRatePerChannel.bitsPerSecond * (channels ?? format.channels))
    }
    return made
  }
}
