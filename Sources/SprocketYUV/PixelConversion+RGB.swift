internal import CSprocketYUV
public import SprocketPixels

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
    case .bgrx, .bgra:
      succeeded(unsafe ARGBToJ400(from, fromStride, toY, strideY, Int32(width), Int32(height)))
    case .xrgb, .argb, .rgba:
      let isRedFirst = order == .rgba
      unsafe forEachTile(from, isRedFirst, Int(fromStride), width, height) {
        tile, column, row, columns, rows in
        succeeded(
          unsafe ARGBToJ400(
            tile, Int32(Tile.stride), toY + row * Int(strideY) + column, strideY, columns, rows))
      }
    }
  }

  /// A piece of an image that is turned into B G R X on the stack: two rows of 4 bytes for each of 256
  /// pixels.
  private enum Tile {
    static let columns = 256
    static let stride = 4 * columns
  }

  /// libyuv has no full-range conversion from X R G B and R G B A: calls `body` with one tile after the other
  /// in libyuv's ARGB, with its place and size in pixels.
  private static func forEachTile(
    _ source: UnsafePointer<UInt8>, _ isRedFirst: Bool, _ stride: Int, _ width: Int, _ height: Int,
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
          let turn = unsafe isRedFirst ? ABGRToARGB : BGRAToARGB
          succeeded(
            unsafe turn(
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
