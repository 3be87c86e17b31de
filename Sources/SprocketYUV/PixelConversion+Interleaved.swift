internal import CSprocketYUV
public import SprocketPixels

// Semi-planar formats: a plane of luma, and one in which U and V take turns. For NV12 U comes first, for
// NV21 V does: exchange `u` and `v` where these functions are called, as for YV12 against I420.

extension PixelConversion {
  /// An interleaved chroma plane into two: NV12's second plane, of `width` by `height` pairs.
  ///
  /// The corresponding C function is `SplitUVPlane`.
  public static func split(
    _ source: PlaneBytes, first: MutablePlaneBytes, second: MutablePlaneBytes, width: Int,
    height: Int
  ) {
    let (from, fromStride) = unsafe source.checked(2 * width, height)
    let (to1, stride1) = unsafe first.checked(width, height)
    let (to2, stride2) = unsafe second.checked(width, height)
    unsafe SplitUVPlane(
      from, fromStride, to1, stride1, to2, stride2, Int32(width), Int32(height))
  }

  /// Two chroma planes of `width` by `height` into an interleaved one.
  ///
  /// The corresponding C function is `MergeUVPlane`.
  public static func merge(
    first: PlaneBytes, second: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let (from1, stride1) = unsafe first.checked(width, height)
    let (from2, stride2) = unsafe second.checked(width, height)
    let (to, toStride) = unsafe target.checked(2 * width, height)
    unsafe MergeUVPlane(
      from1, stride1, from2, stride2, to, toStride, Int32(width), Int32(height))
  }
}
