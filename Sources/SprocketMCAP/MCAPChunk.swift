internal import SprocketDeflate
internal import SprocketLZ4

/// A chunk that is being filled: messages, and the index of them, as they will lie in the file.
///
/// A chunk is one LZ4 frame of independent blocks. (Python's `lz4` reads the first of several frames
/// only.) Messages come packed by `MCAPMessagePacker`, whose blocks are copied as they are; or as
/// bytes that are stored, for what has been compressed before; or as bytes that are gathered and
/// compressed here, for small ones.
///
/// Memory grows to the largest chunk and is kept: once it has, nothing is allocated.
@safe
public struct MCAPChunk: ~Copyable {
  /// What is told of a chunk besides its messages' own size.
  static let compression = Array("lz4".utf8)
  /// The chunk's record up to its LZ4 frame: times, size, checksum, compression, length.
  static let headerSize = MCAPFormat.recordHeaderSize + 8 + 8 + 8 + 4 + 4 + compression.count + 8

  struct Entry {
    var channel: UInt16
    var logTime: UInt64
    var offset: UInt64
  }

  /// The record from its start.
  var record: MCAPBytes
  /// Gathered, and not yet a block.
  private var gathered = MCAPBytes(capacity: LZ4BlockCompressor.blockSize)
  var entries: [Entry] = []
  private var compressor = LZ4BlockCompressor()
  var frameHeader = LZ4FrameHeader()
  /// Of what the blocks hold.
  private(set) var checksum = CRC32()
  public private(set) var startTime: UInt64 = 0
  public private(set) var endTime: UInt64 = 0

  /// `capacity` is what it will probably hold, in bytes; more is allowed.
  public init(capacity: Int) {
    record = MCAPBytes(
      capacity: Self.headerSize + LZ4FrameHeader.size + LZ4BlockCompressor.capacity(of: capacity)
        + 4096)
    reset()
  }

  public var isEmpty: Bool { entries.isEmpty }
  public var messageCount: Int { entries.count }
  /// Bytes of its messages' records, before compression.
  public var contentCount: Int { Int(checksum.count) + gathered.count }

  /// Empties it.
  public mutating func reset() {
    record.removeAll()
    record.fill(Self.headerSize + LZ4FrameHeader.size) { room in
      for index in 0..<Self.headerSize + LZ4FrameHeader.size { room[index] = 0 }
      return Self.headerSize + LZ4FrameHeader.size
    }
    gathered.removeAll()
    entries.removeAll(keepingCapacity: true)
    checksum = CRC32()
    startTime = 0
    endTime = 0
  }

  /// Adds a message that `MCAPMessagePacker` made.
  public mutating func add(_ message: MCAPMessage, packed: Span<UInt8>) {
    precondition(packed.count > MCAPMessagePacker.preambleSize, "a packed message has a preamble")
    compressGathered()
    note(message)
    var count: UInt64 = 0
    for index in 0..<8 { count |= UInt64(packed[index]) << UInt64(8 * index) }
    var value: UInt32 = 0
    for index in 0..<4 { value |= UInt32(packed[8 + index]) << UInt32(8 * index) }
    checksum.append(CRC32(value: value, count: count))
    record.append(packed.extracting(MCAPMessagePacker.preambleSize..<packed.count))
  }

  /// Adds a message whose data are `start` and `rest`, and stores it as it is.
  public mutating func add(_ message: MCAPMessage, storing start: Span<UInt8>, _ rest: Span<UInt8>)
  {
    compressGathered()
    note(message)
    gathered.append(message, dataCount: start.count + rest.count)
    gathered.append(start)
    let size = LZ4BlockCompressor.blockSize
    var done = min(rest.count, max(size - gathered.count, 0))
    gathered.append(rest.extracting(0..<done))
    store(unsafe Span(_unsafeElements: gathered.elements))
    gathered.removeAll()
    while done < rest.count {
      let end = min(done + size, rest.count)
      store(rest.extracting(done..<end))
      done = end
    }
  }

  /// Adds a message to be compressed with others.
  public mutating func add(_ message: MCAPMessage, gathering data: Span<UInt8>) {
    let size = LZ4BlockCompressor.blockSize
    if gathered.count + MCAPMessage.overhead > size { compressGathered() }
    note(message)
    gathered.append(message, dataCount: data.count)
    var done = 0
    while true {
      let end = min(done + size - gathered.count, data.count)
      gathered.append(data.extracting(done..<end))
      done = end
      if done == data.count { return }
      compressGathered()
    }
  }

  /// Closes the LZ4 frame, so that what is in the chunk is complete.
  mutating func closeFrame() {
    compressGathered()
    record.append(LZ4FrameHeader.endMark)
  }

  private mutating func note(_ message: MCAPMessage) {
    startTime = entries.isEmpty ? message.logTime : min(startTime, message.logTime)
    endTime = max(endTime, message.logTime)
    entries.append(
      Entry(channel: message.channel, logTime: message.logTime, offset: UInt64(contentCount)))
  }

  private mutating func compressGathered() {
    if gathered.isEmpty { return }
    let content = unsafe Span(_unsafeElements: gathered.elements)
    checksum.update(content)
    Self.compress(content, &compressor, to: &record)
    gathered.removeAll()
  }

  private static func compress(
    _ content: Span<UInt8>, _ compressor: inout LZ4BlockCompressor, to record: inout MCAPBytes
  ) {
    record.fill(LZ4BlockCompressor.capacity(of: content.count)) { room in
      compressor.compress(content, into: &room, at: 0)
    }
  }

  private mutating func store(_ content: Span<UInt8>) {
    checksum.update(content)
    record.append(LZ4BlockCompressor.storedHeader(content.count))
    record.append(content)
  }
}
