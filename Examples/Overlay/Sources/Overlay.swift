import SprocketCore

/// Draws the histogram that `meter` has made of a frame into its lower left corner.
struct Overlay: Stage {
  static let plugin = Plugin(
    "histogram", "the meter's histogram, drawn into the picture", Overlay.self)
  static let order = Order.any
  struct Settings: KindSettings {
    var height = 0.25
    static var settings: [Setting<Self>] {
      [Setting("height", \.height, range: 0.05...1, "share of the picture's height")]
    }
  }

  var settings = Settings()
  private var meter: ReportReader<ExposureReport>?
  /// Of the drawing, in rows of luma.
  private var rows = 0
  /// How high each level's bar is, in rows.
  private var bars: [Int] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace)
    meter = try setup.reader(ExposureReport.self, from: "meter")
    rows = max(1, Int(Double(setup.format.height) * settings.height))
    bars = Array(repeating: 0, count: min(256, setup.format.width))
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let meter, let report = frame.read(meter) else { return .keep }
    measureBars(report.histogram.span)
    var picture = frame.edit()
    let bottom = picture.rows(plane: 0)
    for height in 1...min(rows, bottom) {
      var row = picture.row(bottom - height, plane: 0)
      draw(&row, bars.span, height: height)
    }
    return .keep
  }

  /// The highest bar takes all rows. Levels share a bar where the picture is too narrow for 256.
  private mutating func measureBars(_ counts: Span<UInt32>) {
    for bar in bars.indices { bars[bar] = 0 }
    for level in counts.indices { bars[level * bars.count / 256] += Int(counts[level]) }
    let most = max(bars.reduce(0, max), 1)
    for bar in bars.indices { bars[bar] = bars[bar] * rows / most }
  }
}

/// White where a bar is at least as high, and elsewhere half as bright as it was.
private func draw(_ row: inout MutableSpan<UInt8>, _ bars: Span<Int>, height: Int) {
  for x in bars.indices { row[x] = bars[x] >= height ? 255 : row[x] / 2 }
}
