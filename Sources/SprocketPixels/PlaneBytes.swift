/// Rows of bytes that are read: where they are, how much memory there is, how far apart they are.
/// It owns nothing; the memory must outlive the call that it is given to.
@safe
public struct PlaneBytes {
  /// The first byte of the first row.
  package let base: UnsafePointer<UInt8>
  /// The memory that may be read, in bytes.
  package let byteCount: Int
  /// From the start of a row to the start of the next, in bytes.
  package let stride: Int

  /// Traps if the memory is empty.
  public init(_ memory: UnsafeBufferPointer<UInt8>, stride: Int) {
    guard let base = memory.baseAddress else {
      preconditionFailure("a plane needs memory; this one has none")
    }
    unsafe self.base = unsafe base
    byteCount = memory.count
    self.stride = stride
  }

  /// Reads what `plane` would write.
  public init(_ plane: MutablePlaneBytes) {
    unsafe base = unsafe UnsafePointer(plane.base)
    byteCount = plane.byteCount
    stride = plane.stride
  }

  /// Traps unless there are `height` rows of `width` bytes; returns what the library wants.
  package func checked(_ width: Int, _ height: Int) -> (UnsafePointer<UInt8>, Int32) {
    check(width, height, stride: stride, byteCount: byteCount)
    return unsafe (base, Int32(stride))
  }

  /// Calls `body` with each row of `width` bytes and its number.
  package func forEachRow(width: Int, height: Int, _ body: (Span<UInt8>, Int) -> Void) {
    check(width, height, stride: stride, byteCount: byteCount)
    for row in 0..<height {
      unsafe body(Span(_unsafeStart: base + row * stride, count: width), row)
    }
  }
}

/// Rows of bytes that are written. See ``PlaneBytes``.
@safe
public struct MutablePlaneBytes {
  /// The first byte of the first row.
  package let base: UnsafeMutablePointer<UInt8>
  /// The memory that may be written, in bytes.
  package let byteCount: Int
  /// From the start of a row to the start of the next, in bytes.
  package let stride: Int

  /// Traps if the memory is empty.
  public init(_ memory: UnsafeMutableBufferPointer<UInt8>, stride: Int) {
    guard let base = memory.baseAddress else {
      preconditionFailure("a plane needs memory; this one has none")
    }
    unsafe self.base = unsafe base
    byteCount = memory.count
    self.stride = stride
  }

  private init(_ base: UnsafeMutablePointer<UInt8>, byteCount: Int, stride: Int) {
    unsafe self.base = unsafe base
    self.byteCount = byteCount
    self.stride = stride
  }

  /// Every other row, starting with the first or the second. Traps if the plane has no second row.
  package func field(startsAtSecondRow: Bool) -> MutablePlaneBytes {
    let start = startsAtSecondRow ? stride : 0
    precondition(start < byteCount, "a plane of one row has no second field")
    return unsafe MutablePlaneBytes(base + start, byteCount: byteCount - start, stride: 2 * stride)
  }

  /// Traps unless there are `height` rows of `width` bytes; returns what the library wants.
  package func checked(_ width: Int, _ height: Int) -> (UnsafeMutablePointer<UInt8>, Int32) {
    check(width, height, stride: stride, byteCount: byteCount)
    return unsafe (base, Int32(stride))
  }
}

/// Traps unless memory holds `height` rows of `width` bytes.
private func check(_ width: Int, _ height: Int, stride: Int, byteCount: Int) {
  precondition(
    width > 0 && height > 0, "a plane has at least one row of one byte, not \(width)x\(height)")
  precondition(
    stride >= width && stride <= Int(Int32.max) && byteCount >= stride * (height - 1) + width,
    "\(byteCount) bytes with stride \(stride) are too few for \(height) rows of \(width) bytes")
}

/// Copies a row. Both rows have the same length.
package func copyRow(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(source.count == target.count, "a row is copied into one of its length")
  for index in 0..<source.count { target[index] = source[index] }
}
