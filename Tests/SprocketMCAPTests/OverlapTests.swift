import TestExpectations
import TestSupport
import Testing

@testable import SprocketMCAP

@Suite struct OverlapTests {
  /// Of chunks that overlap in time, each is needed again and again: it is decompressed once.
  @Test func chunksThatComeInTurnAreReadOnce() throws {
    let recording = try TestRecording(chunkCount: 40, packedSize: 3000, storedSize: 2000)
    let file = try TestFile(recording.bytes, ending: "mcap")
    var reader = try MCAPReader.open(file.path)
    for _ in 0..<20 {
      for chunk in reader.chunks.indices {
        try reader.load(chunk)
        let loaded = reader.loaded
        expectEqual(loaded, chunk)
      }
    }
    let count = reader.loadCount
    expectEqual(count, 40)
    // What is kept is what was read.
    var found: [SeenMessage] = []
    for chunk in reader.chunks.indices {
      try reader.load(chunk)
      reader.forEachMessage(on: Set(reader.channels.keys)) { found.append(SeenMessage($0, $1)) }
    }
    let isSame = found == recording.messages
    expectTrue(isSame)
  }
}
