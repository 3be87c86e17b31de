internal import CSprocketYUV
public import SprocketPixels

extension PixelConversion {
  /// Packed 4:2:2 into three planes of 4:2:2. A row has `2 * ((width + 1) / 2) * 2` bytes.
  ///
  /// The corresponding C functions are `YUY2ToI422` and `UYVYToI422`.
  public static func unpack(
    _ source: PlaneBytes, _ order: PackedOrder, y: MutablePlaneBytes, u: MutablePlaneBytes,
    v: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, fromStride) = unsafe source.checked(4 * half(width), height)
    let (toY, strideY) = unsafe y.checked(width, height)
    let (toU, strideU) = unsafe u.checked(half(width), height)
    let (toV, strideV) = unsafe v.checked(half(width), height)
    let convert = unsafe order == .yuyv ? YUY2ToI422 : UYVYToI422
    succeeded(
      unsafe convert(
        from, fromStride, toY, strideY, toU, strideU, toV, strideV, Int32(width), Int32(height)))
  }

  /// Luma of packed 4:2:2.
  ///
  /// The corresponding C functions are `YUY2ToY` and `UYVYToY`.
  public static func unpackLuma(
    _ source: PlaneBytes, _ order: PackedOrder, y: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from, fromStride) = unsafe source.checked(4 * half(width), height)
    let (toY, strideY) = unsafe y.checked(width, height)
    let convert = unsafe order == .yuyv ? YUY2ToY : UYVYToY
    succeeded(unsafe convert(from, fromStride, toY, strideY, Int32(width), Int32(height)))
  }

  /// Three planes of 4:2:2 into packed 4:2:2.
  ///
  /// The corresponding C functions are `I422ToYUY2` and `I422ToUYVY`.
  public static func pack422(
    y: PlaneBytes, u: PlaneBytes, v: PlaneBytes, to target: MutablePlaneBytes, _ order: PackedOrder,
    width: Int, height: Int
  ) {
    let (fromY, strideY) = unsafe y.checked(width, height)
    let (fromU, strideU) = unsafe u.checked(half(width), height)
    let (fromV, strideV) = unsafe v.checked(half(width), height)
    let (to, toStride) = unsafe target.checked(4 * half(width), height)
    let convert = unsafe order == .yuyv ? I422ToYUY2 : I422ToUYVY
    succeeded(
      unsafe convert(
        fromY, strideY, fromU, strideU, fromV, strideV, to, toStride, Int32(width), Int32(height)))
  }
}
