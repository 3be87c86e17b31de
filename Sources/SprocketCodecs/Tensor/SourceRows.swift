internal import SprocketCore
internal import SprocketPixels

/// Copies RGB that the source delivered: every bit is kept.
struct SourceRows {
  private let order: RGBOrder
  private let redFirst: Bool
  private let width: Int
  private let height: Int

  /// `nil` for other pictures.
  init?(_ plan: TensorPlan) {
    guard let order = plan.sourceOrder else { return nil }
    self.order = order
    redFirst = plan.settings.usedChannels == .rgb
    (width, height) = (plan.width, plan.height)
  }

  /// Fills the first bytes of `bytes` with the picture; false for a frame that did not arrive whole.
  func pack(_ plane: borrowing Plane, into bytes: inout MutableSpan<UInt8>) -> Bool {
    guard plane.rows >= height, plane.bytesPerRow >= order.bytesPerPixel * width else {
      return false
    }
    for y in 0..<height {
      var target = bytes._mutatingExtracting(3 * width * y..<3 * width * (y + 1))
      let row = plane[row: y]
      // Numbers that the compiler knows make lanes of the loop.
      switch (order, redFirst) {
      case (.rgb, true), (.bgr, false): copy(row, (0, 1, 2), step: 3, into: &target)
      case (.rgb, false), (.bgr, true): copy(row, (2, 1, 0), step: 3, into: &target)
      case (.bgrx, true): copy(row, (2, 1, 0), step: 4, into: &target)
      case (.bgrx, false): copy(row, (0, 1, 2), step: 4, into: &target)
      case (.xrgb, true): copy(row, (1, 2, 3), step: 4, into: &target)
      case (.xrgb, false): copy(row, (3, 2, 1), step: 4, into: &target)
      }
    }
    return true
  }
}

/// Copies three bytes of every `step`, those at `places`.
@inline(__always)
private func copy(
  _ row: Span<UInt8>, _ places: (Int, Int, Int), step: Int, into target: inout MutableSpan<UInt8>
) {
  let count = target.count / 3
  precondition(row.count >= step * count)
  for x in 0..<count {
    unsafe target[unchecked: 3 &* x] = row[unchecked: step &* x &+ places.0]
    unsafe target[unchecked: 3 &* x &+ 1] = row[unchecked: step &* x &+ places.1]
    unsafe target[unchecked: 3 &* x &+ 2] = row[unchecked: step &* x &+ places.2]
  }
}
