import SprocketCore

/// Darkens a picture towards its corners, as a simple lens does.
struct Vignette: Stage {
  static let plugin = Plugin("vignette", "darkens the picture towards its corners", Vignette.self)
  static let order = Order.any
  /// What a user may choose.
  struct Settings: KindSettings {
    var strength = 0.5

    static var settings: [Setting<Self>] {
      [Setting("strength", \.strength, range: 0...1, "light lost in the very corners")]
    }
  }

  var settings = Settings()

  /// Light lost by a pixel's column, and by its row, in 1/65536; the two add up.
  private var lossByColumn: [Int32] = []
  private var lossByRow: [Int32] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace)
    lossByColumn = losses(setup.format.width)
    lossByRow = losses(setup.format.height)
    return setup.format
  }

  /// Half of `strength` at either end of a line of `count` pixels, none in the middle, growing with
  /// the square of the distance.
  private func losses(_ count: Int) -> [Int32] {
    (0..<count).map { position in
      let distance = (Double(position) + 0.5) / Double(count) * 2 - 1
      return Int32(settings.strength / 2 * distance * distance * 65536)
    }
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    for y in 0..<picture.rows(plane: 0) {
      var row = picture.row(y, plane: 0)
      darken(&row, lossByColumn.span, lossByRow[y])
    }
    return .keep
  }
}

/// Takes the column's and the row's loss from each pixel. 255 * 65536 fits into 32 bits unsigned.
private func darken(_ row: inout MutableSpan<UInt8>, _ columns: Span<Int32>, _ loss: Int32) {
  for x in 0..<row.count {
    let kept = UInt32(truncatingIfNeeded: 65536 &- columns[x] &- loss)
    row[x] = UInt8(truncatingIfNeeded: (UInt32(row[x]) &* kept) >> 16)
  }
}
