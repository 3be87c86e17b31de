/// A plane of 8-bit samples that is read: where it is, how much memory it has, how far apart its rows
/// are. It owns nothing; the memory must outlive the call that it is given to.
@safe
public struct JPEGPlane {
  /// The first sample of the first row.
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

  /// Calls `body` with each row of `width` samples and its number.
  public func copy(width: Int, height: Int, _ body: (Span<UInt8>, Int) -> Void) {
    checkPlane("copied", stride: stride, byteCount: byteCount, width: width, height: height)
    for row in 0..<height {
      unsafe body(Span(_unsafeStart: base + row * stride, count: width), row)
    }
  }
}

/// A plane of 8-bit samples that is written. See ``JPEGPlane``.
@safe
public struct MutableJPEGPlane {
  /// The first sample of the first row.
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

  private init(_ base: UnsafeMutablePointer<UInt8>, byteCount: Int, stride: Int) {
    unsafe self.base = unsafe base
    self.byteCount = byteCount
    self.stride = stride
  }

  /// Every other row: from the first, or from the second. Traps in a plane that has no second row.
  public func field(startsAtSecondRow: Bool) -> MutableJPEGPlane {
    let start = startsAtSecondRow ? stride : 0
    precondition(start < byteCount, "a plane of one row has no second field")
    return unsafe MutableJPEGPlane(base + start, byteCount: byteCount - start, stride: 2 * stride)
  }
}

/// Traps unless a plane's memory holds `height` rows of `width` samples.
func checkPlane(_ name: StaticString, stride: Int, byteCount: Int, width: Int, height: Int) {
  precondition(
    stride >= width && byteCount >= stride * (height - 1) + width,
    "the \(name) plane of \(byteCount) bytes with stride \(stride) is too small for \(width)x\(height)"
      + "; see JPEGSubsampling.planeWidth")
}
