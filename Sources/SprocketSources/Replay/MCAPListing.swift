public import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

/// The topics, attachments and metadata of an MCAP file of any writer, complete or cut off.
public struct MCAPListing: Sendable {
  /// A channel of the file, and how many messages it has.
  public struct Topic: Sendable {
    public var name: String
    /// Name of the messages' schema; empty without one.
    public var schema: String
    /// Of the messages: `protobuf`, `json`, `cdr` or another.
    public var encoding: String
    public var messages: UInt64
    /// Log times of the first and the last message, in nanoseconds; 0 without messages.
    public var start: UInt64
    public var end: UInt64
  }

  /// In the order of their channels.
  public var topics: [Topic]
  /// Names of the sources of a dump that Sprocket wrote; an empty name in a dump of one source. Only those
  /// that have begun.
  public var sources: [String] {
    topics.filter { $0.schema == RecordKind.session.schemaName && $0.messages > 0 }
      .map { ReplayStreams.source(of: $0.name) }
  }
  /// Names by which the setting `stream` of a replay chooses: ``sources``, or of another program's file its
  /// topics with pictures, where it has several. One empty name where there is nothing to choose.
  public var streams: [String] {
    if !sources.isEmpty { return sources }
    var pictures: [String] = []
    for topic in topics
    where pictures.count < ReplayStreams.mostTopics && topic.messages > 0
      && ReplayImageKind(schema: topic.schema, encoding: topic.encoding) != nil
      && !pictures.contains(topic.name)
    {
      pictures.append(topic.name)
    }
    return pictures.count > 1 ? pictures : [""]
  }
  /// Names, in the order of the file.
  public var attachments: [String]
  public var metadata: [String]
  /// Why the file could not be read to its end; `nil` for a whole file.
  public var damage: String?

  /// What the run was that wrote a dump, as JSON; `nil` where the file does not say. Throws where it is no
  /// MCAP file.
  public static func runDescription(_ path: String) throws(RunError) -> String? {
    try RunDescription.read(path)
  }

  /// Reads the indexes of a file, and what has none. Throws where it is no MCAP file.
  /// Cost: as reading the file where it has no index.
  public static func read(
    _ path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(RunError) -> MCAPListing {
    let contents: MCAPContents
    do throws(MCAPError) {
      contents = try MCAPContents.read(path, isInterrupted: isInterrupted)
    } catch {
      throw RunError(opening: error)
    }
    var listing = MCAPListing(
      topics: contents.channels.map {
        Topic(
          name: $0.channel.topic, schema: $0.schema?.name ?? "", encoding: $0.channel.encoding,
          messages: $0.messageCount, start: $0.startTime, end: $0.endTime)
      }, attachments: contents.attachments.map(\.name), metadata: contents.metadata.map(\.name))
    if let place = contents.damagedAt {
      listing.damage = "bytes from \(place) on of \(contents.size) are invalid"
    } else if !contents.isComplete {
      listing.damage =
        contents.wholeSize == contents.size
        ? "cut off behind a whole record: its end and index are missing"
        : "cut off: \(contents.wholeSize) of \(contents.size) bytes are whole records"
    }
    return listing
  }
}
