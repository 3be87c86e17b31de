internal import CSprocketZstd

/// Reads Zstandard frames (RFC 8878). Bytes may be foreign or damaged.
@safe
public struct ZstdDecoder: ~Copyable {
  private let context: OpaquePointer

  /// The corresponding C function is `ZSTD_createDCtx`.
  public init() {
    guard let context = unsafe ZSTD_createDCtx() else {
      preconditionFailure("no memory for 100 KB")
    }
    unsafe self.context = context
  }

  deinit { _ = unsafe ZSTD_freeDCtx(context) }

  /// Writes what all frames in `frames` hold into `output`; returns how many bytes, or `nil` where they
  /// are damaged or hold more. The corresponding C function is `ZSTD_decompressDCtx`.
  public mutating func decode(
    _ frames: Span<UInt8>, into output: inout MutableSpan<UInt8>
  ) -> Int? {
    let result = unsafe output.withUnsafeMutableBytes { target in
      unsafe frames.withUnsafeBytes { source in
        unsafe ZSTD_decompressDCtx(
          context, target.baseAddress, target.count, source.baseAddress, source.count)
      }
    }
    return ZSTD_isError(result) != 0 ? nil : Int(result)
  }
}
