// Pixel formats are part of this module's interface.

@_exported public import SprocketPixels

extension PixelFormat {
  /// Size of one plane of a `width` by `height` frame: bytes per row without padding, and rows.
  /// An encoded frame has no rows to speak of: zero.
  public func plane(_ index: Int, width: Int, height: Int) -> (bytesPerRow: Int, rows: Int) {
    contract(
      index >= 0 && index < planeCount,
      "asks for the size of plane \(index) of \(fourcc); its planes are 0 to \(planeCount - 1)")
    return planeSize(index, width: width, height: height)
  }
}
