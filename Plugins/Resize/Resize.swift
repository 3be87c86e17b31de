public import SprocketCore

/// Makes the picture smaller or larger.
public struct Resize: Stage {
  public static let plugin = Plugin("resize", "a smaller or larger picture", Resize.self)

  public typealias Report = GeometryReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var size = TargetSize.none
    /// Makes oblong pixels square. Without a size the picture becomes as wide as it is shown, rounded to an
    /// even number of pixels.
    public var square = false
    public var mode = Mode.fit
    /// The default is the mean of the area where the picture becomes smaller, and bilinear where it becomes
    /// larger.
    public var filter = ResamplingFilter.area
    /// Keeps the size that the first pictures become when later ones have another size: these are made as
    /// `letterbox` makes them. Without a size it is that of the first pictures.
    public var hold = false
    /// Value of 0 to 255 in full range; 114 is what detectors are trained with (Ultralytics' `LetterBox`).
    public var pad = 114

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("size", \.size, "the new size in pixels; of one side, the other by the aspect"),
        Setting("square", \.square, "makes oblong pixels square, also without a size"),
        Setting("mode", \.mode, "what becomes of a picture of another aspect"),
        Setting("filter", \.filter, "how samples are made"),
        Setting(
          "hold", \.hold, "keeps the first picture's new size; others are fitted into it, with bars"
        ),
        Setting("pad", \.pad, range: 0...255, unit: "level", "grey of letterbox's bars"),
      ]
    }
  }

  public var settings = Settings()

  /// What becomes of the picture's aspect.
  public enum Mode: String, Sendable, CaseIterable, SettingValue {
    /// As large as the size allows, with the picture's own aspect.
    case fit
    /// Covers the size, and what is beyond it is cut off, the same on both sides.
    case fill
    /// Takes the size whatever the aspect.
    case stretch
    /// As `fit`, in the middle of a grey picture of the size.
    case letterbox
  }

  /// The size that is kept; `none` before the first pictures.
  private var held = TargetSize.none
  private var planes: [PlaneResize] = []
  private var map = Projection.identity
  private var writer: ReportWriter<GeometryReport>?
  private var mixesFields = false

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    var (size, mode) = (settings.size, settings.mode)
    if settings.square { try makeSquare(format, &size, &mode) }
    let whole = TargetSize(width: format.width, height: format.height)
    if settings.hold, held != .none { (size, mode) = (held, .letterbox) }
    guard !(settings.square || settings.hold) || size != .none && !(settings.hold && size == whole)
    else {
      held = whole
      (planes, writer, mixesFields) = ([], nil, false)
      return format
    }
    try setup.writes(.nextImage, depth: .any)
    writer = setup.report(GeometryReport.self)
    guard size != .none else {
      throw StageError("needs a size, such as size=640x640 or size=640x", change: .stage)
    }
    let place = Placement(size, mode, of: format)
    if settings.hold { held = TargetSize(width: place.width, height: place.height) }
    map = place.sourceFromPicture
    var resized = format
    (resized.width, resized.height) = (place.width, place.height)
    if mode == .stretch {
      resized.presentation.pixelAspect = format.presentation.pixelAspect.stretched(
        from: (format.width, format.height), to: (place.width, place.height))
    }
    if settings.square, format.presentation.pixelAspect.isOblong {
      resized.presentation.pixelAspect = .square
    }
    mixesFields = format.presentation.fieldOrder.isInterlaced && place.changesRows
    if mixesFields { resized.presentation.fieldOrder = .unknown }
    planes = (0..<(format.image?.planeCount ?? 0)).map { plane in
      PlaneResize(
        plane, settings.filter, place, from: format, to: resized,
        padding: format.level(ofGrey: settings.pad, plane: plane))
    }
    return resized
  }

  /// The size and the mode that make oblong pixels square.
  private func makeSquare(
    _ format: FrameFormat, _ size: inout TargetSize, _ mode: inout Mode
  ) throws(StageError) {
    guard mode == .fit || mode == .stretch else {
      throw StageError(
        "makes pixels square in the modes fit and stretch; choose one", change: .stage)
    }
    guard format.presentation.pixelAspect.isOblong else { return }
    var shown = format
    shown.width = format.shownWidth
    let place = Placement(
      size == .none ? TargetSize(width: shown.width, height: shown.height) : size, mode, of: shown)
    (size, mode) = (TargetSize(width: place.width, height: place.height), .stretch)
    guard size.width <= TargetSize.longest else {
      throw StageError(
        "cannot make a picture \(size.width) pixels wide, as it is shown; give a size",
        change: .stage)
    }
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    let map = frame.sensorMap.followed(by: map)
    frame.setSensorMap(map)
    frame.write(GeometryReport(map), writer)
    var picture = frame.edit()
    for plane in planes.indices { planes[plane].make(&picture) }
    return .keep
  }

  public var notes: [String] {
    mixesFields
      ? [
        "resize: the pictures were interlaced, and rows of both fields are mixed: deinterlace before"
      ]
      : []
  }
}

extension FrameFormat {
  /// The width in square pixels, even, since most encoders want that.
  fileprivate var shownWidth: Int {
    let aspect = presentation.pixelAspect
    let shown = Double(width) * Double(aspect.width) / Double(aspect.height)
    return max(2, 2 * Int((min(shown, 1e9) / 2).rounded()))
  }

  /// The sample of a plane that shows a grey of 0 to 255: luma in the picture's range and depth, and neutral
  /// chroma.
  fileprivate func level(ofGrey grey: Int, plane: Int) -> UInt16 {
    let bits = image?.bitsPerSample ?? 8
    let white = Double((1 << bits) - 1)
    // ITU-T H.273, equations 20 to 25.
    guard plane == 0 else { return UInt16(1 << (bits - 1)) }
    switch color.range {
    case .full: return UInt16((Double(grey) / 255 * white).rounded())
    case .limited:
      return UInt16(((16 + 219 * Double(grey) / 255) * Double(1 << (bits - 8))).rounded())
    }
  }
}

extension PixelAspect {
  /// That of pixels that were made narrower or lower with the picture.
  fileprivate func stretched(
    from old: (width: Int, height: Int), to new: (width: Int, height: Int)
  ) -> PixelAspect {
    guard old.width * new.height != new.width * old.height else { return self }
    let isKnown = self != .unknown
    var across = (isKnown ? Int(width) : 1) * old.width * new.height
    var down = (isKnown ? Int(height) : 1) * old.height * new.width
    var (common, rest) = (across, down)
    while rest > 0 { (common, rest) = (rest, common % rest) }
    (across, down) = (across / common, down / common)
    while across > Int(Int32.max) || down > Int(Int32.max) {
      (across, down) = (across / 2, down / 2)
    }
    return PixelAspect(Int32(max(across, 1)), Int32(max(down, 1)))
  }
}

extension StageChoice {
  /// Makes the picture smaller or larger.
  public static func resize(_ choose: (inout Resize.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Resize.plugin, of: Resize.self, choose)
  }
}
