internal import CSprocketLZ4

/// Writes what comes before the blocks of a frame, and behind them.
@safe
public struct LZ4FrameHeader: ~Copyable {
  /// Magic number, two bytes of flags, eight of content size, one of checksum.
  public static let size = 15
  /// Four zeros end a frame.
  public static let endMark: UInt32 = 0

  private let context: OpaquePointer

  /// The corresponding C function is `LZ4F_createCompressionContext`.
  public init() {
    var made: OpaquePointer?
    let result = unsafe LZ4F_createCompressionContext(&made, UInt32(LZ4F_VERSION))
    guard LZ4F_isError(result) == 0, let made = unsafe made else {
      preconditionFailure("no memory for a few hundred bytes")
    }
    unsafe context = made
  }

  deinit { _ = unsafe LZ4F_freeCompressionContext(context) }

  /// Writes the header of a frame of independent blocks, of 256 KiB at most and without checksums,
  /// into the first `size` bytes of `output`. `contentSize` is what the blocks hold, above 0.
  /// Allocates when first called. The corresponding C function is `LZ4F_compressBegin`.
  public mutating func write(contentSize: Int, into output: inout MutableSpan<UInt8>) {
    precondition(contentSize > 0, "a frame that tells its size holds something")
    var preferences = LZ4F_preferences_t()
    preferences.frameInfo.blockSizeID = LZ4F_max256KB
    preferences.frameInfo.blockMode = LZ4F_blockIndependent
    preferences.frameInfo.contentSize = UInt64(contentSize)
    // Nothing will be compressed with this context, so it needs no buffer.
    preferences.autoFlush = 1
    var header: InlineArray<19, UInt8> = .init(repeating: 0)
    var bytes = header.mutableSpan
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe LZ4F_compressBegin(context, $0.baseAddress, $0.count, &preferences)
    }
    precondition(count == Self.size, "liblz4 wrote a header of another size")
    for index in 0..<Self.size { output[index] = header[index] }
  }
}
