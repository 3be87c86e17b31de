/// Everything about frames that stays the same within an epoch.
public struct FrameFormat: Sendable, Hashable {
  /// How the source delivers the frame.
  public var pixelFormat: PixelFormat
  /// What it is once unpacked, planar; `nil` where it cannot be: of a mosaic, before a stage has made a
  /// picture of it.
  public var image: PixelFormat?
  /// In pixels.
  public var width: Int
  /// In pixels.
  public var height: Int
  /// How samples stand for light: `.jpeg` is full range, as gray and RGB of most devices are.
  public var color: Color
  /// Nominal frames per second as a fraction; `.unknown` (0/1) where unknown.
  public var rate: FrameRate
  /// How a player shows the picture: turned, stretched, in fields.
  public var presentation: Presentation
  /// An encoded frame is two JPEG images, one behind the other, each a field of half the height (of an
  /// odd height the upper field has the line more). The first is the field that
  /// `presentation.fieldOrder` names. The unpacked picture has both.
  public var hasFieldImages = false
  /// The encoder of a camera that gives H.264 or HEVC; `nil` for all other sources. `pixelFormat` is then the
  /// format of the decoded pictures.
  public var packets: PacketStream?
  /// Model of the lens, set by the stage that removed its distortion; `nil` if no stage has.
  public var lens: Lens?

  /// `image` is by default what frames of `pixelFormat` are unpacked to. A width or height below 1 stops the
  /// program.
  public init(
    pixelFormat: PixelFormat, image: PixelFormat? = nil, width: Int, height: Int, color: Color,
    rate: FrameRate, presentation: Presentation = Presentation()
  ) {
    contract(
      width > 0 && height > 0,
      "makes a format of \(width)x\(height) pixels; check the size before, both numbers are above 0"
    )
    self.pixelFormat = pixelFormat
    self.image = image ?? pixelFormat.imageFormat
    self.width = width
    self.height = height
    self.color = color
    self.rate = rate
    self.presentation = presentation
  }

  /// Size of full luma divided by `scale`, rounded up: how turbojpeg and the box mean do it.
  public func lumaSize(_ scale: LumaScale) -> (width: Int, height: Int) {
    let divisor = scale.divisor
    return ((width + divisor - 1) / divisor, (height + divisor - 1) / divisor)
  }

  /// Plane 0 of the image is full-range 8-bit luma as it is.
  public var lumaIsPlane: Bool {
    guard let image else { return false }
    return color.range == .full && !image.isDeep
  }
}

extension FrameFormat {
  /// What pictures are at the chain's end. Throws the sentence for a sink that gets none.
  package func picture() throws(RunError) -> PixelFormat {
    if let image { return image }
    guard !pixelFormat.isBayer else {
      throw RunError(
        .usage,
        "\(pixelFormat.settingText) frames are a sensor's mosaic; add the stage debayer, which makes "
          + "pictures of them, or choose another format", change: .stage, .format)
    }
    throw RunError(
      .usage, "\(pixelFormat.fourcc) frames cannot be unpacked; choose another format",
      change: .format)
  }
}

/// Frames per second as a fraction, exact as containers and drivers give it.
public struct FrameRate: Sendable, Hashable, BitwiseCopyable {
  public var frames: Int32
  public var seconds: Int32

  public init(frames: Int32, seconds: Int32 = 1) {
    self.frames = frames
    self.seconds = seconds
  }

  /// No nominal rate: each frame comes when it comes.
  public static let unknown = FrameRate(frames: 0)

  /// The fraction as a number; 0 where unknown.
  public var framesPerSecond: Double { Double(frames) / Double(max(seconds, 1)) }

  /// The nearest fraction over 1 or 1001 (29.97 becomes 30000/1001).
  public init(framesPerSecond: Double) {
    let whole = framesPerSecond.rounded()
    if abs(framesPerSecond - whole) < 1e-6 {
      self.init(frames: Int32(whole))
    } else {
      let ntsc = (framesPerSecond * 1.001).rounded()
      if abs(framesPerSecond - ntsc / 1.001) < 1e-3 {
        self.init(frames: Int32(ntsc * 1000), seconds: 1001)
      } else {
        self.init(frames: Int32((framesPerSecond * 1000).rounded()), seconds: 1000)
      }
    }
  }
}

extension FrameRate: SettingValue {
  /// `30`, `29.97`, `30000/1001`, `30fps`.
  public init?(settingText text: String) {
    let number = text.lowercased().hasSuffix("fps") ? String(text.dropLast(3)) : text
    let parts = number.split(separator: "/", omittingEmptySubsequences: false)
    if parts.count == 2, let frames = Int32(parts[0]), let seconds = Int32(parts[1]), frames > 0,
      seconds > 0
    {
      self.init(frames: frames, seconds: seconds)
      return
    }
    guard parts.count == 1, let value = Double(number), value > 0, value <= 1e6 else { return nil }
    self.init(framesPerSecond: value)
  }

  public var settingText: String { seconds == 1 ? "\(frames)" : "\(frames)/\(seconds)" }

  public static var allowed: String { "frames per second, such as 30, 29.97 or 30000/1001" }
  public static var forms: [SettingForm] {
    [.number(isWhole: false), .text(pattern: "[1-9][0-9]*/[1-9][0-9]*|[0-9]+(\\.[0-9]+)?(fps)?")]
  }
}

/// By how much luma is reduced in both directions.
public enum LumaScale: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  case full, half, quarter, eighth

  /// 1, 2, 4 or 8.
  public var divisor: Int { 1 << Int(rawValue) }
}

/// What of a frame somebody reads or takes; the engine prepares the union, once.
public struct FrameParts: OptionSet, Sendable, Hashable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The source's own bytes.
  public static let encoded = FrameParts(rawValue: 1)
  /// The planar image.
  public static let image = FrameParts(rawValue: 2)
  /// Full-range 8-bit luma, whatever the source.
  public static func luma(_ scale: LumaScale) -> FrameParts {
    FrameParts(rawValue: 4 << UInt16(scale.rawValue))
  }
  /// Luma in all scales.
  public static let anyLuma: FrameParts = [
    .luma(.full), .luma(.half), .luma(.quarter), .luma(.eighth),
  ]
  /// The planar image, reduced by `scale` or less: see `FrameView.reducedImage`. Costs less than `image`
  /// where frames are JPEGs and nobody needs more.
  public static func reducedImage(_ scale: LumaScale) -> FrameParts {
    scale == .full ? .image : FrameParts(rawValue: 32 << UInt16(scale.rawValue))
  }
  /// The camera's own packet of H.264 or HEVC, for a source whose format has `packets`.
  public static let packet = FrameParts(rawValue: 512)
  /// The image in all reduced scales.
  public static let anyReducedImage: FrameParts = [
    .reducedImage(.half), .reducedImage(.quarter), .reducedImage(.eighth),
  ]
  /// What costs unpacking.
  public static let pixels: FrameParts = anyLuma.union(.image).union(anyReducedImage)

  /// By how much the image is reduced that these parts hold.
  public var imageScale: LumaScale {
    if contains(.image) { return .full }
    return LumaScale.allCases.dropFirst().first { contains(.reducedImage($0)) } ?? .full
  }

  /// The parts to unpack from frames of `format`, so that these parts and `others` can be read. The image is
  /// unpacked once, in one size.
  package func unpacked(_ format: FrameFormat, besides others: FrameParts = []) -> FrameParts {
    guard !isDisjoint(with: .anyReducedImage) else { return self }
    let rest = subtracting(.anyReducedImage)
    let isReduced =
      format.pixelFormat.isEncoded && !format.hasFieldImages
      && rest.union(others).isDisjoint(with: anyLumaOrImage)
    return rest.union(isReduced ? .reducedImage(imageScale) : .image)
  }

  private var anyLumaOrImage: FrameParts { .anyLuma.union(.image) }
}
