internal import SprocketDeflate
internal import SprocketLZ4

/// Compresses one message ahead of its turn: several threads make blocks, each with a packer of its
/// own, and `MCAPChunk` strings them together.
///
/// What is packed is the message's whole record. It lies in the caller's memory: its length and
/// checksum before compression, then blocks of an LZ4 frame. Content is read once, block by block, by
/// the checksum and by the compressor while it is still in the core's cache. After the first message
/// nothing is allocated.
@safe
public struct MCAPMessagePacker: ~Copyable {
  /// Length, 64 bits, and checksum, 32, and as many to align.
  static let preambleSize = 16

  private var compressor = LZ4BlockCompressor()
  /// What is not yet a block.
  private var rest = MCAPBytes(capacity: LZ4BlockCompressor.blockSize)
  private var checksum = CRC32()
  private var used = 0

  public init() {}

  /// The room that a message with so many bytes of data takes at worst.
  public static func capacity(dataCount: Int) -> Int {
    preambleSize + LZ4BlockCompressor.capacity(of: MCAPMessage.overhead + dataCount)
      // A large part may follow a small one, so that one more block is cut short.
      + LZ4BlockCompressor.headerSize
  }

  /// Begins a message whose parts will have `dataCount` bytes in all.
  public mutating func begin(_ message: MCAPMessage, dataCount: Int) {
    rest.removeAll()
    rest.append(message, dataCount: dataCount)
    checksum = CRC32()
    used = Self.preambleSize
  }

  /// Adds the next part of the message's data.
  public mutating func append(_ part: Span<UInt8>, to bytes: inout MutableSpan<UInt8>) {
    let size = LZ4BlockCompressor.blockSize
    var start = 0
    if !rest.isEmpty {
      start = min(part.count, size - rest.count)
      rest.append(part.extracting(0..<start))
      if rest.count == size { compressRest(to: &bytes) }
    }
    while part.count - start >= size {
      compress(part.extracting(start..<start + size), to: &bytes)
      start += size
    }
    if start < part.count { rest.append(part.extracting(start..<part.count)) }
  }

  /// Ends the message; returns how many of `bytes` are used.
  public mutating func end(_ bytes: inout MutableSpan<UInt8>) -> Int {
    if !rest.isEmpty { compressRest(to: &bytes) }
    for index in 0..<8 {
      bytes[index] = UInt8(truncatingIfNeeded: checksum.count >> UInt64(8 * index))
    }
    for index in 0..<4 {
      bytes[8 + index] = UInt8(truncatingIfNeeded: checksum.value >> UInt32(8 * index))
    }
    for index in 12..<Self.preambleSize { bytes[index] = 0 }
    return used
  }

  private mutating func compress(_ content: Span<UInt8>, to bytes: inout MutableSpan<UInt8>) {
    checksum.update(content)
    used = compressor.compress(content, into: &bytes, at: used)
  }

  private mutating func compressRest(to bytes: inout MutableSpan<UInt8>) {
    compress(unsafe Span(_unsafeElements: rest.elements), to: &bytes)
    rest.removeAll()
  }
}
