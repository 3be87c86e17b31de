internal import SprocketCore
internal import SprocketMCAP

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

  /// A channel and what its messages are. Each channel has a schema of its own, with the same id.
  struct Kind {
    var schema: MCAPSchema
    var channel: MCAPChannel
  }

  /// Those of records, all JSON; `reports` come with fates.
  static func records(_ reports: [ReportLayout]) -> [Kind] {
    [
      record(session, "session", DumpSchemas.session), record(source, "source", DumpSchemas.source),
      record(fate, "fate", DumpSchemas.fate(reports)), record(range, "range", DumpSchemas.range),
      record(ledger, "ledger", DumpSchemas.ledger),
    ]
  }

  private static func record(_ id: UInt16, _ topic: String, _ properties: JSONProperties) -> Kind {
    Kind(
      schema: MCAPSchema(
        id: id, name: "sprocket.\(topic)", encoding: "jsonschema",
        data: Array(properties.schema(title: "sprocket.\(topic)").utf8)),
      channel: MCAPChannel(id: id, schema: id, topic: topic, encoding: "json"))
  }

  /// Those of a run with sound, as many as it has microphones.
  static func sound(_ microphones: Int) -> (schemas: [MCAPSchema], channels: [MCAPChannel]) {
    let records = [
      record(microphone, "microphone", DumpSchemas.microphone),
      record(block, "block", DumpSchemas.block),
    ]
    let audio = MCAPSchema(
      id: rawAudio, name: "foxglove.RawAudio", encoding: "protobuf", data: FoxgloveSchemas.rawAudio)
    let channels = (0..<microphones).map { index in
      MCAPChannel(
        id: rawAudio + UInt16(index), schema: rawAudio,
        topic: index == 0 ? "audio" : "audio/\(index + 1)", encoding: "protobuf")
    }
    return (records.map(\.schema) + [audio], records.map(\.channel) + channels)
  }

  static func image(_ id: UInt16) -> Kind {
    let name = id == compressedImage ? "CompressedImage" : "RawImage"
    return Kind(
      schema: MCAPSchema(
        id: id, name: "foxglove.\(name)", encoding: "protobuf",
        data: id == compressedImage ? FoxgloveSchemas.compressedImage : FoxgloveSchemas.rawImage),
      channel: MCAPChannel(id: id, schema: id, topic: "image", encoding: "protobuf"))
  }
}
