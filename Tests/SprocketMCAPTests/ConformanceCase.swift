import Foundation
import SprocketMCAP
import TestSupport
import Testing

/// A case of MCAP's own conformance suite: the records of a file.
struct ConformanceCase: CustomTestStringConvertible, Sendable {
  static let folder = "mcap_conformance"
  static let names = TestData.files(in: folder).filter { $0.hasSuffix(".json") }
    .map { String($0.dropFirst(folder.count + 1).dropLast(5)) }

  /// SHA-256 and size of each case's file.
  static let digests: [String: (digest: String, size: Int)] = {
    let text = (try? TestData.bytes(folder + "/digests.txt")) ?? []
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        let words = line.split(separator: " ")
        return (String(words[0]), (String(words[1]), Int(words[2]) ?? 0))
      })
  }()

  var testDescription: String { name }
  var name: String
  var features: Set<String>
  var records: [MCAPRecord]

  init(_ name: String) throws {
    self.name = name
    let file = try JSONDecoder().decode(
      File.self, from: Data(try TestData.bytes("\(Self.folder)/\(name).json")))
    features = file.meta.variant.features
    records = try file.records.map { try $0.record() }
  }

  private struct File: Decodable {
    struct Meta: Decodable {
      struct Variant: Decodable { var features: Set<String> }
      var variant: Variant
    }
    var records: [RecordText]
    var meta: Meta
  }

  /// What the writer is told by the case's features.
  var options: MCAPOptions {
    var options = MCAPOptions()
    options.isChunked = features.contains("ch")
    options.hasMessageIndexes = features.contains("mx")
    options.hasChunkIndexes = features.contains("chx")
    options.hasAttachmentIndexes = features.contains("ax")
    options.hasMetadataIndexes = features.contains("mdx")
    options.repeatsSchemas = features.contains("rsh")
    options.repeatsChannels = features.contains("rch")
    options.hasStatistics = features.contains("st")
    options.hasSummaryOffsets = features.contains("sum")
    options.hasDataChecksum = true
    // The suite's own bytes, found by its digests.
    options.padding = features.contains("pad") ? [0x01, 0xFF, 0xFF] : []
    return options
  }

  /// What the case's file has up to the end of its data, and behind that.
  var parts: (data: ArraySlice<MCAPRecord>, summary: ArraySlice<MCAPRecord>) {
    let end = records.firstIndex { if case .dataEnd = $0 { true } else { false } } ?? 0
    return (records[...end], records[(end + 1)...])
  }

  /// The file, written from the records of its data and the features alone.
  func written() throws -> [UInt8] {
    var writer = MCAPWriter(output: MemoryFile(), options: options)
    for record in parts.data {
      switch record {
      case .header(let header):
        try writer.begin(profile: header.profile, library: header.library)
      case .schema(let schema): try writer.add(schema)
      case .channel(let channel): try writer.add(channel)
      case .message(let message, let data): try writer.add(message, data: data.span)
      case .attachment(let attachment): try writer.add(attachment)
      case .metadata(let metadata): try writer.add(metadata)
      default: break
      }
    }
    try writer.end()
    return writer.output.bytes
  }
}

/// A record as the suite writes it: a name and fields of text.
private struct RecordText: Decodable {
  enum Value: Decodable {
    case text(String)
    case list([String])
    case map([String: String])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let list = try? container.decode([String].self) {
        self = .list(list)
      } else {
        self = .map(try container.decode([String: String].self))
      }
    }
  }
  struct Missing: Error { var field: String }

  var type: String
  var fields: [String: Value] = [:]

  enum Keys: CodingKey { case type, fields }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    type = try container.decode(String.self, forKey: .type)
    var list = try container.nestedUnkeyedContainer(forKey: .fields)
    while !list.isAtEnd {
      var field = try list.nestedUnkeyedContainer()
      fields[try field.decode(String.self)] = try field.decode(Value.self)
    }
  }

  func text(_ field: String) throws -> String {
    guard case .text(let text) = fields[field] else { throw Missing(field: field) }
    return text
  }

  func number<Number: FixedWidthInteger>(_ field: String) throws -> Number {
    guard let number = Number(try text(field)) else { throw Missing(field: field) }
    return number
  }

  func bytes(_ field: String) throws -> [UInt8] {
    guard case .list(let list) = fields[field] else { throw Missing(field: field) }
    return list.compactMap { UInt8($0) }
  }

  func map(_ field: String) throws -> [String: String] {
    guard case .map(let map) = fields[field] else { throw Missing(field: field) }
    return map
  }

  func counts(_ field: String) throws -> [UInt16: UInt64] {
    Dictionary(
      uniqueKeysWithValues: try map(field).map { (UInt16($0) ?? 0, UInt64($1) ?? 0) })
  }
}

extension RecordText {
  func record() throws -> MCAPRecord {
    switch type {
    case "Header":
      .header(MCAPHeader(profile: try text("profile"), library: try text("library")))
    case "Footer":
      .footer(
        MCAPFooter(
          summaryStart: try number("summary_start"),
          summaryOffsetStart: try number("summary_offset_start"),
          checksum: try number("summary_crc")))
    case "Schema":
      .schema(
        MCAPSchema(
          id: try number("id"), name: try text("name"), encoding: try text("encoding"),
          data: try bytes("data")))
    case "Channel":
      .channel(
        MCAPChannel(
          id: try number("id"), schema: try number("schema_id"), topic: try text("topic"),
          encoding: try text("message_encoding"), metadata: try map("metadata")))
    case "Message":
      .message(
        MCAPMessage(
          channel: try number("channel_id"), sequence: try number("sequence"),
          logTime: try number("log_time"), publishTime: try number("publish_time")),
        data: try bytes("data"))
    case "Attachment":
      .attachment(
        MCAPAttachment(
          logTime: try number("log_time"), createTime: try number("create_time"),
          name: try text("name"), mediaType: try text("media_type"), data: try bytes("data")))
    case "Metadata":
      .metadata(MCAPMetadata(name: try text("name"), metadata: try map("metadata")))
    case "DataEnd": .dataEnd(checksum: try number("data_section_crc"))
    default: try indexRecord()
    }
  }

  private func indexRecord() throws -> MCAPRecord {
    switch type {
    case "Statistics": .statistics(try statistics())
    case "ChunkIndex":
      .chunkIndex(
        MCAPChunkIndex(
          startTime: try number("message_start_time"), endTime: try number("message_end_time"),
          offset: try number("chunk_start_offset"), length: try number("chunk_length"),
          messageIndexOffsets: try counts("message_index_offsets"),
          messageIndexLength: try number("message_index_length"),
          compression: try text("compression"), compressedSize: try number("compressed_size"),
          size: try number("uncompressed_size")))
    case "AttachmentIndex":
      .attachmentIndex(
        MCAPAttachmentIndex(
          offset: try number("offset"), length: try number("length"),
          logTime: try number("log_time"), createTime: try number("create_time"),
          dataSize: try number("data_size"), name: try text("name"),
          mediaType: try text("media_type")))
    case "MetadataIndex":
      .metadataIndex(
        MCAPMetadataIndex(
          offset: try number("offset"), length: try number("length"), name: try text("name")))
    case "SummaryOffset":
      .summaryOffset(
        MCAPSummaryOffset(
          opcode: try number("group_opcode"), start: try number("group_start"),
          length: try number("group_length")))
    default: throw Missing(field: type)
    }
  }

  private func statistics() throws -> MCAPStatistics {
    var statistics = MCAPStatistics()
    statistics.messageCount = try number("message_count")
    statistics.schemaCount = try number("schema_count")
    statistics.channelCount = try number("channel_count")
    statistics.attachmentCount = try number("attachment_count")
    statistics.metadataCount = try number("metadata_count")
    statistics.chunkCount = try number("chunk_count")
    statistics.startTime = try number("message_start_time")
    statistics.endTime = try number("message_end_time")
    statistics.channelMessageCounts = try counts("channel_message_counts")
    return statistics
  }
}
