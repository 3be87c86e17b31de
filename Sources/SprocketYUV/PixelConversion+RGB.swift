internal import CSprocketYUV

/// The order of bytes in a pixel with red, green and blue.
public enum RGBOrder: CaseIterable, Sendable {
  /// R G B: V4L2's `RGB3`, libyuv's RAW.
  case rgb
  /// B G R: V4L2's `BGR3`, libyuv's RGB24.
  case bgr
  /// B G R and an unused byte: V4L2's `BGR4`, libyuv's ARGB.
  case bgrx
  /// An unused byte and R G B: V4L2's `RGB4`, libyuv's BGRA.
  case xrgb

  /// 3 or 4.
  public var bytesPerPixel: Int { self == .rgb || self == .bgr ? 3 : 4 }
}

extension PixelConversion {
  /// Gray of full range from red, green and blue: `(77 R + 150 G + 29 B + 128) >> 8`, which is the
  /// luma of BT.601 (JFIF) in 8-bit fractions, within 0.83 of the exact value.
  ///
  /// The corresponding C functions are `RAWToJ400`, `RGB24ToJ400` and `ARGBToJ400`.
  public static func gray(
    _ source: PlaneBytes, _ order: RGBOrder, y: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, fromStride) = unsafe source.checked(order.bytesPerPixel * width, height)
    let (toY, strideY) = unsafe y.checked(width, height)
    switch order {
    case .rgb:
      succeeded(unsafe RAWToJ400(from, fromStride, toY, strideY, Int32(width), Int32(height)))
    case .bgr:
      succeeded(unsafe RGB24ToJ400(from, fromStride, toY, strideY, Int32(width), Int32(height)))
    case .bgrx:
      succeeded(unsafe ARGBToJ400(from, fromStride, toY, strideY, Int32(width), Int32(height)))
    case .xrgb:
      unsafe forEachTile(from, Int(fromStride), width, height) { tile, column, row, columns, rows in
        succeeded(
          unsafe ARGBToJ400(
            tile, Int32(Tile.stride), toY + row * Int(strideY) + column, strideY, columns, rows))
      }
    }
  }

  /// Red, green and blue into three planes of 4:2:0 with full range (JFIF).
  ///
  /// Luma is as in ``gray(_:_:y:width:height:)``. Chroma is computed from the mean of 2x2 pixels, itself
  /// a rounded mean of two rounded means (within 1): `(127 B - 84 G - 43 R + 32896) >> 8` and
  /// `(127 R - 107 G - 20 B + 32896) >> 8`.
  ///
  /// The corresponding C functions are `RAWToJ420`, `RGB24ToJ420` and `ARGBToJ420`.
  public static func planes420(
    _ source: PlaneBytes, _ order: RGBOrder, y: MutablePlaneBytes, u: MutablePlaneBytes,
    v: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, fromStride) = unsafe source.checked(order.bytesPerPixel * width, height)
    let (toY, strideY) = unsafe y.checked(width, height)
    let (toU, strideU) = unsafe u.checked(half(width), half(height))
    let (toV, strideV) = unsafe v.checked(half(width), half(height))
    if order == .xrgb {
      unsafe forEachTile(from, Int(fromStride), width, height) { tile, column, row, columns, rows in
        succeeded(
          unsafe ARGBToJ420(
            tile, Int32(Tile.stride), toY + row * Int(strideY) + column, strideY,
            toU + row / 2 * Int(strideU) + column / 2, strideU,
            toV + row / 2 * Int(strideV) + column / 2, strideV, columns, rows))
      }
      return
    }
    let convert = unsafe order == .rgb ? RAWToJ420 : order == .bgr ? RGB24ToJ420 : ARGBToJ420
    succeeded(
      unsafe convert(
        from, fromStride, toY, strideY, toU, strideU, toV, strideV, Int32(width), Int32(height)))
  }

  /// Three planes of 4:2:0 with full range (JFIF) into red, green and blue; unused bytes are 255.
  /// Each chroma sample serves 2x2 pixels. Values are within 2 of JFIF's formulas.
  ///
  /// The corresponding C functions are `J420ToRAW`, `J420ToRGB24`, `J420ToARGB` and `ARGBToBGRA`.
  public static func pack420(
    y: PlaneBytes, u: PlaneBytes, v: PlaneBytes, to target: MutablePlaneBytes, _ order: RGBOrder,
    width: Int, height: Int
  ) {
    let (fromY, strideY) = unsafe y.checked(width, height)
    let (fromU, strideU) = unsafe u.checked(half(width), half(height))
    let (fromV, strideV) = unsafe v.checked(half(width), half(height))
    let (to, toStride) = unsafe target.checked(order.bytesPerPixel * width, height)
    let convert = unsafe order == .rgb ? J420ToRAW : order == .bgr ? J420ToRGB24 : J420ToARGB
    succeeded(
      unsafe convert(
        fromY, strideY, fromU, strideU, fromV, strideV, to, toStride, Int32(width), Int32(height)))
    if order == .xrgb {
      succeeded(unsafe ARGBToBGRA(to, toStride, to, toStride, Int32(width), Int32(height)))
    }
  }

  /// A piece of an image that is turned from X R G B into B G R X on the stack: two rows of 4 bytes for
  /// each of 256 pixels.
  private enum Tile {
    static let columns = 256
    static let stride = 4 * columns
  }

  /// libyuv has no full-range conversion from X R G B: calls `body` with one tile after the other in
  /// libyuv's ARGB, with its place and size in pixels.
  private static func forEachTile(
    _ source: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int,
    _ body: (UnsafePointer<UInt8>, _ column: Int, _ row: Int, Int32, Int32) -> Void
  ) {
    var storage = InlineArray<2048, UInt8>(repeating: 0)
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { memory in
      guard let tile = memory.baseAddress else { return }
      var row = 0
      while row < height {
        let rows = min(2, height - row)
        var column = 0
        while column < width {
          let columns = min(Tile.columns, width - column)
          succeeded(
            unsafe BGRAToARGB(
              source + row * stride + 4 * column, Int32(stride), tile, Int32(Tile.stride),
              Int32(columns), Int32(rows)))
          unsafe body(tile, column, row, Int32(columns), Int32(rows))
          column += columns
        }
        row += rows
      }
    }
  }
}
