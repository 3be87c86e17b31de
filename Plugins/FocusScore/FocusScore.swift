public import SprocketCore

/// Measures how sharp a frame is.
///
/// Every number follows from sums over the cells of a grid, and these are exact integers: the order
/// of the pixels does not matter, nor does who else measures them.
public struct FocusScore: Stage {
  public static let plugin = Plugin("focus", "how sharp a frame is", FocusScore.self)

  public typealias Report = FocusReport

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var measure = Measure.normalized
    /// The middle of the window, which is moved into the picture.
    public var point = Point.center
    /// Share of the picture's width and height that is measured, 0.01 to 1.
    public var window = 1.0

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting(
          "measure", \.measure,
          "what the score is; the first minds exposure and noise least"
        ).live,
        Setting(
          "point", \.point, "the middle of the window that is measured, moved into the picture"
        ).live,
        Setting("window", \.window, range: 0.01...1, "its share of the picture's width and height")
          .live,
      ]
    }
  }

  public var settings = Settings()

  /// In the words of S. Pertuz et al., "Analysis of focus measure operators for shape-from-focus",
  /// Pattern Recognition 46, 2013.
  public enum Measure: String, Sendable, CaseIterable, SettingValue {
    /// The Laplacian's energy (LAP1), less white noise, beside the brightness.
    case normalized
    /// The variance of the Laplacian (LAP4), of J. L. Pech-Pacheco et al., "Diatom autofocusing in
    /// brightfield microscopy: a comparative study", ICPR 2000.
    case laplacian
    /// The energy of Sobel's gradient (GRA6), of J. M. Tenenbaum, "Accommodation in computer
    /// vision", Stanford 1970.
    case tenengrad
  }

  var writer: ReportWriter<Report>?
  var grid: FocusGrid?
  private var size = (width: 0, height: 0)
  /// Rows of second differences, of responses, and of the noise mask's, as wide as the picture. The window
  /// uses their first elements.
  var differences: [Int16] = []
  var responses: [Int16] = []
  var gradients: [Int16] = []
  var noises: [Int16] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.full))
    writer = setup.report(Report.self)
    let format = setup.format
    size = (format.width, format.height)
    retune()
    guard grid != nil else {
      throw StageError(
        "needs pictures of at least \(FocusGrid.least)x\(FocusGrid.least) pixels, and these have "
          + "\(format.width)x\(format.height): ask for larger ones")
    }
    differences = [Int16](repeating: 0, count: format.width)
    responses = differences
    gradients = differences
    noises = differences
    return format
  }

  public mutating func retune() {
    let asked = region.pixels(width: size.width, height: size.height)
    grid = FocusGrid(
      columns: asked.columns, rows: asked.rows, width: size.width, height: size.height)
  }

  /// The window around the point, moved so that it lies in the picture.
  var region: Region {
    Region(
      x: min(max(settings.point.x - settings.window / 2, 0), 1 - settings.window),
      y: min(max(settings.point.y - settings.window / 2, 0), 1 - settings.window),
      width: settings.window, height: settings.window)
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer, let grid else { return .keep }
    // A statement of its own: as an argument, it would make a copy of the stage, and so of its rows.
    let cells = sums(frame.luma(), grid)
    frame.write(report(on: cells), writer)
    return .keep
  }

  func report(on cells: CellSums) -> Report {
    var report = Report()
    var whole = FocusSums()
    for cell in 0..<report.grid.count {
      whole += cells[cell]
      report.grid[cell] = score(cells[cell])
    }
    report.score = score(whole)
    report.contrast = whole.contrast
    report.noise = whole.noiseVariance.squareRoot()
    return report
  }

  func score(_ sums: FocusSums) -> Double {
    switch settings.measure {
    case .normalized: sums.normalizedEnergy
    case .laplacian: sums.variance
    case .tenengrad: sums.meanEnergy
    }
  }
}

extension StageChoice {
  /// Measures sharpness: `FocusReport`.
  public static func focus(_ choose: (inout FocusScore.Settings) -> Void = { _ in }) -> StageChoice
  {
    StageChoice(FocusScore.plugin, of: FocusScore.self, choose)
  }
}
