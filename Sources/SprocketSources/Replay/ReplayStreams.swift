internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

/// The sources of a dump, by the names that stand before their topics: `front` of `front/session`.
struct ReplayStreams {
  /// In the order of their channels; an empty name in a dump of one source.
  private(set) var names: [String] = []

  init(_ reader: borrowing MCAPReader) {
    for (_, channel) in reader.channels.sorted(by: { $0.key < $1.key })
    where reader.schemas[channel.schema]?.name == RecordKind.session.schemaName {
      let name = Self.source(of: channel.topic)
      if !names.contains(name) { names.append(name) }
    }
  }

  /// The source's name in the topic of its sessions.
  static func source(of topic: String) -> String {
    let end = "/\(RecordKind.session.topic)"
    return topic.hasSuffix(end) ? String(topic.dropLast(end.count)) : ""
  }

  /// Topics that are played, for the setting `stream`. Throws where it must be chosen, or is none of them.
  func topics(_ stream: String, path: String) throws(RunError) -> ReplayTopics {
    if names.contains(stream), names.count > 1 || !stream.isEmpty {
      return ReplayTopics(prefix: stream.isEmpty ? "" : stream + "/")
    }
    if stream.isEmpty, names.count < 2 {
      // The topics of a dump that another program has copied may have other names.
      return names.first.map { $0.isEmpty ? .all : ReplayTopics(prefix: $0 + "/") } ?? .all
    }
    throw RunError(
      .usage,
      names.allSatisfy(\.isEmpty)
        ? "\(path) is of one source, whose stream has no name; leave `stream=\(stream)` out"
        : (stream.isEmpty ? "" : "there is no stream `\(stream)`; ")
          + "\(path) is of the sources \(names.joined(separator: ", ")); choose one of them, such as "
          + "stream=\(nearestName(to: stream, among: names) ?? names[0])", change: .sourceSetting)
  }
}

/// The topics of one source of a dump.
struct ReplayTopics: Sendable {
  static let all = ReplayTopics(prefix: nil)

  /// `nil` for all topics of the file.
  let prefix: String?

  /// The topic's name within the source; `nil` for that of another.
  func name(of topic: String) -> String? {
    guard let prefix else { return topic }
    return topic.hasPrefix(prefix) ? String(topic.dropFirst(prefix.count)) : nil
  }
}
