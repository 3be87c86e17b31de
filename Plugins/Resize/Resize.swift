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
    /// The part of the picture that is shown in the new size, which it does not change: another region while
    /// the run goes on zooms, and moves the picture, from one frame to the next. A part of another aspect is
    /// shown as `mode` says, with bars where that is `fit`.
    public var region = Region.whole
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
        Setting("region", \.region, "the part that is shown, in fractions; the size stays").live,
        Setting("pad", \.pad, range: 0...255, unit: "level", "grey of letterbox's bars"),
      ]
    }
  }

  public var settings = Settings()

  public typealias Mode = ResizeMode

  /// The size that is kept; `none` before the first pictures.
  private var held = TargetSize.none
  /// `nil` where pictures stay as they are.
  private var resize: PictureResize?
  /// The format that was configured, the size of its new pictures, and how they come to it.
  private var shown: (from: FrameFormat, size: TargetSize, mode: Mode)?
  private var writer: ReportWriter<GeometryReport>?
  private var mixesFields = false
  private var ignoresRegion = false

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    var (size, mode) = (settings.size, settings.mode)
    if settings.square { try makeSquare(format, &size, &mode) }
    let whole = TargetSize(width: format.width, height: format.height)
    if size == .none, settings.region != .whole { size = whole }
    if settings.hold, held != .none { (size, mode) = (held, .letterbox) }
    let staysWhole = size == .none || settings.hold && size == whole
    guard !(settings.square || settings.hold) || !staysWhole || settings.region != .whole else {
      held = whole
      (resize, shown, writer, mixesFields) = (nil, nil, nil, false)
      return format
    }
    try setup.writes(.nextImage, depth: .any)
    writer = setup.report(GeometryReport.self)
    guard size != .none else {
      throw StageError("needs a size, such as size=640x640 or size=640x", change: .stage)
    }
    let all = PicturePart(format)
    let place = Placement(size, mode, of: format, showing: all)
    let made = PictureResize(
      place, mode, settings.filter, pad: settings.pad, of: format, showing: all)
    var resized = made.format
    if settings.hold { held = TargetSize(width: place.width, height: place.height) }
    if settings.square, format.presentation.pixelAspect.isOblong {
      resized.presentation.pixelAspect = .square
    }
    (resize, mixesFields) = (made, made.mixesFields)
    shown = (format, TargetSize(width: place.width, height: place.height), mode)
    if settings.region != .whole { retune() }
    return resized
  }

  public mutating func retune() {
    guard let shown else {
      ignoresRegion = ignoresRegion || settings.region != .whole
      return
    }
    let part = PicturePart(settings.region, of: shown.from)
    // The size stays, so that a part that fits into it gets bars.
    let mode = shown.mode == .fit ? .letterbox : shown.mode
    resize?.show(Placement(shown.size, mode, of: shown.from, showing: part))
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
      size == .none ? TargetSize(width: shown.width, height: shown.height) : size, mode, of: shown,
      showing: PicturePart(shown))
    (size, mode) = (TargetSize(width: place.width, height: place.height), .stretch)
    guard size.width <= TargetSize.longest else {
      throw StageError(
        "cannot make a picture \(size.width) pixels wide, as it is shown; give a size",
        change: .stage)
    }
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer, let source = resize?.sourceFromPicture else { return .keep }
    let map = frame.sensorMap.followed(by: source)
    frame.setSensorMap(map)
    frame.write(GeometryReport(map), writer)
    var picture = frame.edit()
    resize?.make(&picture)
    return .keep
  }

  public var notes: [String] {
    var notes: [String] = []
    if mixesFields {
      notes.append(
        "resize: the pictures were interlaced, and rows of both fields are mixed: deinterlace before"
      )
    }
    if ignoresRegion {
      notes.append(
        "resize: the region was not shown, because the pictures have kept their size: give the stage a size"
      )
    }
    return notes
  }
}

extension FrameFormat {
  /// The width in square pixels, even, since most encoders want that.
  fileprivate var shownWidth: Int {
    let aspect = presentation.pixelAspect
    let shown = Double(width) * Double(aspect.width) / Double(aspect.height)
    return max(2, 2 * Int((min(shown, 1e9) / 2).rounded()))
  }
}

extension StageChoice {
  /// Makes the picture smaller or larger.
  public static func resize(_ choose: (inout Resize.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Resize.plugin, of: Resize.self, choose)
  }
}
