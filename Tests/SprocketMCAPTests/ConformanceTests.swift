import SprocketMCAP
import TestExpectations
import TestSupport
import Testing

/// MCAP's own conformance suite. What the suite's writer chose (offsets, counts, checksums) must come out of
/// the records of the data and the case's features.
@Suite(.enabled(if: !ConformanceCase.names.isEmpty, "\(TestData.absent)"))
struct ConformanceTests {
  @Test func theSuiteIsWhole() {
    expectEqual(Set(ConformanceCase.names), Set(ConformanceCase.digests.keys))
  }

  @Test(arguments: ConformanceCase.names) func writesTheFileOfTheSuite(_ name: String) throws {
    let expected = try #require(ConformanceCase.digests[name])
    let bytes = try ConformanceCase(name).written()
    expectEqual(bytes.count, expected.size)
    let file = try TestFile(bytes, ending: "mcap")
    let printed = String(decoding: try Tool.run("sha256sum", [file.path]), as: UTF8.self)
    expectTrue(printed.hasPrefix(expected.digest + " "))
  }

  @Test(arguments: ConformanceCase.names) func readsItFromFrontToBack(_ name: String) throws {
    let expected = try ConformanceCase(name)
    let file = try TestFile(try expected.written(), ending: "mcap")
    var reader = try MCAPRecordReader.open(file.path)
    var found: [MCAPRecord] = []
    while let record = try reader.next() {
      // The suite does not list these.
      if case .messageIndex = record { continue }
      found.append(record)
    }
    let (isComplete, position, size) = (reader.isComplete, reader.position, reader.size)
    expectTrue(isComplete)
    expectEqual(position, size)
    expectEqual(found, expected.records)
  }

  @Test(arguments: ConformanceCase.names) func readsItByItsSummary(_ name: String) throws {
    let expected = try ConformanceCase(name)
    let file = try TestFile(try expected.written(), ending: "mcap")
    var reader = try MCAPRecordReader.open(file.path)
    let summary = try #require(try reader.summary())
    expectEqual(summary, Array(expected.parts.summary))
    var found: [MCAPRecord] = []
    for record in summary {
      switch record {
      case .chunkIndex(let index):
        found += try reader.records(inChunkAt: index.offset)
        for (channel, offset) in index.messageIndexOffsets {
          guard case .messageIndex(let messages) = try reader.record(at: offset) else {
            Issue.record("no message index at \(offset)")
            continue
          }
          expectTrue(messages.channel == channel && messages.entries.map(\.logTime) == [2])
        }
      case .attachmentIndex(let index): found.append(try reader.record(at: index.offset))
      case .metadataIndex(let index): found.append(try reader.record(at: index.offset))
      default: break
      }
    }
    // Without the index, it is not found so.
    let listed = expected.parts.data.filter { expected.indexes($0) }
    expectEqual(found, Array(listed))
  }

  /// What `sprocket inspect` and replays use: it needs no summary.
  @Test(arguments: ConformanceCase.names) func walksOverIt(_ name: String) throws {
    let expected = try ConformanceCase(name)
    let file = try TestFile(try expected.written(), ending: "mcap")
    var reader = try MCAPReader.open(file.path)
    var found: [MCAPRecord] = []
    let channels = Set(reader.channels.keys)
    for chunk in reader.chunks.indices {
      var places: [MCAPMessagePlace] = []
      try reader.places(of: channels, in: chunk, to: &places)
      try reader.load(chunk)
      for place in places {
        _ = reader.withMessage(at: place) { message, data in
          found.append(.message(message, data: data.indices.map { data[$0] }))
        }
      }
    }
    found =
      reader.schemas.values.map { .schema($0) } + reader.channels.values.map { .channel($0) }
      + found
    for index in reader.attachments { found.append(try reader.record(at: index.offset)) }
    for index in reader.metadata { found.append(try reader.record(at: index.offset)) }
    let (header, isComplete) = (reader.header, reader.isComplete)
    expectEqual(header.map { .header($0) }, expected.records.first)
    expectTrue(isComplete)
    expectEqual(found, Array(expected.parts.data.dropFirst().dropLast()))
  }
}

extension ConformanceCase {
  /// Whether the summary leads to that record of the data.
  func indexes(_ record: MCAPRecord) -> Bool {
    switch record {
    case .schema, .channel, .message: features.isSuperset(of: ["ch", "chx"])
    case .attachment: features.contains("ax")
    case .metadata: features.contains("mdx")
    default: false
    }
  }
}
