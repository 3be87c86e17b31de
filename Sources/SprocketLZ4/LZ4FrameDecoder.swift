internal import CSprocketLZ4

/// Reads whole LZ4 frames, of any kind that the format has. Bytes may be foreign or damaged.
@safe
public struct LZ4FrameDecoder: ~Copyable {
  private let context: OpaquePointer

  /// The corresponding C function is `LZ4F_createDecompressionContext`.
  public init() {
    var made: OpaquePointer?
    let result = unsafe LZ4F_createDecompressionContext(&made, UInt32(LZ4F_VERSION))
    guard LZ4F_isError(result) == 0, let made = unsafe made else {
      preconditionFailure("no memory for a few hundred bytes")
    }
    unsafe context = made
  }

  deinit { _ = unsafe LZ4F_freeDecompressionContext(context) }

  /// Writes what the frame at the start of `frame` holds into `output`; returns how many bytes.
  /// What comes behind the frame is left alone. The library allocates when blocks are larger than
  /// ever before. The corresponding C function is `LZ4F_decompress`.
  public mutating func decode(
    _ frame: Span<UInt8>, into output: inout MutableSpan<UInt8>
  ) throws(LZ4Error) -> Int {
    unsafe LZ4F_resetDecompressionContext(context)
    var taken = 0
    var made = 0
    while true {
      var room = output.count - made
      var rest = frame.count - taken
      let hint = unsafe output.withUnsafeMutableBytes { target in
        unsafe frame.withUnsafeBytes { source in
          unsafe LZ4F_decompress(
            context, target.baseAddress.map { unsafe $0 + made }, &room,
            source.baseAddress.map { unsafe $0 + taken }, &rest, nil)
        }
      }
      if LZ4F_isError(hint) != 0 { throw .damaged }
      made += room
      taken += rest
      if hint == 0 { return made }
      if room == 0, rest == 0 { throw taken == frame.count ? .truncated : .tooLarge }
    }
  }
}
