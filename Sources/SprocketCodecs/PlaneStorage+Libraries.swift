internal import SprocketCore
internal import SprocketPixels

/// Planes as the wrappers of libraries want them. They check that rows lie within memory.
extension PlaneStorage {
  /// From the first to the last byte.
  private var byteCount: Int { unsafe stride * (rows - 1) + bytesPerRow }

  var source: PlaneBytes {
    unsafe PlaneBytes(UnsafeBufferPointer(start: base, count: byteCount), stride: stride)
  }

  var target: MutablePlaneBytes {
    unsafe MutablePlaneBytes(
      UnsafeMutableBufferPointer(start: base, count: byteCount), stride: stride)
  }

  /// A plane of the slot's own memory, with its two spare rows (see `VersionStorage`).
  var paddedTarget: MutablePlaneBytes {
    unsafe MutablePlaneBytes(
      UnsafeMutableBufferPointer(start: base, count: stride * (rows + 2)), stride: stride)
  }

  /// The rectangle that begins `column` bytes and `row` rows into this plane.
  func part(column: Int, row: Int, bytesPerRow: Int, rows: Int) -> PlaneStorage {
    unsafe PlaneStorage(
      base: base + row * stride + column, stride: stride, bytesPerRow: bytesPerRow, rows: rows)
  }

  /// Whether it holds a plane of that size.
  func holds(_ size: (bytesPerRow: Int, rows: Int)) -> Bool {
    unsafe bytesPerRow >= size.bytesPerRow && rows >= size.rows && stride >= size.bytesPerRow
  }
}
