internal import SprocketCore
internal import SprocketPixels
internal import SprocketYUV

/// Where luma comes from: a plane, how samples lie in it, and whether they are full range.
@safe
struct LumaSource {
  enum Layout {
    case bytes
    case words(LumaConversion.WordBits)
    /// Samples in the high bits of words.
    case highWords(LumaConversion.WordBits)
    case packedGray(BayerSamples)
    case packed(PackedOrder)
    case rgb(RGBOrder)
    case rgbWords(RGBWords)
  }

  let plane: PlaneStorage
  let layout: Layout
  let isLimited: Bool

  /// The luma of a picture whose first plane is `plane`. RGB is full range, whatever is said.
  init(_ plane: PlaneStorage, _ format: PixelFormat, range: Color.Range) {
    unsafe self.plane = unsafe plane
    layout =
      switch format.layout {
      case .packed422(let order): .packed(order)
      case .rgb(let order): .rgb(order)
      case .rgbWords(let words): .rgbWords(words)
      case .semiPlanar420Words(let depth): .highWords(depth == .ten ? .ten : .twelve)
      case .packedGray(let samples): .packedGray(samples)
      case .planar(_, .ten, _): .words(.ten)
      case .planar(_, .twelve, _): .words(.twelve)
      case .planar(_, .sixteen, _): .words(.sixteen)
      case .planar(_, .eight, _), .semiPlanar420, .encoded, .bayer: .bytes
      }
    isLimited = range == .limited && !format.isRGB
  }

  /// The plane is what is asked for, as it lies there.
  var isPlane: Bool {
    if case .bytes = layout { !isLimited } else { false }
  }

  /// Luma becomes words before it becomes bytes: it is written a tile at a time.
  var needsWords: Bool {
    switch layout {
    case .highWords, .packedGray, .rgbWords: true
    case .bytes, .words, .packed, .rgb: false
    }
  }

  /// Full-range 8-bit luma of a rectangle. `column` is a multiple of 4. `words` has room for a word per pixel
  /// where they are needed.
  func write(
    to target: PlaneStorage, column: Int, row: Int, width: Int, height: Int,
    words: UnsafeMutableBufferPointer<UInt8>
  ) {
    func from(_ bytesPerPixel: Int, _ bytesPerRow: Int) -> PlaneBytes {
      unsafe plane.part(
        column: column * bytesPerPixel, row: row, bytesPerRow: bytesPerRow, rows: height
      ).source
    }
    let to = unsafe target.target
    switch layout {
    case .bytes:
      if isLimited {
        LumaConversion.limitedToFull(from(1, width), to: to, width: width, height: height)
      } else {
        PixelConversion.copy(from(1, width), to: to, bytesPerRow: width, rows: height)
      }
      return
    case .words(let bits):
      LumaConversion.wordsToEightBits(
        from(2, 2 * width), bits: bits, isLimited: isLimited, to: to, width: width, height: height)
    case .highWords(let bits):
      let room = unsafe MutablePlaneBytes(words, stride: 2 * width)
      PixelConversion.lowerWords(
        from(2, 2 * width), bits: bits.rawValue, to: room, width: width, height: height)
      LumaConversion.wordsToEightBits(
        PlaneBytes(room), bits: bits, isLimited: isLimited, to: to, width: width, height: height)
    case .packedGray(let samples):
      let room = unsafe MutablePlaneBytes(words, stride: 2 * width)
      let source = unsafe plane.part(
        column: samples.bytesPerRow(width: column), row: row,
        bytesPerRow: samples.bytesPerRow(width: width), rows: height
      ).source
      PixelConversion.unpackGray(source, samples, to: room, width: width, height: height)
      LumaConversion.wordsToEightBits(
        PlaneBytes(room), bits: samples == .packedTen ? .ten : .twelve, isLimited: isLimited,
        to: to,
        width: width, height: height)
    case .rgbWords(let pixel):
      let room = unsafe MutablePlaneBytes(words, stride: 2 * width)
      PixelConversion.grayWords(
        from(2 * pixel.perPixel, 2 * pixel.perPixel * width), pixel, y: room, width: width,
        height: height)
      LumaConversion.wordsToEightBits(
        PlaneBytes(room), bits: .sixteen, isLimited: false, to: to, width: width, height: height)
    case .packed(let order):
      PixelConversion.unpackLuma(
        from(2, (width + 1) / 2 * 4), order, y: to, width: width, height: height)
    case .rgb(let order):
      let bytes = order.bytesPerPixel
      PixelConversion.gray(
        from(bytes, bytes * width), order, y: to, width: width, height: height)
    }
    if isLimited { LumaConversion.limitedToFull(to, width: width, height: height) }
  }
}
