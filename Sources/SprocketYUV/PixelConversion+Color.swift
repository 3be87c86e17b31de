internal import CSprocketYUV
public import SprocketPixels

extension PixelConversion {
  /// Three planes of 4:2:0 or 4:2:2 as JPEG has them (full range, BT.601, chroma in the middle of its luma)
  /// into pixels of three bytes. Chroma is interpolated. The library's fixed point is at most 2 levels from
  /// the exact result where the width is even; it is further off for other matrices, for limited range, and
  /// in the last column of an odd width (7 levels).
  ///
  /// The corresponding C functions are `I420ToRGB24MatrixFilter` and `I422ToRGB24MatrixFilter`.
  public static func interleaveJPEG(
    y: PlaneBytes, u: PlaneBytes, v: PlaneBytes, isHalfHeight: Bool, redFirst: Bool,
    to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (fromY, strideY) = unsafe y.checked(width, height)
    let chromaHeight = isHalfHeight ? half(height) : height
    // The library writes blue first, and red first where it is told that U is V.
    let (fromU, strideU) = unsafe (redFirst ? v : u).checked(half(width), chromaHeight)
    let (fromV, strideV) = unsafe (redFirst ? u : v).checked(half(width), chromaHeight)
    let (to, toStride) = unsafe target.checked(3 * width, height)
    let convert = unsafe isHalfHeight ? I420ToRGB24MatrixFilter : I422ToRGB24MatrixFilter
    let constants = unsafe sprocket_jpeg_constants(redFirst ? 1 : 0)
    succeeded(
      unsafe convert(
        fromY, strideY, fromU, strideU, fromV, strideV, to, toStride, constants, Int32(width),
        Int32(height), kFilterBilinear))
  }
}
