internal import SprocketDeflate
internal import SprocketLZ4

// What comes behind a chunk's messages: its record's header, and the index of each channel.

extension MCAPChunk {
  /// Ends the record and appends the index of its messages. Returns how long the chunk's record is,
  /// and the LZ4 frame in it.
  mutating func close() -> (record: Int, frame: Int) {
    closeFrame()
    let length = record.count
    let frame = length - Self.headerSize
    writeHeaders(frame: frame)
    var rest = entries.count
    // Channels in the order of their ids: the writer's index of the chunk has them so.
    var channel: UInt16 = 0
    while rest > 0 {
      let count = count(of: channel)
      if count > 0 { appendIndex(of: channel, count) }
      rest -= count
      channel &+= 1
    }
    return (length, frame)
  }

  /// How many messages are on that channel.
  func count(of channel: UInt16) -> Int {
    // By index: an array's iterator allocates in a debug build.
    var count = 0
    for index in entries.indices where entries[index].channel == channel { count += 1 }
    return count
  }

  /// Bytes of the record that indexes so many messages.
  static func indexSize(of count: Int) -> Int {
    MCAPFormat.recordHeaderSize + 2 + 4 + 16 * count
  }

  private mutating func appendIndex(of channel: UInt16, _ count: Int) {
    let start = record.beginRecord(MCAPOpcode.messageIndex)
    record.append(channel)
    record.append(UInt32(16 * count))
    for index in entries.indices where entries[index].channel == channel {
      record.append(entries[index].logTime)
      record.append(entries[index].offset)
    }
    record.endRecord(start)
  }

  private mutating func writeHeaders(frame: Int) {
    let content = contentCount
    Self.write(&frameHeader, content, at: Self.headerSize, in: &record)
    record.overwrite(MCAPOpcode.chunk, at: 0)
    record.overwrite(UInt64(record.count - MCAPFormat.recordHeaderSize), at: 1)
    var place = MCAPFormat.recordHeaderSize
    func next<Number: FixedWidthInteger & BitwiseCopyable>(
      _ number: Number, _ record: inout MCAPBytes
    ) {
      record.overwrite(number, at: place)
      place += MemoryLayout<Number>.size
    }
    next(startTime, &record)
    next(endTime, &record)
    next(UInt64(content), &record)
    next(checksum.value, &record)
    next(UInt32(Self.compression.count), &record)
    for byte in Self.compression { next(byte, &record) }
    next(UInt64(frame), &record)
  }

  private static func write(
    _ header: inout LZ4FrameHeader, _ content: Int, at offset: Int, in record: inout MCAPBytes
  ) {
    record.overwrite(at: offset, LZ4FrameHeader.size) { room in
      header.write(contentSize: content, into: &room)
    }
  }
}
