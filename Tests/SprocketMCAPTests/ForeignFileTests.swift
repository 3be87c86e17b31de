import Foundation
import SprocketMCAP
import TestExpectations
import TestSupport
import Testing

/// Files that Python's `mcap` wrote.
@Suite struct ForeignFileTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    var compression = "NONE"
    var isChunked = true
    var hasChecksums = true
    /// Whether the summary has indexes, statistics and definitions.
    var hasSummary = true
    var testDescription: String {
      "\(compression) chunked \(isChunked) checksums \(hasChecksums) summary \(hasSummary)"
    }
  }

  static let kinds: [Kind] =
    ["NONE", "LZ4", "ZSTD"].flatMap { compression in
      [true, false].flatMap { checksums in
        [true, false].map {
          Kind(compression: compression, hasChecksums: checksums, hasSummary: $0)
        }
      }
    } + [
      Kind(isChunked: false), Kind(isChunked: false, hasChecksums: false, hasSummary: false),
    ]

  /// 200 messages on each of two channels, three schemas, two attachments, two metadata.
  private func make(_ kind: Kind) throws -> TestFile {
    let file = try TestFile(ending: "mcap")
    let program = """
      import sys
      from mcap.writer import Writer, CompressionType, IndexType
      path, compression, chunked, checksums, summary = sys.argv[1:]
      on, crc, whole = chunked == "true", checksums == "true", summary == "true"
      w = Writer(path, compression=CompressionType[compression], use_chunking=on, chunk_size=3000,
                 enable_crcs=crc, enable_data_crcs=crc, use_statistics=whole,
                 use_summary_offsets=whole, repeat_channels=whole, repeat_schemas=whole,
                 index_types=IndexType.ALL if whole else IndexType.NONE)
      w.start("profile", "library")
      s = w.register_schema("Type", "jsonschema", b"{}")
      a = w.register_channel("/a", "json", s, {"key": "value", "other": ""})
      b = w.register_channel("/b", "raw", 0)
      w.add_attachment(5, 6, "one.txt", "text/plain", b"abc" * 1000)
      for i in range(200):
        w.add_message(a, 1000 + i, b'{"n":%d}' % i, 900 + i, i)
        w.add_message(b, 5000 - i, bytes([i % 251]) * 50, 900 + i, i)
      w.add_metadata("first", {"x": "y", "z": "ä"})
      w.add_attachment(7, 8, "", "", b"")
      w.add_metadata("second", {})
      w.finish()
      """
    _ = try Tool.run(
      "python3",
      [
        "-c", program, file.path, kind.compression, "\(kind.isChunked)", "\(kind.hasChecksums)",
        "\(kind.hasSummary)",
      ])
    return file
  }

  @Test(arguments: kinds) func isReadFromFrontToBack(_ kind: Kind) throws {
    let file = try make(kind)
    var reader = try MCAPRecordReader.open(file.path)
    var counts: [UInt8: Int] = [:]
    var attachments: [MCAPAttachment] = []
    var metadata: [MCAPMetadata] = []
    var messages = 0
    while let record = try reader.next() {
      counts[record.opcode, default: 0] += 1
      switch record {
      case .header(let header):
        expectEqual(header, MCAPHeader(profile: "profile", library: "library"))
      case .attachment(let attachment): attachments.append(attachment)
      case .metadata(let found): metadata.append(found)
      case .message(let message, let data):
        let (index, isFirst) = (messages / 2, messages % 2 == 0)
        expectEqual(message.logTime, UInt64(isFirst ? 1000 + index : 5000 - index))
        expectEqual(message.publishTime, UInt64(900 + index))
        expectEqual(message.sequence, UInt32(index))
        expectEqual(
          data,
          (isFirst
            ? Array("{\"n\":\(index)}".utf8)
            : [UInt8](repeating: UInt8(index % 251), count: 50)))
        messages += 1
      default: break
      }
    }
    let isComplete = reader.isComplete
    expectTrue(isComplete)
    expectEqual(messages, 400)
    expectEqual(
      attachments,
      [
        MCAPAttachment(
          logTime: 6, createTime: 5, name: "one.txt", mediaType: "text/plain",
          data: Array(String(repeating: "abc", count: 1000).utf8)),
        MCAPAttachment(logTime: 8, createTime: 7, name: "", mediaType: "", data: []),
      ])
    expectEqual(
      metadata,
      [
        MCAPMetadata(name: "first", metadata: ["x": "y", "z": "ä"]),
        MCAPMetadata(name: "second", metadata: [:]),
      ])
  }

  @Test(arguments: kinds) func isFoundByItsSummary(_ kind: Kind) throws {
    let file = try make(kind)
    var reader = try MCAPRecordReader.open(file.path)
    let summary = try #require(try reader.summary())
    guard kind.hasSummary else {
      expectEqual(summary.count, 1)
      return
    }
    var messages = 0
    for record in summary {
      switch record {
      case .chunkIndex(let index):
        for case .message in try reader.records(inChunkAt: index.offset) { messages += 1 }
      case .attachmentIndex(let index):
        guard case .attachment(let found) = try reader.record(at: index.offset) else {
          Issue.record("no attachment")
          continue
        }
        expectEqual(found.name, index.name)
        expectEqual(found.data.count, Int(index.dataSize))
      case .statistics(let statistics):
        expectEqual(statistics.messageCount, 400)
        expectEqual(statistics.attachmentCount, 2)
      default: break
      }
    }
    expectEqual(messages, (kind.isChunked ? 400 : 0))
  }

  @Test(arguments: kinds) func itsContentsAreTold(_ kind: Kind) throws {
    let file = try make(kind)
    for verify in [false, true] {
      let contents = try MCAPContents.read(file.path, verify: verify)
      expectTrue(contents.isComplete)
      expectNil(contents.damagedAt)
      expectEqual(contents.header, MCAPHeader(profile: "profile", library: "library"))
      expectEqual(contents.channels.map(\.channel.topic), ["/a", "/b"])
      expectEqual(contents.channels.map(\.messageCount), [200, 200])
      expectEqual(contents.channels.map(\.startTime), [1000, 4801])
      expectEqual(contents.channels.map(\.endTime), [1199, 5000])
      expectTrue(contents.channels[0].schema?.name == "Type" && contents.channels[1].schema == nil)
      expectEqual(contents.channels[0].channel.metadata, ["key": "value", "other": ""])
      expectEqual(contents.attachments.map(\.name), ["one.txt", ""])
      expectEqual(contents.attachments.map(\.dataSize), [3000, 0])
      expectEqual(contents.metadata.map(\.name), ["first", "second"])
    }
  }

  /// Wherever a file was cut off, all whole records before are given, and nothing is an error.
  @Test(arguments: kinds) func isReadUpToWhereItWasCutOff(_ kind: Kind) throws {
    let made = try make(kind)
    let whole = try TestData.file(made.path)
    for cut in stride(from: 8, to: whole.count, by: 211) {
      let file = try TestFile(Array(whole[..<cut]), ending: "mcap")
      var reader = try MCAPRecordReader.open(file.path)
      var messages = 0
      while let record = try reader.next() { if case .message = record { messages += 1 } }
      let (isComplete, position) = (reader.isComplete, reader.position)
      expectFalse(isComplete)
      expectAtMost(position, UInt64(cut))
      try expectNil(reader.summary())
      let contents = try MCAPContents.read(file.path, verify: true)
      expectFalse(contents.isComplete)
      expectNil(contents.damagedAt)
      expectEqual(contents.wholeSize, position)
      expectEqual(contents.channels.reduce(0) { $0 + $1.messageCount }, UInt64(messages))
    }
  }

  /// With checksums, each changed byte of the data is either found out, or its record is left out.
  @Test func aChangedByteIsFoundOut() throws {
    let made = try make(Kind())
    let whole = try TestData.file(made.path)
    for place in stride(from: 8, to: whole.count, by: 61) {
      var bytes = whole
      bytes[place] ^= 0x10
      let file = try TestFile(bytes, ending: "mcap")
      var reader = try MCAPRecordReader.open(file.path)
      let error = #expect(throws: MCAPError.self) {
        while try reader.next() != nil {}
        let isComplete = reader.isComplete
        if !isComplete { throw MCAPError(.damaged, "\(file.path) was cut off") }
      }
      expectEqual(error?.description.contains(file.path), true)
    }
  }

  /// Kinds of records that this version does not have are given as they are, and skipped by walks.
  @Test func unknownRecordsAreAllowed() throws {
    let unknown = MCAPRecord.unknown(opcode: 0x80, data: [1, 2, 3])
    let records: [MCAPRecord] = [
      .header(MCAPHeader(library: "tests")), unknown,
      .channel(MCAPChannel(id: 9, schema: 0, topic: "a", encoding: "raw")), unknown,
      .message(MCAPMessage(channel: 9, sequence: 1, logTime: 2), data: [7]), unknown,
      .dataEnd(checksum: 0), unknown,
      .footer(MCAPFooter(summaryStart: 0, summaryOffsetStart: 0, checksum: 0)),
    ]
    let magic = [0x89] + Array("MCAP0\r\n".utf8)
    let file = try TestFile(magic + records.flatMap(\.bytes) + magic, ending: "mcap")
    var reader = try MCAPRecordReader.open(file.path)
    var found: [MCAPRecord] = []
    while let record = try reader.next() { found.append(record) }
    expectEqual(found, records)
    let contents = try MCAPContents.read(file.path)
    expectTrue(contents.isComplete && contents.channels.map(\.messageCount) == [1])
  }

  /// If one message index of a chunk is invalid, the reader reads the whole chunk: no message is missing.
  @Test func aBrokenIndexHidesNoMessage() throws {
    let recording = try TestRecording(chunkCount: 2, packedSize: 3000, storedSize: 2000)
    var bytes = recording.bytes
    // The first index of a single message.
    let second = try #require(
      bytes.indices.dropLast(20).first {
        Array(bytes[$0..<$0 + 9]) == [0x07, 22, 0, 0, 0, 0, 0, 0, 0]
      })
    // The length of its entries, beyond the record.
    bytes[second + 11] = 0xF0
    let file = try TestFile(bytes, ending: "mcap")
    let contents = try MCAPContents.read(file.path)
    expectEqual(contents.channels.map(\.messageCount), [10, 2, 2])
  }

  /// Lengths that are not true take neither memory nor time.
  @Test func falseLengthsAreRefused() throws {
    let magic = [0x89] + Array("MCAP0\r\n".utf8)
    let header = MCAPRecord.header(MCAPHeader(library: "tests")).bytes
    for opcode in UInt8(1)...16 {
      for length in [UInt64.max, 1 << 40, 20] {
        for fill in [UInt8(0xFF), 0x7F] {
          let claim = (0..<8).map { UInt8(truncatingIfNeeded: length >> UInt64(8 * $0)) }
          let content = [UInt8](repeating: fill, count: 20)
          let file = try TestFile(magic + header + [opcode] + claim + content, ending: "mcap")
          var reader = try MCAPRecordReader.open(file.path)
          do {
            while try reader.next() != nil {}
            let isComplete = reader.isComplete
            expectFalse(isComplete)
          } catch {
            expectTrue(error.description.contains("byte 30") || error.description.contains("chunk"))
          }
          _ = try MCAPContents.read(file.path, verify: true)
        }
      }
    }
  }
}

extension TestData {
  static func file(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}
