/// The contents of an MCAP file of any writer, complete or cut off.
public struct MCAPContents: Sendable {
  public struct Channel: Sendable {
    public var channel: MCAPChannel
    /// `nil` if the channel has no schema, or the file does not contain it.
    public var schema: MCAPSchema?
    public var messageCount: UInt64 = 0
    /// The earliest and the latest log time, in nanoseconds; 0 without messages.
    public var startTime: UInt64 = 0
    public var endTime: UInt64 = 0
  }

  public var header: MCAPHeader?
  /// By id.
  public var channels: [Channel] = []
  public var attachments: [MCAPAttachmentIndex] = []
  public var metadata: [MCAPMetadataIndex] = []
  /// Chunks, and messages outside of them.
  public var chunkCount = 0
  /// The file has its footer, and nothing before it is broken.
  public var isComplete = false
  /// Where something is broken, so that all that follows is left out; `nil` for a file that is whole or was
  /// cut off.
  public var damagedAt: UInt64?
  /// Bytes of the file, and up to where records are whole.
  public var size: UInt64 = 0
  public var wholeSize: UInt64 = 0

  /// Walks over the file: its chunks' indexes tell of their messages. With `verify`, each chunk is read and
  /// compared with its checksum, too.
  public static func read(
    _ path: String, verify: Bool = false,
    isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MCAPError) -> MCAPContents {
    var reader = try MCAPReader.open(path, isInterrupted: isInterrupted)
    var contents = MCAPContents()
    contents.channels = reader.channels.values.sorted { $0.id < $1.id }.map {
      Channel(channel: $0, schema: reader.schemas[$0.schema])
    }
    let places = Dictionary(
      uniqueKeysWithValues: contents.channels.enumerated().map { ($1.channel.id, $0) })
    var index = 0
    while index < reader.chunks.count {
      if verify || reader.chunks[index].indexes.isEmpty {
        guard try reader.loadOrCut(index) else { break }
      }
      try contents.count(chunk: index, places, &reader)
      index += 1
    }
    contents.header = reader.header
    // Those behind a broken chunk are left out, as its messages are.
    let whole = reader.wholeSize
    contents.attachments = reader.attachments.filter { $0.offset < whole }
    contents.metadata = reader.metadata.filter { $0.offset < whole }
    contents.chunkCount = reader.chunks.count
    contents.isComplete = reader.isComplete
    contents.damagedAt = reader.damagedAt
    contents.size = reader.size
    contents.wholeSize = whole
    return contents
  }

  private mutating func count(
    chunk: Int, _ places: [UInt16: Int], _ reader: inout MCAPReader
  ) throws(MCAPError) {
    var found: [MCAPMessagePlace] = []
    let present = Set(reader.chunks[chunk].indexes.map(\.channel))
    for (id, place) in places where present.isEmpty || present.contains(id) {
      found.removeAll(keepingCapacity: true)
      try reader.places(of: [id], in: chunk, to: &found)
      for message in found { channels[place].add(message.logTime) }
    }
  }
}

extension MCAPContents.Channel {
  fileprivate mutating func add(_ time: UInt64) {
    startTime = messageCount == 0 ? time : min(startTime, time)
    endTime = max(endTime, time)
    messageCount += 1
  }
}
