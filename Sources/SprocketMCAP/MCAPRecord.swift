/// A record of an MCAP file, of any kind that the format has (https://mcap.dev/spec).
///
/// Times are nanoseconds. Bytes that follow a record's last field are left out: later versions of the
/// format may add fields.
public enum MCAPRecord: Sendable, Hashable {
  case header(MCAPHeader)
  case footer(MCAPFooter)
  case schema(MCAPSchema)
  case channel(MCAPChannel)
  case message(MCAPMessage, data: [UInt8])
  case chunk(MCAPStoredChunk)
  case messageIndex(MCAPMessageIndex)
  case chunkIndex(MCAPChunkIndex)
  case attachment(MCAPAttachment)
  case attachmentIndex(MCAPAttachmentIndex)
  case statistics(MCAPStatistics)
  case metadata(MCAPMetadata)
  case metadataIndex(MCAPMetadataIndex)
  case summaryOffset(MCAPSummaryOffset)
  /// With the CRC-32 of all bytes before it, or 0 for none.
  case dataEnd(checksum: UInt32)
  /// A kind that this version of the format does not have, or a schema with the id 0, which readers
  /// ignore by the specification.
  case unknown(opcode: UInt8, data: [UInt8])
}

/// The first record.
public struct MCAPHeader: Sendable, Hashable {
  public var profile: String
  public var library: String

  public init(profile: String = "", library: String) {
    self.profile = profile
    self.library = library
  }
}

/// The last record.
public struct MCAPFooter: Sendable, Hashable {
  /// Where the summary begins in the file; 0 without one.
  public var summaryStart: UInt64
  /// Where its summary offsets begin; 0 without any.
  public var summaryOffsetStart: UInt64
  /// CRC-32 from the summary's start up to this field; 0 for none.
  public var checksum: UInt32

  public init(summaryStart: UInt64, summaryOffsetStart: UInt64, checksum: UInt32) {
    self.summaryStart = summaryStart
    self.summaryOffsetStart = summaryOffsetStart
    self.checksum = checksum
  }
}

/// A chunk as it is in the file, perhaps compressed.
public struct MCAPStoredChunk: Sendable, Hashable {
  public var startTime: UInt64
  public var endTime: UInt64
  /// Bytes of its records, once decompressed.
  public var size: UInt64
  /// CRC-32 of these; 0 for none.
  public var checksum: UInt32
  /// `lz4`, `zstd`, or empty for none.
  public var compression: String
  public var records: [UInt8]

  public init(
    startTime: UInt64, endTime: UInt64, size: UInt64, checksum: UInt32, compression: String,
    records: [UInt8]
  ) {
    self.startTime = startTime
    self.endTime = endTime
    self.size = size
    self.checksum = checksum
    self.compression = compression
    self.records = records
  }
}

/// Where the messages of a channel are in the chunk before it.
public struct MCAPMessageIndex: Sendable, Hashable {
  public struct Entry: Sendable, Hashable, BitwiseCopyable {
    public var logTime: UInt64
    /// Of the message's record, in the decompressed chunk.
    public var offset: UInt64

    public init(logTime: UInt64, offset: UInt64) {
      self.logTime = logTime
      self.offset = offset
    }
  }

  public var channel: UInt16
  public var entries: [Entry]

  public init(channel: UInt16, entries: [Entry]) {
    self.channel = channel
    self.entries = entries
  }
}

/// Where a chunk is, and what it holds.
public struct MCAPChunkIndex: Sendable, Hashable {
  public var startTime: UInt64
  public var endTime: UInt64
  /// Of the chunk's record in the file.
  public var offset: UInt64
  /// Bytes of the chunk's record, with its opcode and length.
  public var length: UInt64
  /// Where the message index of each channel is in the file.
  public var messageIndexOffsets: [UInt16: UInt64]
  /// Bytes of the message indexes behind the chunk.
  public var messageIndexLength: UInt64
  public var compression: String
  public var compressedSize: UInt64
  public var size: UInt64

  public init(
    startTime: UInt64, endTime: UInt64, offset: UInt64, length: UInt64,
    messageIndexOffsets: [UInt16: UInt64], messageIndexLength: UInt64, compression: String,
    compressedSize: UInt64, size: UInt64
  ) {
    self.startTime = startTime
    self.endTime = endTime
    self.offset = offset
    self.length = length
    self.messageIndexOffsets = messageIndexOffsets
    self.messageIndexLength = messageIndexLength
    self.compression = compression
    self.compressedSize = compressedSize
    self.size = size
  }
}

/// A file within the file.
public struct MCAPAttachment: Sendable, Hashable {
  public var logTime: UInt64
  public var createTime: UInt64
  public var name: String
  public var mediaType: String
  public var data: [UInt8]

  public init(
    logTime: UInt64, createTime: UInt64, name: String, mediaType: String, data: [UInt8]
  ) {
    self.logTime = logTime
    self.createTime = createTime
    self.name = name
    self.mediaType = mediaType
    self.data = data
  }
}

/// Where an attachment is.
public struct MCAPAttachmentIndex: Sendable, Hashable {
  public var offset: UInt64
  /// Bytes of its record, with its opcode and length.
  public var length: UInt64
  public var logTime: UInt64
  public var createTime: UInt64
  public var dataSize: UInt64
  public var name: String
  public var mediaType: String

  public init(
    offset: UInt64, length: UInt64, logTime: UInt64, createTime: UInt64, dataSize: UInt64,
    name: String, mediaType: String
  ) {
    self.offset = offset
    self.length = length
    self.logTime = logTime
    self.createTime = createTime
    self.dataSize = dataSize
    self.name = name
    self.mediaType = mediaType
  }
}

/// Named text.
public struct MCAPMetadata: Sendable, Hashable {
  public var name: String
  public var metadata: [String: String]

  public init(name: String, metadata: [String: String]) {
    self.name = name
    self.metadata = metadata
  }
}

/// Where metadata are.
public struct MCAPMetadataIndex: Sendable, Hashable {
  public var offset: UInt64
  /// Bytes of the record, with its opcode and length.
  public var length: UInt64
  public var name: String

  public init(offset: UInt64, length: UInt64, name: String) {
    self.offset = offset
    self.length = length
    self.name = name
  }
}

/// Where the summary's records of one kind are.
public struct MCAPSummaryOffset: Sendable, Hashable, BitwiseCopyable {
  public var opcode: UInt8
  public var start: UInt64
  public var length: UInt64

  public init(opcode: UInt8, start: UInt64, length: UInt64) {
    self.opcode = opcode
    self.start = start
    self.length = length
  }
}

/// What the file holds in all.
public struct MCAPStatistics: Sendable, Hashable {
  public var messageCount: UInt64 = 0
  public var schemaCount: UInt16 = 0
  public var channelCount: UInt32 = 0
  public var attachmentCount: UInt32 = 0
  public var metadataCount: UInt32 = 0
  public var chunkCount: UInt32 = 0
  /// The earliest log time; 0 without messages.
  public var startTime: UInt64 = 0
  public var endTime: UInt64 = 0
  public var channelMessageCounts: [UInt16: UInt64] = [:]

  public init() {}
}
