internal import CSprocketYUV
public import SprocketPixels

/// Conversions of pixels between layouts in memory.
///
/// Sizes are in pixels of the image; a chroma plane of 4:2:0 or 4:2:2 has half as many columns (and, for
/// 4:2:0, rows), rounded up. Source and target must not overlap unless it says so. All are exact
/// rearrangements of bytes but for those that state a formula. The library picks the processor's widest
/// vectors at run time.
public enum PixelConversion {
  /// Copies rows of bytes.
  ///
  /// The corresponding C function is `CopyPlane`.
  public static func copy(
    _ source: PlaneBytes, to target: MutablePlaneBytes, bytesPerRow: Int, rows: Int
  ) {
    let (from, fromStride) = unsafe source.checked(bytesPerRow, rows)
    let (to, toStride) = unsafe target.checked(bytesPerRow, rows)
    unsafe CopyPlane(from, fromStride, to, toStride, Int32(bytesPerRow), Int32(rows))
  }

  /// Repeats the last column and row of a plane of `width` by `height` up to `paddedWidth` by
  /// `paddedHeight`, as a codec wants planes of odd sizes.
  public static func repeatEdges(
    _ plane: MutablePlaneBytes, width: Int, height: Int, paddedWidth: Int, paddedHeight: Int
  ) {
    precondition(paddedWidth >= width && paddedHeight >= height, "padding makes a plane larger")
    let (base, _) = unsafe plane.checked(paddedWidth, paddedHeight)
    for row in 0..<height {
      let start = unsafe base + row * plane.stride
      for column in width..<paddedWidth { unsafe start[column] = unsafe start[width - 1] }
    }
    for row in height..<paddedHeight {
      unsafe (base + row * plane.stride).update(
        from: base + (height - 1) * plane.stride, count: paddedWidth)
    }
  }
}

/// Half of `side`, rounded up: a side of a subsampled plane.
func half(_ side: Int) -> Int { (side + 1) / 2 }

/// Traps unless a conversion succeeded. Its arguments have been checked, so it can fail only if the library
/// has no memory for a row.
func succeeded(_ result: Int32) {
  precondition(result == 0, "libyuv refused a conversion; free some memory")
}
