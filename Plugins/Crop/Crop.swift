public import SprocketCore

/// Cuts a rectangle out of the picture. Rows are copied; no sample changes.
public struct Crop: Stage {
  public static let plugin = Plugin("crop", "a rectangle of the picture", Crop.self)

  public typealias Report = GeometryReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var region = Region.whole
    public var pixels = PixelArea.whole
    public var aspect = Aspect.any

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("region", \.region, "the part that is kept, in fractions"),
        Setting("pixels", \.pixels, unit: "pixels", "the part that is kept, instead of region"),
        Setting("aspect", \.aspect, "the largest part of that aspect in the middle of it"),
      ]
    }
  }

  public var settings = Settings()

  private var area = (columns: 0..<1, rows: 0..<1)
  private var planes: [(x: Int, y: Int)] = []
  private var writer: ReportWriter<GeometryReport>?
  /// Where it begins is not where it was asked to.
  private var moved: (x: Int, y: Int)?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.nextImage, depth: .any)
    writer = setup.report(GeometryReport.self)
    let format = setup.format
    let asked = settings.aspect.largest(
      in: try kept(of: format), of: format.presentation.pixelAspect)
    let step = format.cropStep
    let x = asked.columns.lowerBound / step.x * step.x
    let y = asked.rows.lowerBound / step.y * step.y
    moved = (x, y) == (asked.columns.lowerBound, asked.rows.lowerBound) ? nil : (x, y)
    area = (x..<x + asked.columns.count, y..<y + asked.rows.count)
    let planeCount = format.image?.planeCount ?? 0
    planes = (0..<planeCount).map { plane in
      let grid = format.sampleGrid(plane: plane)
      let bytes = format.image?.isDeep == true ? 2 : 1
      return (x / grid.columns * bytes, y / grid.rows)
    }
    var cropped = format
    (cropped.width, cropped.height) = (area.columns.count, area.rows.count)
    return cropped
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    let origin = Projection(
      shiftX: Double(area.columns.lowerBound), shiftY: Double(area.rows.lowerBound))
    let map = frame.sensorMap.followed(by: origin)
    frame.setSensorMap(map)
    frame.write(GeometryReport(map), writer)
    var picture = frame.edit()
    for plane in 0..<picture.planeCount {
      let source = picture.source[plane: plane]
      let (x, y) = planes[plane]
      for row in 0..<picture.rows(plane: plane) {
        let from = source[row: row &+ y]
        var target = picture.row(row, plane: plane)
        copy(from.extracting(x..<x &+ target.count), into: &target)
      }
    }
    return .keep
  }

  public var notes: [String] {
    guard let moved else { return [] }
    return [
      "crop: begins at \(moved.x)/\(moved.y), because chroma or fields lie on a grid of whole samples; "
        + "give an even corner, or one that is a multiple of 4"
    ]
  }

  /// What `region` or `pixels` say.
  private func kept(of format: FrameFormat) throws(StageError) -> (
    columns: Range<Int>, rows: Range<Int>
  ) {
    guard settings.pixels != .whole else {
      return settings.region.pixels(width: format.width, height: format.height)
    }
    guard settings.region == .whole else {
      throw StageError("has both a region and pixels; give one of them", change: .stage)
    }
    guard settings.pixels.x + settings.pixels.width <= format.width,
      settings.pixels.y + settings.pixels.height <= format.height
    else {
      throw StageError(
        "cuts \(settings.pixels.settingText) out of \(format.width)x\(format.height) pixels; give a "
          + "rectangle that lies within them", change: .stage)
    }
    return (
      settings.pixels.x..<settings.pixels.x + settings.pixels.width,
      settings.pixels.y..<settings.pixels.y + settings.pixels.height
    )
  }
}

private func copy(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(source.count == target.count)
  for x in 0..<source.count { target[x] = source[x] }
}

extension StageChoice {
  /// Cuts a rectangle out of the picture.
  public static func crop(_ choose: (inout Crop.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Crop.plugin, of: Crop.self, choose)
  }
}
