public import SprocketCore

/// Drops frames whose bytes, as the source delivered them, are those of the frame before.
///
/// It runs before unpacking, and does nothing where frames are neither compressed nor a sensor's mosaic.
public struct RepeatedByteStage: Stage {
  public typealias Settings = RepeatedFrameDrop.Settings

  public static var order: Order { .sequence }

  public var settings = Settings()

  private var policy = RepeatPolicy(period: 1)
  private var kept = KeptBytes()
  private var isEncoded = false
  private var isMosaic = false

  /// Bytes for each pixel that a compressed frame may take to be compared; most take less than one. Larger:
  /// more memory.
  private static let bytesPerPixel = 3
  /// Bytes that a compressed frame may always take: tables and notes count more in a small one.
  private static let leastBytes = 1 << 16

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let format = setup.format
    (isEncoded, isMosaic) = (format.pixelFormat.isEncoded, format.pixelFormat.isBayer)
    var capacity = 0
    if isEncoded {
      capacity = max(format.width * format.height * Self.bytesPerPixel, Self.leastBytes)
    } else if isMosaic {
      let plane = format.pixelFormat.plane(0, width: format.width, height: format.height)
      capacity = plane.bytesPerRow * plane.rows
    } else if settings.compare == .bytes {
      throw StageError(
        "is to compare bytes alone, and these frames are not compressed; give compare=all, which compares "
          + "pixels", change: .stage)
    }
    if capacity > 0 { try setup.reads(.encoded) }
    kept.prepare(capacity: capacity)
    policy.forget()
    retune()
    return format
  }

  public mutating func retune() { policy.period = max(1, settings.every.nanosecondCount) }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    let isRepeat: Bool
    if isEncoded {
      isRepeat = compare(frame.encoded)
    } else if isMosaic {
      isRepeat = compare(frame.sourcePlane(0))
    } else {
      return .keep
    }
    let captured = frame.record.captured.nanoseconds
    return policy.passes(captured: captured, isRepeat: isRepeat) ? .keep : .drop(.rejected)
  }

  private mutating func compare(_ bytes: Span<UInt8>) -> Bool {
    if kept.holds(bytes.count), kept.matches(bytes, at: 0) { return true }
    kept.forget()
    guard kept.hasRoom(for: bytes.count) else { return false }
    kept.store(bytes, at: 0)
    kept.finish(bytes.count)
    return false
  }

  private mutating func compare(_ plane: borrowing Plane) -> Bool {
    let total = plane.rows * plane.bytesPerRow
    if kept.holds(total), isKept(plane) { return true }
    kept.forget()
    guard kept.hasRoom(for: total) else { return false }
    for y in 0..<plane.rows { kept.store(plane[row: y], at: y * plane.bytesPerRow) }
    kept.finish(total)
    return false
  }

  private func isKept(_ plane: borrowing Plane) -> Bool {
    for y in 0..<plane.rows where !kept.matches(plane[row: y], at: y * plane.bytesPerRow) {
      return false
    }
    return true
  }
}
