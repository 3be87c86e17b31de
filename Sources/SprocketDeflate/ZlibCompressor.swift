internal import CSprocketDeflate

/// Compresses bytes into zlib's format (RFC 1950), each call by itself.
///
/// One compressor serves one thread.
@safe
public struct ZlibCompressor: ~Copyable {
  private let handle: OpaquePointer

  /// `level` is 0 to 12: 1 is the fastest, 6 zlib's usual. `nil` where there is no memory.
  ///
  /// The corresponding C function is `libdeflate_alloc_compressor`.
  public init?(level: Int32) {
    guard let handle = unsafe libdeflate_alloc_compressor(level) else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe libdeflate_free_compressor(handle) }

  /// The most bytes that `count` bytes take.
  ///
  /// The corresponding C function is `libdeflate_zlib_compress_bound`.
  public static func mostBytes(for count: Int) -> Int {
    libdeflate_zlib_compress_bound(nil, count)
  }

  /// Returns the number of bytes written; `nil` where `output` has not enough room.
  ///
  /// The corresponding C function is `libdeflate_zlib_compress`.
  public func compress(_ bytes: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Int? {
    let count = unsafe bytes.withUnsafeBufferPointer { source in
      unsafe output.withUnsafeMutableBufferPointer { target in
        unsafe libdeflate_zlib_compress(
          handle, source.baseAddress, source.count, target.baseAddress, target.count)
      }
    }
    return count > 0 ? count : nil
  }
}
