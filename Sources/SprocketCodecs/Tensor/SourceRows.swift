internal import SprocketCore
internal import SprocketPixels

/// Pixels of a source that become those of a picture by copying.
struct SourcePixels: Sendable {
  enum Order: Sendable {
    case rgb(RGBOrder)
    /// One sample, of `rgba` alone, which is opaque then.
    case gray
  }

  let order: Order
  /// Words of 16 bits, and not bytes.
  let areWords: Bool
  let bytesPerRow: Int

  /// `nil` where numbers have to be computed.
  init?(_ source: FrameFormat, for settings: TensorSettings) {
    let (element, scale) = (settings.usedElement, settings.usedScale)
    guard settings.usedOrder == .nhwc, settings.usedChannels != .gray,
      element == .u8 && scale == 1 || element == .u16 && scale == 257
    else { return nil }
    let isClear = settings.usedChannels == .rgba
    bytesPerRow =
      source.pixelFormat.plane(0, width: source.width, height: source.height).bytesPerRow
    switch source.pixelFormat.layout {
    case .rgb(let order): (self.order, areWords) = (.rgb(order), false)
    case .rgbWords(let words): (order, areWords) = (.rgb(words == .rgba ? .rgba : .rgb), true)
    case .planar(.gray, .eight, _) where isClear && source.color.range == .full:
      (order, areWords) = (.gray, false)
    case .planar(.gray, .sixteen, _) where isClear && source.color.range == .full:
      (order, areWords) = (.gray, true)
    case .encoded, .planar, .semiPlanar420, .semiPlanar420Words, .packedGray, .packed422, .bayer:
      return nil
    }
    guard isClear || areWords == (element == .u16) else { return nil }
  }

  /// Returns the reason why pictures of the source cannot become `rgba`.
  static func whyNoAlpha(of source: FrameFormat?) -> String {
    guard let source else {
      return "stages that change or turn these pictures leave no alpha: take rgb, or leave them out"
    }
    let pixels = source.pixelFormat
    guard pixels.isRGB || pixels.isGrey else {
      return "pictures of \(pixels.settingText) are taken without alpha: take rgb"
    }
    return
      "rgba is taken as it is: leave out size, regions, order, scale, mean, std and pad, or take rgb"
  }
}

/// Copies pixels that the source delivered: every bit is kept. Only `rgba` of another depth is converted, to
/// the nearest level.
struct SourceRows {
  private let pixels: SourcePixels
  private let channels: TensorSettings.Channels
  private let makesWords: Bool
  private let width: Int
  private let height: Int

  /// `nil` for other pictures.
  init?(_ plan: TensorPlan) {
    guard let pixels = plan.sourcePixels else { return nil }
    self.pixels = pixels
    channels = plan.settings.usedChannels
    makesWords = plan.settings.usedElement == .u16
    (width, height) = (plan.width, plan.height)
  }

  /// Fills the first bytes of `bytes` with the picture; false for a frame that did not arrive whole.
  func pack(_ plane: borrowing Plane, into bytes: inout MutableSpan<UInt8>) -> Bool {
    guard plane.rows >= height, plane.bytesPerRow >= pixels.bytesPerRow else { return false }
    let count = channels.count * width
    for y in 0..<height {
      let part = count * y..<count * (y + 1)
      switch (pixels.areWords, makesWords) {
      case (false, false):
        let row = plane[row: y]
        bytes.withElements(part) { copy(row, into: &$0) { (level: UInt8) -> UInt8 in level } }
      case (true, true):
        let row = plane[row16: y]
        bytes.withElements(part) { copy(row, into: &$0) { (level: UInt16) -> UInt16 in level } }
      case (false, true):
        let row = plane[row: y]
        bytes.withElements(part) {
          copy(row, into: &$0) { (level: UInt8) -> UInt16 in UInt16(level) &* 257 }
        }
      case (true, false):
        let row = plane[row16: y]
        bytes.withElements(part) {
          // Divides by 257, and rounds to the nearest.
          copy(row, into: &$0) { (level: UInt16) -> UInt8 in
            UInt8(truncatingIfNeeded: (UInt32(level) &* 255 &+ 32895) &>> 16)
          }
        }
      }
    }
    return true
  }

  /// Copies a row. Each case has constants for places and step, so that the compiler vectorises its loop.
  @inline(__always)
  private func copy<From: FixedWidthInteger, To: FixedWidthInteger>(
    _ row: Span<From>, into target: inout MutableSpan<To>, _ convert: (From) -> To
  ) {
    guard case .rgb(let order) = pixels.order, channels != .rgba else {
      return copyWithAlpha(row, into: &target, convert)
    }
    switch (order, channels) {
    case (.rgb, .bgr), (.bgr, .rgb): copy3(row, (2, 1, 0), step: 3, into: &target, convert)
    case (.rgb, _), (.bgr, _): copy3(row, (0, 1, 2), step: 3, into: &target, convert)
    case (.bgrx, .bgr), (.bgra, .bgr), (.rgba, .rgb):
      copy3(row, (0, 1, 2), step: 4, into: &target, convert)
    case (.bgrx, _), (.bgra, _), (.rgba, _):
      copy3(row, (2, 1, 0), step: 4, into: &target, convert)
    case (.xrgb, .bgr), (.argb, .bgr): copy3(row, (3, 2, 1), step: 4, into: &target, convert)
    case (.xrgb, _), (.argb, _): copy3(row, (1, 2, 3), step: 4, into: &target, convert)
    }
  }

  @inline(__always)
  private func copyWithAlpha<From: FixedWidthInteger, To: FixedWidthInteger>(
    _ row: Span<From>, into target: inout MutableSpan<To>, _ convert: (From) -> To
  ) {
    switch pixels.order {
    case .gray: copy4(row, (0, 0, 0, nil), step: 1, into: &target, convert)
    case .rgb(.rgb): copy4(row, (0, 1, 2, nil), step: 3, into: &target, convert)
    case .rgb(.bgr): copy4(row, (2, 1, 0, nil), step: 3, into: &target, convert)
    case .rgb(.bgrx): copy4(row, (2, 1, 0, nil), step: 4, into: &target, convert)
    case .rgb(.xrgb): copy4(row, (1, 2, 3, nil), step: 4, into: &target, convert)
    case .rgb(.rgba): copy4(row, (0, 1, 2, 3), step: 4, into: &target, convert)
    case .rgb(.bgra): copy4(row, (2, 1, 0, 3), step: 4, into: &target, convert)
    case .rgb(.argb): copy4(row, (1, 2, 3, 0), step: 4, into: &target, convert)
    }
  }
}

/// Copies three samples of every `step`, those at `places`.
@inline(__always)
private func copy3<From: FixedWidthInteger, To: FixedWidthInteger>(
  _ row: Span<From>, _ places: (Int, Int, Int), step: Int, into target: inout MutableSpan<To>,
  _ convert: (From) -> To
) {
  let count = target.count / 3
  precondition(row.count >= step * count)
  for x in 0..<count {
    unsafe target[unchecked: 3 &* x] = convert(row[unchecked: step &* x &+ places.0])
    unsafe target[unchecked: 3 &* x &+ 1] = convert(row[unchecked: step &* x &+ places.1])
    unsafe target[unchecked: 3 &* x &+ 2] = convert(row[unchecked: step &* x &+ places.2])
  }
}

/// Copies four; all bits are set in the fourth where it has no place.
@inline(__always)
private func copy4<From: FixedWidthInteger, To: FixedWidthInteger>(
  _ row: Span<From>, _ places: (Int, Int, Int, Int?), step: Int,
  into target: inout MutableSpan<To>, _ convert: (From) -> To
) {
  let count = target.count / 4
  precondition(row.count >= step * count)
  for x in 0..<count {
    unsafe target[unchecked: 4 &* x] = convert(row[unchecked: step &* x &+ places.0])
    unsafe target[unchecked: 4 &* x &+ 1] = convert(row[unchecked: step &* x &+ places.1])
    unsafe target[unchecked: 4 &* x &+ 2] = convert(row[unchecked: step &* x &+ places.2])
    unsafe target[unchecked: 4 &* x &+ 3] =
      places.3.map { unsafe convert(row[unchecked: step &* x &+ $0]) } ?? ~0
  }
}
