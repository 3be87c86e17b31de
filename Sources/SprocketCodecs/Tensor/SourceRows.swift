internal import SprocketCore
internal import SprocketPixels

/// Pixels of a source that become those of a picture by copying: their channels and bytes.
struct SourcePixels: Sendable {
  let order: RGBOrder
  /// Words of 16 bits, and not bytes.
  let areWords: Bool

  /// `nil` where numbers have to be computed.
  init?(_ pixels: PixelFormat, for settings: TensorSettings) {
    guard settings.usedOrder == .nhwc, settings.usedChannels != .gray else { return nil }
    switch pixels.layout {
    case .rgb(let order): (self.order, areWords) = (order, false)
    case .rgbWords(let hasAlpha): (order, areWords) = (hasAlpha ? .rgba : .rgb, true)
    case .jpeg, .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .bayer:
      return nil
    }
    let (element, scale) = areWords ? (TensorSettings.Element.u16, 257.0) : (.u8, 1)
    guard settings.usedElement == element, settings.usedScale == scale else { return nil }
  }

  /// Why pictures of the source have no alpha in these settings.
  static func whyNoAlpha(_ settings: TensorSettings, source: PixelFormat?) -> String {
    guard let source else {
      return
        "a stage changes these pictures, which leaves no alpha: take rgb, or leave the stage out"
    }
    guard source.isRGB else {
      return "pictures of \(source.fourcc) have no alpha: take rgb"
    }
    if source.isDeep != (settings.usedElement == .u16) {
      return source.isDeep
        ? "these pictures have 16 bits: give rgba the type u16"
        : "these pictures have 8 bits: leave out the type of rgba"
    }
    return
      "rgba is taken as it is: leave out size, regions, order, scale, mean, std and pad, or take rgb"
  }

  var bytesPerPixel: Int { order.bytesPerPixel * (areWords ? 2 : 1) }
}

/// Copies RGB that the source delivered: every bit is kept.
struct SourceRows {
  private let pixels: SourcePixels
  private let channels: TensorSettings.Channels
  private let width: Int
  private let height: Int

  /// `nil` for other pictures.
  init?(_ plan: TensorPlan) {
    guard let pixels = plan.sourcePixels else { return nil }
    self.pixels = pixels
    channels = plan.settings.usedChannels
    (width, height) = (plan.width, plan.height)
  }

  /// Fills the first bytes of `bytes` with the picture; false for a frame that did not arrive whole.
  func pack(_ plane: borrowing Plane, into bytes: inout MutableSpan<UInt8>) -> Bool {
    guard plane.rows >= height, plane.bytesPerRow >= pixels.bytesPerPixel * width else {
      return false
    }
    let count = channels.count * width
    for y in 0..<height {
      let part = count * y..<count * (y + 1)
      if pixels.areWords {
        let row = plane[row16: y]
        bytes.withElements(part) { copy(row, into: &$0) }
      } else {
        let row = plane[row: y]
        bytes.withElements(part) { copy(row, into: &$0) }
      }
    }
    return true
  }

  /// Numbers that the compiler knows make lanes of the loop.
  @inline(__always)
  private func copy<Sample: FixedWidthInteger>(
    _ row: Span<Sample>, into target: inout MutableSpan<Sample>
  ) {
    switch (pixels.order, channels) {
    case (_, .rgba): copyWithAlpha(row, into: &target)
    case (.rgb, .bgr), (.bgr, .rgb): copy3(row, (2, 1, 0), step: 3, into: &target)
    case (.rgb, _), (.bgr, _): copy3(row, (0, 1, 2), step: 3, into: &target)
    case (.bgrx, .bgr), (.bgra, .bgr), (.rgba, .rgb):
      copy3(row, (0, 1, 2), step: 4, into: &target)
    case (.bgrx, _), (.bgra, _), (.rgba, _): copy3(row, (2, 1, 0), step: 4, into: &target)
    case (.xrgb, .bgr), (.argb, .bgr): copy3(row, (3, 2, 1), step: 4, into: &target)
    case (.xrgb, _), (.argb, _): copy3(row, (1, 2, 3), step: 4, into: &target)
    }
  }

  @inline(__always)
  private func copyWithAlpha<Sample: FixedWidthInteger>(
    _ row: Span<Sample>, into target: inout MutableSpan<Sample>
  ) {
    switch pixels.order {
    case .rgb: copy4(row, (0, 1, 2, nil), step: 3, into: &target)
    case .bgr: copy4(row, (2, 1, 0, nil), step: 3, into: &target)
    case .bgrx: copy4(row, (2, 1, 0, nil), step: 4, into: &target)
    case .xrgb: copy4(row, (1, 2, 3, nil), step: 4, into: &target)
    case .rgba: copy4(row, (0, 1, 2, 3), step: 4, into: &target)
    case .bgra: copy4(row, (2, 1, 0, 3), step: 4, into: &target)
    case .argb: copy4(row, (1, 2, 3, 0), step: 4, into: &target)
    }
  }
}

/// Copies three samples of every `step`, those at `places`.
@inline(__always)
private func copy3<Sample: FixedWidthInteger>(
  _ row: Span<Sample>, _ places: (Int, Int, Int), step: Int,
  into target: inout MutableSpan<Sample>
) {
  let count = target.count / 3
  precondition(row.count >= step * count)
  for x in 0..<count {
    unsafe target[unchecked: 3 &* x] = row[unchecked: step &* x &+ places.0]
    unsafe target[unchecked: 3 &* x &+ 1] = row[unchecked: step &* x &+ places.1]
    unsafe target[unchecked: 3 &* x &+ 2] = row[unchecked: step &* x &+ places.2]
  }
}

/// Copies four; all bits are set in the fourth where it has no place.
@inline(__always)
private func copy4<Sample: FixedWidthInteger>(
  _ row: Span<Sample>, _ places: (Int, Int, Int, Int?), step: Int,
  into target: inout MutableSpan<Sample>
) {
  let count = target.count / 4
  precondition(row.count >= step * count)
  for x in 0..<count {
    unsafe target[unchecked: 4 &* x] = row[unchecked: step &* x &+ places.0]
    unsafe target[unchecked: 4 &* x &+ 1] = row[unchecked: step &* x &+ places.1]
    unsafe target[unchecked: 4 &* x &+ 2] = row[unchecked: step &* x &+ places.2]
    unsafe target[unchecked: 4 &* x &+ 3] =
      places.3.map { unsafe row[unchecked: step &* x &+ $0] } ?? ~0
  }
}
