public import SprocketCore

/// Makes pictures of a Bayer sensor's mosaics: planar 4:4:4 of full range, BT.601 as JFIF has it.
///
/// What the source says of its light (`Color.transfer`) stays as it is: levels are scaled, and no curve is
/// applied to them.
public struct Debayer: Stage {
  public static let plugin = Plugin("debayer", "pictures of a Bayer sensor's mosaics", Debayer.self)

  /// How the two colours that a pixel lacks are found.
  public enum Method: String, SettingValue, CaseIterable {
    /// Means of the nearest samples of that colour.
    case bilinear
    /// Bilinear, corrected by the Laplacian of the colour that the pixel has (Malvar, He, Cutler 2004).
    case malvar
  }

  /// Bits of the picture's samples.
  public enum Depth: String, SettingValue, CaseIterable {
    case eight = "8"
    /// As many as the sensor's samples have.
    case source
  }

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var method = Method.malvar
    public var depth = Depth.eight
    public var red = 1.0
    public var blue = 1.0
    public var black = 0.0

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("method", \.method, "how the missing colours are found"),
        Setting(
          "depth", \.depth, unit: "bits", "of the picture; source is as many as the sensor has"),
        Setting("red", \.red, range: 0.1...8, "red is multiplied by it: white balance").live,
        Setting("blue", \.blue, range: 0.1...8, "blue is multiplied by it: white balance").live,
        Setting(
          "black", \.black, range: 0...0.5, unit: "fraction of full scale",
          "the sensor's level of black"
        ).live,
      ]
    }
  }

  public var settings = Settings()

  private var demosaic: Demosaic?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    var format = setup.format
    guard case .bayer(let order, let samples) = format.pixelFormat.layout else {
      throw StageError(
        "makes pictures of a Bayer sensor's mosaics, and \(format.pixelFormat.settingText) frames are "
          + "none; leave it out", change: .stage)
    }
    guard format.width >= 2, format.height >= 2 else {
      throw StageError(
        "needs mosaics of 2x2 pixels or more, not \(format.width)x\(format.height); choose another size",
        change: .size)
    }
    try setup.writes(.firstImage)
    let bits = settings.depth == .source ? samples.depth : .eight
    demosaic = Demosaic(
      order, samples, width: format.width, height: format.height,
      isBilinear: settings.method == .bilinear,
      bits: bits.rawValue)
    retune()
    format.image =
      switch bits {
      case .eight: .yuv444p
      case .ten: .yuv444p10
      case .twelve: .yuv444p12
      case .sixteen: .yuv444p16
      }
    format.color.range = .full
    format.color.matrix = .bt601
    return format
  }

  public mutating func retune() {
    demosaic?.scale(
      black: Float(settings.black), red: Float(settings.red), blue: Float(settings.blue))
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    demosaic?.write(&picture)
    return .keep
  }
}
