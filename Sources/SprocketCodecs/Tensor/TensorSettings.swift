public import SprocketCore

/// What a sink that hands on pixels makes of each frame. The picture's point (x, y) below is in the
/// coordinates of `Projection`.
public struct TensorSettings: KindSettings, Hashable {
  /// Pictures are interleaved bytes by default, tensors are planes of floating-point numbers from 0 to 1.
  public enum Layout: String, SettingValue, CaseIterable { case rgb, bgr, gray, rgba, tensor }

  /// The numbers of each pixel. `rgba` takes pictures of files as they were delivered; those without alpha
  /// are opaque.
  public enum Channels: String, SettingValue, CaseIterable { case rgb, bgr, gray, rgba }

  /// How numbers are stored, little endian.
  public enum Element: String, SettingValue, CaseIterable {
    /// Rounded to the nearest, 0 to 255.
    case u8
    case f16, f32
    /// The upper half of an `f32`, rounded to the nearest, ties to even.
    case bf16
    /// Rounded to the nearest, 0 to 65535.
    case u16

    public var bytes: Int {
      switch self {
      case .u8: 1
      case .f16, .bf16, .u16: 2
      case .f32: 4
      }
    }
  }

  /// Order of the axes; `n` counts regions, and frames of a batch.
  public enum Order: String, SettingValue, CaseIterable { case nchw, nhwc }

  /// How a picture comes to the size asked for.
  public enum Fit: String, SettingValue, CaseIterable {
    /// All of it, in its own aspect, in the middle of `pad`.
    case letterbox
    /// All of it, in the aspect of `size`.
    case stretch
    /// The largest part in the middle that has the aspect of `size`.
    case fill
  }

  /// How YUV becomes RGB.
  public enum Matrix: String, SettingValue, CaseIterable {
    /// As the source says; BT.601 where it does not, as FFmpeg and OpenCV take it.
    case source
    case bt601, bt709, bt2020
  }

  /// What the settings that are `nil` are.
  public var layout = Layout.tensor
  public var channels: Channels?
  public var element: Element?
  public var order: Order?
  /// `nil` for the size of the picture, or region.
  public var size: TensorSize?
  public var fit = Fit.letterbox
  public var filter = ResamplingFilter.bilinear
  /// Level of what the picture does not cover, 0 to 255, in each channel.
  public var pad = 114.0
  /// `level * scale`, less `mean`, divided by `deviation`. Levels are 0 to 255.
  public var scale: Double?
  public var mean = ChannelValues(0)
  public var deviation = ChannelValues(1)
  public var regions = TensorRegions()
  public var matrix = Matrix.source
  /// Whether JPEGs are decoded in full, however small the tensor is.
  public var isExact = false

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting("channels", \.channels, "what is in each pixel; auto: by the layout, else rgb"),
      Setting(
        "type", \.element, "how numbers are stored; auto: f32 in tensors, u8 in pictures"),
      Setting("order", \.order, "of the axes; auto: nchw in tensors, nhwc in pictures"),
      Setting("size", \.size, "auto: the picture's own"),
      Setting("fit", \.fit, "how a picture comes to `size`: letterbox pads, fill cuts off"),
      Setting(
        "filter", \.filter, "bilinear as OpenCV's INTER_LINEAR; area: means, for small pictures"),
      Setting("pad", \.pad, range: 0...255, "level around a letterboxed picture"),
      Setting(
        "scale", \.scale,
        "what levels, 0 to 255, are multiplied by; auto: 1/255, 1 for u8, 257 for u16"),
      Setting("mean", \.mean, "subtracted after that, by channel"),
      Setting("std", \.deviation, "what the rest is divided by, by channel"),
      Setting("regions", \.regions, "parts of the picture, each an entry of the first axis"),
      Setting("matrix", \.matrix, "how YUV becomes RGB"),
      Setting("exact", \.isExact, "decodes JPEGs in full, however small the tensor is"),
    ]
  }
}

extension TensorSettings {
  // What holds in the layout.

  public var usedChannels: Channels {
    switch layout {
    case .tensor: channels ?? .rgb
    case .rgb: channels ?? .rgb
    case .bgr: channels ?? .bgr
    case .gray: channels ?? .gray
    case .rgba: channels ?? .rgba
    }
  }
  public var usedElement: Element { element ?? (layout == .tensor ? .f32 : .u8) }
  public var usedOrder: Order { order ?? (layout == .tensor ? .nchw : .nhwc) }
  var usedScale: Double {
    if let scale { return scale }
    return switch usedElement {
    case .u8: 1
    case .u16: 257
    case .f16, .f32, .bf16: 1.0 / 255
    }
  }
}

extension TensorSettings.Channels {
  /// Numbers of a pixel.
  var count: Int {
    switch self {
    case .gray: 1
    case .rgb, .bgr: 3
    case .rgba: 4
    }
  }
}

/// Width and height in pixels, spelled `640x480`.
public struct TensorSize: Sendable, Hashable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Longest side in pixels. Larger: larger tensors, up to what 2^31 bytes hold.
  static let longestSide = 16_384
}

extension TensorSize: SettingValue {
  public init?(settingText: String) {
    let sides = settingText.split(separator: "x", omittingEmptySubsequences: false).map {
      Int($0) ?? 0
    }
    let allowed = 1...Self.longestSide
    guard sides.count == 2, sides.allSatisfy(allowed.contains) else { return nil }
    self.init(width: sides[0], height: sides[1])
  }
  public var settingText: String { "\(width)x\(height)" }
  public static var allowed: String { "WIDTHxHEIGHT, such as 640x640" }
  public static var forms: [SettingForm] { [.text(pattern: "[1-9][0-9]*x[1-9][0-9]*")] }
}

/// A number for each channel, spelled `0.5` for all or `0.485/0.456/0.406`, in the order of the channels.
public struct ChannelValues: Sendable, Hashable, SettingValue {
  public var values: SIMD3<Double>

  public init(_ value: Double) { values = SIMD3(repeating: value) }
  public init(_ first: Double, _ second: Double, _ third: Double) {
    values = SIMD3(first, second, third)
  }

  public init?(settingText: String) {
    let numbers = settingText.split(separator: "/", omittingEmptySubsequences: false)
      .map { Double($0) ?? .nan }
    guard numbers.allSatisfy({ abs($0) <= 1e6 }) else { return nil }
    switch numbers.count {
    case 1: self.init(numbers[0])
    case 3: self.init(numbers[0], numbers[1], numbers[2])
    default: return nil
    }
  }
  public var settingText: String {
    let isOne = values.x == values.y && values.y == values.z
    return (isOne ? [values.x] : [values.x, values.y, values.z]).map(\.settingText)
      .joined(separator: "/")
  }
  public static var allowed: String { "a number, or three such as 0.485/0.456/0.406" }
  public static var forms: [SettingForm] {
    [.number(isWhole: false), .text(pattern: "-?[0-9]+(\\.[0-9]+)?(/-?[0-9]+(\\.[0-9]+)?){2}")]
  }
}

/// Regions of a picture, spelled `x/y/width/height` each, with `+` between them; the whole picture by
/// default.
public struct TensorRegions: Sendable, Hashable, SettingValue {
  public var regions: [Region]

  public init(_ regions: [Region] = [.whole]) { self.regions = regions }

  /// Most regions of a frame. Larger: larger tensors.
  static let most = 64

  public init?(settingText: String) {
    let parts = settingText.split(separator: "+", omittingEmptySubsequences: false)
    let regions = parts.compactMap { Region(settingText: String($0)) }
    guard regions.count == parts.count, 1...Self.most ~= regions.count else { return nil }
    self.init(regions)
  }
  public var settingText: String { regions.map(\.settingText).joined(separator: "+") }
  public static var allowed: String {
    "\(Region.allowed); up to \(most) of them with + between them"
  }
}
