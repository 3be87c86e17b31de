public import SprocketCore

/// Turns the picture by quarter turns, and mirrors it. Samples are moved; none changes.
public struct Rotate: Stage {
  public static let plugin = Plugin("rotate", "the picture turned or mirrored", Rotate.self)

  public typealias Report = GeometryReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var turn = Turn.none
    public var mirror = Mirror.none
    public var upright = false

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("turn", \.turn, unit: "degrees", "clockwise"),
        Setting("mirror", \.mirror, "exchanges left and right, or top and bottom, after the turn"),
        Setting(
          "upright", \.upright, "first turns the picture as its file says that it is to be shown"),
      ]
    }
  }

  public var settings = Settings()

  /// Degrees clockwise.
  public enum Turn: String, Sendable, CaseIterable, SettingValue {
    case none = "0"
    case quarter = "90"
    case half = "180"
    case threeQuarters = "270"
  }

  /// Which sides are exchanged after the turn.
  public enum Mirror: String, Sendable, CaseIterable, SettingValue {
    case none
    /// Exchanges left and right.
    case horizontal
    /// Exchanges top and bottom.
    case vertical
  }

  private var isometry = Isometry.identity
  private var map = Projection.identity
  private var mover = PlaneMover(.identity)
  private var writer: ReportWriter<GeometryReport>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    writer = setup.report(GeometryReport.self)
    let format = setup.format
    let asked = Isometry(settings.turn).followed(by: Isometry(settings.mirror))
    let shown = Isometry(format.presentation.orientation)
    isometry = settings.upright ? shown.followed(by: asked) : asked
    // A picture that lies as it shall is left as it is: it costs nothing, and stays the source's own.
    if isometry != .identity { try setup.writes(.nextImage, depth: .any) }
    map = isometry.sourceFromPicture(width: format.width, height: format.height)
    mover = PlaneMover(isometry)
    var turned = format
    // The picture as it is shown is turned as asked, whatever has still to be done to show it.
    turned.presentation.orientation =
      settings.upright
      ? .upright : asked.inverse.followed(by: shown).followed(by: asked).orientation
    // No site has a name that is the left or the top left one's, turned.
    if isometry != .identity { turned.color.chromaSite = .center }
    try turned.presentation.turnFields(isometry, rows: format.height)
    guard isometry.swaps else { return turned }
    (turned.width, turned.height) = (format.height, format.width)
    let aspect = format.presentation.pixelAspect
    if aspect != .unknown {
      turned.presentation.pixelAspect = PixelAspect(aspect.height, aspect.width)
    }
    guard let image = format.image else { return turned }
    guard let other = image.transposed else {
      throw StageError(
        "turns \(image.fourcc) pictures on their side, and no format has such chroma; give another "
          + "format, or turn=180", change: .format, .stage)
    }
    turned.image = other
    return turned
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    guard isometry != .identity else {
      frame.write(GeometryReport(frame.sensorMap), writer)
      return .keep
    }
    let map = frame.sensorMap.followed(by: map)
    frame.setSensorMap(map)
    frame.write(GeometryReport(map), writer)
    var picture = frame.edit()
    for plane in 0..<picture.planeCount { mover.move(plane, of: &picture) }
    return .keep
  }
}

extension PixelFormat {
  /// The format of the picture on its side; `nil` where there is none.
  fileprivate var transposed: PixelFormat? {
    switch subsampling {
    case .yuv422: isDeep ? nil : .yuv440p
    case .yuv440: isDeep ? nil : .yuv422p
    case .yuv411: nil
    case .yuv444, .yuv420, .gray: self
    case nil: nil
    }
  }
}

extension Presentation {
  /// Upside down, the earlier field of an even number of rows is the other one. On its side, a picture has no
  /// fields.
  fileprivate mutating func turnFields(_ isometry: Isometry, rows: Int) throws(StageError) {
    guard fieldOrder.isInterlaced else { return }
    guard !isometry.swaps else {
      throw StageError(
        "turns interlaced pictures on their side, and their fields would be columns; deinterlace before, "
          + "or turn=180", change: .stage)
    }
    if isometry.flipsRows, rows % 2 == 0 {
      fieldOrder = fieldOrder == .topFirst ? .bottomFirst : .topFirst
    }
  }
}

extension StageChoice {
  /// Turns or mirrors the picture.
  public static func rotate(_ choose: (inout Rotate.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Rotate.plugin, of: Rotate.self, choose)
  }
}
