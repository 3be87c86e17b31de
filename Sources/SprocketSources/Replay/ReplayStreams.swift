internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

/// Choices of the setting `stream` of a replay: the sources of a dump, by the names that stand before
/// their topics (`front` of `front/session`), or the topics with pictures of another program's file.
struct ReplayStreams {
  /// In the order of their channels; an empty name in a dump of one source.
  private(set) var names: [String] = []
  /// Topics with pictures, in the order of their channels, the first `mostTopics`; empty for a dump.
  private(set) var pictureTopics: [String] = []

  /// Most topics of another program's file that are looked at: a file may have 65,535 channels without an
  /// image that can be played, and each is looked for in all chunks. Larger: files of more cameras are read,
  /// and hostile ones take longer. Robots have some ten.
  static let mostTopics = 64

  init(_ reader: borrowing MCAPReader) {
    for (_, channel) in reader.channels.sorted(by: { $0.key < $1.key }) {
      let schema = reader.schemas[channel.schema]?.name
      if schema == RecordKind.session.schemaName {
        let name = Self.source(of: channel.topic)
        if !names.contains(name) { names.append(name) }
      } else if pictureTopics.count < Self.mostTopics,
        ReplayImageKind(schema: schema, encoding: channel.encoding) != nil,
        !pictureTopics.contains(channel.topic)
      {
        pictureTopics.append(channel.topic)
      }
    }
    if !names.isEmpty { pictureTopics = [] }
  }

  /// The source's name in the topic of its sessions.
  static func source(of topic: String) -> String {
    let end = "/\(RecordKind.session.topic)"
    return topic.hasSuffix(end) ? String(topic.dropLast(end.count)) : ""
  }

  /// Topics that are played, for the setting `stream`. Throws where it must be chosen, or is none of them.
  func topics(_ stream: String, path: String) throws(RunError) -> ReplayTopics {
    if names.contains(stream), names.count > 1 || !stream.isEmpty {
      return .under(stream.isEmpty ? "" : stream + "/")
    }
    if pictureTopics.contains(stream), !stream.isEmpty { return .one(stream) }
    if stream.isEmpty, names.count < 2 {
      // The topics of a dump that another program has copied may have other names.
      return names.first.map { $0.isEmpty ? .all : .under($0 + "/") } ?? .all
    }
    let choice = pictureTopics.isEmpty ? names : pictureTopics.filter { !$0.isEmpty }
    let kind = pictureTopics.isEmpty ? "is of the sources" : "has pictures on the topics"
    throw RunError(
      .usage,
      choice.allSatisfy(\.isEmpty)
        ? "\(path) is of one source, whose stream has no name; leave `stream=\(stream)` out"
        : (stream.isEmpty ? "" : "there is no stream `\(stream)`; ")
          + "\(path) \(kind) \(choice.joined(separator: ", ")); choose one of them, such as "
          + "stream=\(nearestName(to: stream, among: choice) ?? choice[0])",
      change: .source("stream"))
  }
}

/// Which topics of a file are played.
enum ReplayTopics: Sendable {
  case all
  /// Topics of one source of a dump: their names begin so.
  case under(String)
  /// One topic of another program's file.
  case one(String)

  /// The topic's name within the source; `nil` where it is not played.
  func name(of topic: String) -> String? {
    switch self {
    case .all: topic
    case .under(let prefix): topic.hasPrefix(prefix) ? String(topic.dropFirst(prefix.count)) : nil
    case .one(let chosen): topic == chosen ? topic : nil
    }
  }
}
