import SprocketMCAP
import TestSupport

/// Takes a file's bytes, and fails after so many.
struct MemoryFile: MCAPOutput, ~Copyable {
  struct Full: Error {}

  var bytes: [UInt8] = []
  /// Where each write ended.
  var ends: [Int] = []
  var limit = Int.max

  mutating func write(_ new: Span<UInt8>) throws(Full) {
    guard bytes.count + new.count <= limit else { throw Full() }
    for index in new.indices { bytes.append(new[index]) }
    ends.append(bytes.count)
  }
}

/// A message as a test sees it.
struct SeenMessage: Hashable {
  var channel: UInt16
  var sequence: UInt32
  var logTime: UInt64
  var data: [UInt8]
}

extension SeenMessage {
  init(_ message: MCAPMessage, _ data: Span<UInt8>) {
    self.init(
      channel: message.channel, sequence: message.sequence, logTime: message.logTime,
      data: data.indices.map { data[$0] })
  }
}

/// A file with messages of all three kinds in `chunkCount` chunks.
struct TestRecording {
  var bytes: [UInt8] = []
  var ends: [Int] = []
  var messages: [SeenMessage] = []
  /// How many messages are in the file up to each chunk.
  var counts: [Int] = []

  init(
    chunkCount: Int = 4, packedSize: Int = 300_000, storedSize: Int = 150_000
  ) throws {
    var writer = MCAPWriter(output: MemoryFile())
    try writer.begin(library: "tests")
    try writer.add(MCAPSchema(id: 1, name: "a", encoding: "jsonschema", data: Array("{}".utf8)))
    try writer.add(MCAPChannel(id: 1, schema: 1, topic: "small", encoding: "json"))
    try writer.add(MCAPChannel(id: 3, schema: 0, topic: "large", encoding: "raw"))
    try writer.add(MCAPChannel(id: 2, schema: 0, topic: "stored", encoding: "raw"))
    var packer = MCAPMessagePacker()
    var chunk = MCAPChunk(capacity: 1 << 20)
    for index in 0..<chunkCount {
      for small in 0..<5 {
        let text = Array("{\"n\":\(index * 5 + small)}".utf8)
        add(1, small, text) { chunk.add($0, gathering: text.span) }
      }
      let large = TestPattern.ramp.bytes(packedSize, seed: UInt64(index + 1))
      add(3, index, large) { message in
        var room = [UInt8](
          repeating: 0, count: MCAPMessagePacker.capacity(dataCount: large.count))
        var span = room.mutableSpan
        packer.begin(message, dataCount: large.count)
        // In parts of odd sizes, as planes are.
        for start in stride(from: 0, to: large.count, by: 140_001) {
          packer.append(
            large.span.extracting(start..<min(start + 140_001, large.count)), to: &span)
        }
        let count = packer.end(&span)
        chunk.add(message, packed: room.span.extracting(first: count))
      }
      let stored = TestPattern.random.bytes(storedSize, seed: UInt64(index + 1))
      add(2, index, stored) {
        chunk.add(
          $0, storing: stored.span.extracting(first: 10),
          stored.span.extracting(droppingFirst: 10))
      }
      try writer.write(&chunk)
      counts.append(messages.count)
    }
    try writer.end()
    bytes = writer.output.bytes
    ends = writer.output.ends
  }

  private mutating func add(
    _ channel: UInt16, _ sequence: Int, _ data: [UInt8], _ store: (MCAPMessage) -> Void
  ) {
    let time = UInt64(messages.count * 1_000_000 + 5)
    let message = MCAPMessage(channel: channel, sequence: UInt32(sequence), logTime: time)
    messages.append(
      SeenMessage(channel: channel, sequence: message.sequence, logTime: time, data: data))
    store(message)
  }
}

/// Everything that our reader finds in `bytes`, in order.
func read(_ bytes: [UInt8]) throws -> (messages: [SeenMessage], isComplete: Bool) {
  let file = try TestFile(bytes, ending: "mcap")
  var reader = try MCAPReader.open(file.path)
  var found: [SeenMessage] = []
  for chunk in reader.chunks.indices {
    guard try reader.loadOrCut(chunk) else { break }
    reader.forEachMessage(on: Set(reader.channels.keys)) { message, data in
      found.append(SeenMessage(message, data))
    }
  }
  return (found, reader.isComplete)
}
