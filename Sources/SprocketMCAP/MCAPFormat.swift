// The words of MCAP, version 0 (https://mcap.dev/spec). Numbers are little-endian, lengths of strings,
// arrays and maps 32 bits, in bytes.

/// The kinds of records.
enum MCAPOpcode {
  static let header: UInt8 = 0x01
  static let footer: UInt8 = 0x02
  static let schema: UInt8 = 0x03
  static let channel: UInt8 = 0x04
  static let message: UInt8 = 0x05
  static let chunk: UInt8 = 0x06
  static let messageIndex: UInt8 = 0x07
  static let chunkIndex: UInt8 = 0x08
  static let attachment: UInt8 = 0x09
  static let attachmentIndex: UInt8 = 0x0A
  static let statistics: UInt8 = 0x0B
  static let metadata: UInt8 = 0x0C
  static let metadataIndex: UInt8 = 0x0D
  static let summaryOffset: UInt8 = 0x0E
  static let dataEnd: UInt8 = 0x0F
}

enum MCAPFormat {
  /// What a file begins and ends with.
  static let magic: [UInt8] = [0x89] + Array("MCAP0\r\n".utf8)
  /// A record's opcode and length.
  static let recordHeaderSize = 9
  /// A message's channel, sequence and two times.
  static let messageHeaderSize = 22
  /// Summary start, summary offset start, checksum.
  static let footerSize = 20
}

/// What the messages of a channel are.
public struct MCAPSchema: Sendable, Hashable {
  /// Above 0, and the same in the whole file.
  public var id: UInt16
  public var name: String
  /// `protobuf`, `jsonschema` or another of the registry (https://mcap.dev/spec/registry).
  public var encoding: String
  public var data: [UInt8]

  public init(id: UInt16, name: String, encoding: String, data: [UInt8]) {
    self.id = id
    self.name = name
    self.encoding = encoding
    self.data = data
  }
}

/// A stream of messages of one kind.
public struct MCAPChannel: Sendable, Hashable {
  public var id: UInt16
  /// 0 for messages without a schema.
  public var schema: UInt16
  public var topic: String
  /// `protobuf`, `json` or another of the registry.
  public var encoding: String
  public var metadata: [String: String]

  public init(
    id: UInt16, schema: UInt16, topic: String, encoding: String, metadata: [String: String] = [:]
  ) {
    self.id = id
    self.schema = schema
    self.topic = topic
    self.encoding = encoding
    self.metadata = metadata
  }
}

/// A message but for its bytes.
public struct MCAPMessage: Sendable, Hashable, BitwiseCopyable {
  public var channel: UInt16
  public var sequence: UInt32
  /// In nanoseconds, on whatever clock the file's writer names.
  public var logTime: UInt64
  /// In nanoseconds.
  public var publishTime: UInt64

  /// Published when it was logged.
  public init(channel: UInt16, sequence: UInt32, logTime: UInt64) {
    self.channel = channel
    self.sequence = sequence
    self.logTime = logTime
    publishTime = logTime
  }

  public init(channel: UInt16, sequence: UInt32, logTime: UInt64, publishTime: UInt64) {
    self.init(channel: channel, sequence: sequence, logTime: logTime)
    self.publishTime = publishTime
  }

  /// What its record has besides its data.
  public static let overhead = MCAPFormat.recordHeaderSize + MCAPFormat.messageHeaderSize
}
