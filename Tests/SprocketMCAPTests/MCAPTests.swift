import SprocketMCAP
import TestExpectations
import TestSupport
import Testing

@Suite struct MCAPTests {
  @Test func whatIsWrittenIsRead() throws {
    let recording = try TestRecording()
    let found = try read(recording.bytes)
    expectTrue(found.isComplete)
    expectEqual(found.messages.map(\.logTime), recording.messages.map(\.logTime))
    let isSame = found.messages == recording.messages
    expectTrue(isSame)
  }

  @Test func messagesAreFoundByTheIndex() throws {
    let recording = try TestRecording()
    let file = try TestFile(recording.bytes, ending: "mcap")
    var reader = try MCAPReader.open(file.path)
    let (topics, schema) = (Set(reader.channels.values.map(\.topic)), reader.schemas[1])
    expectEqual(topics, ["small", "large", "stored"])
    expectEqual(schema?.data, Array("{}".utf8))
    var found: [SeenMessage] = []
    for chunk in reader.chunks.indices {
      let mayHold = reader.chunks[chunk].mayHold([9])
      expectFalse(mayHold)
      var places: [MCAPMessagePlace] = []
      try reader.places(of: [3], in: chunk, to: &places)
      try reader.load(chunk)
      for place in places {
        let isThere = reader.withMessage(at: place) { found.append(SeenMessage($0, $1)) }
        expectTrue(isThere)
      }
    }
    let isSame = found == recording.messages.filter { $0.channel == 3 }
    expectTrue(isSame)
  }

  @Test func aFileThatIsCutOffIsReadToItsLastWholeChunk() throws {
    let recording = try TestRecording(chunkCount: 3, packedSize: 5000, storedSize: 9000)
    // Header, schema and three channels are five writes; then a write per chunk.
    let chunkEnds = Array(recording.ends[5..<8])
    for cut in stride(from: 1, to: recording.bytes.count, by: 131) {
      let whole = chunkEnds.prefix { $0 <= cut }.count
      let expected = whole == 0 ? 0 : recording.counts[whole - 1]
      guard let found = try? read(Array(recording.bytes[..<cut])) else {
        // Not even the magic bytes.
        expectLess(cut, 8)
        continue
      }
      // A chunk is whole before its index is.
      expectTrue(found.messages.count == expected || found.messages.count == expected + 7)
      expectEqual(found.messages, Array(recording.messages[..<found.messages.count]))
    }
    try expectFalse(read(Array(recording.bytes.dropLast(40))).isComplete)
  }

  @Test func aFailedWriteLeavesWholeRecords() throws {
    var writer = MCAPWriter(output: MemoryFile())
    try writer.begin(library: "tests")
    try writer.add(MCAPChannel(id: 1, schema: 0, topic: "a", encoding: "raw"))
    var chunk = MCAPChunk(capacity: 1000)
    let data = TestPattern.random.bytes(1000)
    chunk.add(MCAPMessage(channel: 1, sequence: 0, logTime: 9), gathering: data.span)
    try writer.write(&chunk)
    let isEmptied = chunk.isEmpty
    expectTrue(isEmptied)
    let offset = writer.offset
    writer.output.limit = Int(offset) + 100
    chunk.add(MCAPMessage(channel: 1, sequence: 1, logTime: 10), gathering: data.span)
    #expect(throws: MemoryFile.Full.self) { try writer.write(&chunk) }
    let (end, written) = (writer.offset, writer.output.bytes.count)
    expectEqual(end, offset)
    expectEqual(written, Int(offset))
  }

  @Test func damageNeverTraps() throws {
    let recording = try TestRecording(chunkCount: 2, packedSize: 3000, storedSize: 2000)
    var random = TestRandom(seed: 11)
    for _ in 0..<1500 {
      var damaged = recording.bytes
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        // Mostly where structure is: near the start, the chunks' heads and the end.
        let near = [0, recording.ends[4], recording.ends[5], recording.ends[6]].randomElement(
          using: &random)!
        let place =
          Bool.random(using: &random)
          ? near + Int.random(in: 0..<80, using: &random)
          : Int.random(in: 0..<damaged.count, using: &random)
        damaged[min(place, damaged.count - 1)] = .random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) {
        damaged.removeLast(Int.random(in: 0..<damaged.count, using: &random))
      }
      _ = try? read(damaged)
    }
  }

  @Test func aDamagedChunkIsFoundOutByItsChecksum() throws {
    let recording = try TestRecording(chunkCount: 2, packedSize: 3000)
    var damaged = recording.bytes
    // In bytes that are stored, where LZ4 itself would not notice.
    damaged[recording.ends[6] - 1000] ^= 1
    let found = try read(damaged)
    expectEqual(found.messages.count, recording.counts[0])
  }

  @Test func whatIsNoFileOfTheKindIsSaidSo() throws {
    let text = try TestFile(Array("no MCAP file at all".utf8))
    for path in [text.path, "/nonexistent/a.mcap", "/tmp", "/dev/null"] {
      let error = #expect(throws: MCAPError.self) { _ = try MCAPReader.open(path) }
      expectEqual(error?.description.contains(path), true)
    }
  }

  @Test func pythonReadsTheSame() throws {
    let recording = try TestRecording()
    let file = try TestFile(recording.bytes, ending: "mcap")
    let program = """
      import sys, zlib
      from mcap.reader import make_reader
      from mcap.stream_reader import StreamReader
      from mcap.records import Message
      with open(sys.argv[1], "rb") as f:
        for record in StreamReader(f, validate_crcs=True).records:
          if isinstance(record, Message):
            print(record.channel_id, record.sequence, record.log_time, zlib.crc32(record.data))
      with open(sys.argv[1], "rb") as f:
        s = make_reader(f).get_summary().statistics
        print(s.message_count, s.schema_count, s.channel_count, s.chunk_count,
              s.message_start_time, s.message_end_time, sorted(s.channel_message_counts.items()))
      """
    let printed = String(
      decoding: try Tool.run("python3", ["-c", program, file.path]), as: UTF8.self)
    let lines = recording.messages.map {
      "\($0.channel) \($0.sequence) \($0.logTime) \(zlibChecksum($0.data))\n"
    }
    let summary = "28 1 3 4 5 27000005 [(1, 20), (2, 4), (3, 4)]\n"
    let isSame = printed == lines.joined() + summary
    expectTrue(isSame)
  }
}

/// CRC-32 bit by bit (RFC 1952, section 8).
func zlibChecksum(_ bytes: [UInt8]) -> UInt32 {
  var table = [UInt32](repeating: 0, count: 256)
  for index in 0..<256 {
    table[index] = (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
    }
  }
  return ~bytes.reduce(0xFFFF_FFFF) { $0 >> 8 ^ table[Int(($0 ^ UInt32($1)) & 0xFF)] }
}
