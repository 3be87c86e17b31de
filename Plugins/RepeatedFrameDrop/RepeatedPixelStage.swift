public import SprocketCore

/// Drops frames whose pixels are those of the last frame that had others.
public struct RepeatedPixelStage: Stage {
  public typealias Settings = RepeatedFrameDrop.Settings

  public static var order: Order { .sequence }

  public var settings = Settings()

  private var policy = RepeatPolicy(period: 1)
  private var kept = KeptBytes()
  /// Bytes of a row, and rows, of each plane. Columns and rows behind the picture's edge, which some
  /// formats have to fill up the last sample of chroma, are not compared.
  private var planes: [(bytes: Int, rows: Int)] = []
  /// Bytes of a picture; 0 where none is compared.
  private var byteCount = 0

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    planes = []
    if settings.compare == .all, let image = format.image {
      try setup.reads(.image, depth: .any)
      for index in 0..<image.planeCount {
        let grid = format.sampleGrid(plane: index)
        let samples = (format.width + grid.columns - 1) / grid.columns
        let rows = (format.height + grid.rows - 1) / grid.rows
        planes.append((image.isDeep ? 2 * samples : samples, rows))
      }
    }
    byteCount = planes.reduce(0) { $0 + $1.bytes * $1.rows }
    kept.prepare(capacity: byteCount)
    policy.forget()
    retune()
    return format
  }

  public mutating func retune() { policy.period = max(1, settings.every.nanosecondCount) }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard byteCount > 0 else { return .keep }
    let isRepeat = compare(frame.image)
    let captured = frame.record.captured.nanoseconds
    return policy.passes(captured: captured, isRepeat: isRepeat) ? .keep : .drop(.rejected)
  }

  private mutating func compare(_ picture: borrowing ImageView) -> Bool {
    if kept.holds(byteCount), isKept(picture) { return true }
    var start = 0
    for index in planes.indices {
      let plane = picture[plane: index]
      for y in 0..<planes[index].rows {
        kept.store(plane[row: y].extracting(0..<planes[index].bytes), at: start)
        start += planes[index].bytes
      }
    }
    kept.finish(byteCount)
    return false
  }

  private func isKept(_ picture: borrowing ImageView) -> Bool {
    var start = 0
    for index in planes.indices {
      let plane = picture[plane: index]
      for y in 0..<planes[index].rows {
        let row = plane[row: y].extracting(0..<planes[index].bytes)
        guard kept.matches(row, at: start) else { return false }
        start += planes[index].bytes
      }
    }
    return true
  }
}
