internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

/// The channels of a dump and their schemas.
enum DumpChannel {
  static let session: UInt16 = 1
  static let source: UInt16 = 2
  static let fate: UInt16 = 3
  static let range: UInt16 = 4
  static let ledger: UInt16 = 5
  static let compressedImage: UInt16 = 6
  static let rawImage: UInt16 = 7
  static let microphone: UInt16 = 8
  static let block: UInt16 = 9
  /// Of the first microphone; those of the others follow.
  static let rawAudio: UInt16 = 10

  /// A channel and what its messages are. `schema` is `nil` where an earlier channel has the same.
  struct Kind {
    var schema: MCAPSchema?
    var channel: MCAPChannel

    /// Numbers are those of a dump of one source.
    init(
      _ id: UInt16, schema: UInt16? = nil, topic: String, _ encoding: String, part: DumpPart,
      define: (_ id: UInt16) -> MCAPSchema?
    ) {
      self.schema = define(part.base + (schema ?? id))
      channel = MCAPChannel(
        id: part.base + id, schema: part.base + (schema ?? id), topic: part.prefix + topic,
        encoding: encoding)
    }
  }

  /// Those of records, all JSON; `reports` come with fates.
  static func records(_ reports: [ReportLayout], _ part: DumpPart) -> [Kind] {
    [
      record(session, .session, SessionRecord.schema, part),
      record(source, .source, SourceRecord.schema, part),
      record(fate, .fate, FateRecord.schema(reports), part),
      record(range, .range, RangeRecord.schema, part),
      record(ledger, .ledger, LedgerRecord.schema, part),
    ]
  }

  private static func record(
    _ id: UInt16, _ kind: RecordKind, _ properties: JSONProperties, _ part: DumpPart
  ) -> Kind {
    Kind(id, topic: kind.topic, "json", part: part) { id in
      MCAPSchema(
        id: id, name: kind.schemaName, encoding: "jsonschema",
        data: Array(properties.schema(title: kind.schemaName).utf8))
    }
  }

  /// Microphones of one source of a dump at most; their channels are the last ones of the source's.
  static let mostMicrophones = Int(DumpPart.channels - rawAudio)

  /// Those of a run with sound, as many as it has microphones.
  static func sound(_ microphones: Int, _ part: DumpPart) -> [Kind] {
    var kinds = [
      record(microphone, .microphone, MicrophoneRecord.schema, part),
      record(block, .block, BlockRecord.schema, part),
    ]
    for index in 0..<microphones { kinds.append(samples(of: index, part)) }
    return kinds
  }

  /// The samples of one microphone. The first one brings the schema of all.
  private static func samples(of microphone: Int, _ part: DumpPart) -> Kind {
    let topic = microphone == 0 ? "audio" : "audio/\(microphone + 1)"
    return Kind(
      rawAudio + UInt16(microphone), schema: rawAudio, topic: topic, "protobuf", part: part
    ) { id in
      guard microphone == 0 else { return nil }
      return MCAPSchema(
        id: id, name: "foxglove.RawAudio", encoding: "protobuf", data: FoxgloveSchemas.rawAudio)
    }
  }

  static func image(_ id: UInt16, _ part: DumpPart) -> Kind {
    let isCompressed = id == compressedImage
    return Kind(id, topic: "image", "protobuf", part: part) { number in
      MCAPSchema(
        id: number, name: "foxglove.\(isCompressed ? "CompressedImage" : "RawImage")",
        encoding: "protobuf",
        data: isCompressed ? FoxgloveSchemas.compressedImage : FoxgloveSchemas.rawImage)
    }
  }
}
