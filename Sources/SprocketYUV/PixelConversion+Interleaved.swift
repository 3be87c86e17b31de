internal import CSprocketYUV

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

  /// Two chroma planes of 4:2:2 into an interleaved one of 4:2:0, for an image of `width` by `height`
  /// pixels: each sample is the rounded mean of two that lie above each other; of an odd height, the
  /// last is taken as it is.
  public static func mergeHalved(
    first: PlaneBytes, second: PlaneBytes, to target: MutablePlaneBytes, width: Int, height: Int
  ) {
    let columns = half(width)
    let (from1, stride1) = unsafe first.checked(columns, height)
    let (from2, stride2) = unsafe second.checked(columns, height)
    let (to, toStride) = unsafe target.checked(2 * columns, half(height))
    for row in 0..<half(height) {
      let above = 2 * row
      let below = min(above + 1, height - 1)
      unsafe mergeMeans(
        from1 + above * Int(stride1), from1 + below * Int(stride1),
        from2 + above * Int(stride2), from2 + below * Int(stride2),
        to + row * Int(toStride), columns)
    }
  }
}

/// One row of ``PixelConversion/mergeHalved(first:second:to:width:height:)``.
private func mergeMeans(
  _ aboveFirst: UnsafePointer<UInt8>, _ belowFirst: UnsafePointer<UInt8>,
  _ aboveSecond: UnsafePointer<UInt8>, _ belowSecond: UnsafePointer<UInt8>,
  _ output: UnsafeMutablePointer<UInt8>, _ count: Int
) {
  for index in 0..<count {
    // At most 511: 16 bits suffice.
    let first = unsafe (UInt16(aboveFirst[index]) &+ UInt16(belowFirst[index]) &+ 1) >> 1
    let second = unsafe (UInt16(aboveSecond[index]) &+ UInt16(belowSecond[index]) &+ 1) >> 1
    unsafe output[2 &* index] = UInt8(truncatingIfNeeded: first)
    unsafe output[2 &* index &+ 1] = UInt8(truncatingIfNeeded: second)
  }
}
