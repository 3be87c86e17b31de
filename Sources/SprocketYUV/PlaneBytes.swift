/// Rows of bytes that are read: where they are, how much memory there is, how far apart they are.
/// It owns nothing; the memory must outlive the call that it is given to.
@safe
public struct PlaneBytes {
  /// The first byte of the first row.
  let base: UnsafePointer<UInt8>
  /// The memory that may be read, in bytes.
  let byteCount: Int
  /// From the start of a row to the start of the next, in bytes.
  let stride: Int

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
  func checked(_ width: Int, _ height: Int) -> (UnsafePointer<UInt8>, Int32) {
    check(width, height, stride: stride, byteCount: byteCount)
    return unsafe (base, Int32(stride))
  }
}

/// Rows of bytes that are written. See ``PlaneBytes``.
@safe
public struct MutablePlaneBytes {
  /// The first byte of the first row.
  let base: UnsafeMutablePointer<UInt8>
  /// The memory that may be written, in bytes.
  let byteCount: Int
  /// From the start of a row to the start of the next, in bytes.
  let stride: Int

  /// Traps if the memory is empty.
  public init(_ memory: UnsafeMutableBufferPointer<UInt8>, stride: Int) {
    guard let base = memory.baseAddress else {
      preconditionFailure("a plane needs memory; this one has none")
    }
    unsafe self.base = unsafe base
    byteCount = memory.count
    self.stride = stride
  }

  /// Traps unless there are `height` rows of `width` bytes; returns what the library wants.
  func checked(_ width: Int, _ height: Int) -> (UnsafeMutablePointer<UInt8>, Int32) {
    check(width, height, stride: stride, byteCount: byteCount)
    return unsafe (base, Int32(stride))
  }
}

/// Traps unless memory holds `height` rows of `width` bytes.
private func check(_ width: Int, _ height: Int, stride: Int, byteCount: Int) {
  precondition(width > 0 && height > 0, "an image of \(width)x\(height) bytes cannot be converted")
  precondition(
    stride >= width && stride <= Int(Int32.max) && byteCount >= stride * (height - 1) + width,
    "\(byteCount) bytes with stride \(stride) are too few for \(height) rows of \(width) bytes")
}

/// Traps unless a conversion succeeded: its arguments have been checked, so that nothing but the
/// library's lack of memory for a row is left.
func succeeded(_ result: Int32) {
  precondition(result == 0, "libyuv refused a conversion; free some memory")
}
