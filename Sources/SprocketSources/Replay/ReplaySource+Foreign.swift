internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

// Files of other programs.

extension ReplaySource {
  /// Takes the first topic with images that can be played. Returns a note where it could have been another.
  func findForeign() throws(RunError) -> String? {
    let topics = index?.foreignTopics ?? []
    for (place, topic) in topics.enumerated() {
      guard var opened = reader.take() else { return nil }
      do throws(MCAPError) {
        try index?.takeForeign(topic, stamped: settings.stamped, &opened)
      } catch {
        throw RunError(opening: error)
      }
      reader = consume opened
      if let format = try foreignFormat() {
        session = ReplaySession(format: format)
        var notes: [String] = []
        let refused = topics[..<place].map { title($0.name) }
        if !refused.isEmpty {
          notes.append(
            "pictures that \(path) has on \(refused.joined(separator: ", ")) are not read")
        }
        if let other = topics[(place + 1)...].first(where: { !$0.name.isEmpty }) {
          notes.append(
            "\(path) has pictures on \(topics.count - place) topics, and \(title(topic.name)) is played; "
              + "stream=\(other.name) plays another")
        }
        return notes.isEmpty ? nil : notes.joined(separator: "; ")
      }
    }
    return nil
  }

  private func title(_ topic: String) -> String { topic.isEmpty ? "the one without a name" : topic }

  /// The format of the first image that has one.
  private func foreignFormat() throws(RunError) -> FrameFormat? {
    guard let index else { return nil }
    for frame in index.frames.prefix(Self.patience) {
      guard let place = frame.place else { continue }
      image = try load(place)
      if let format = foreignFormat(place) { return format }
    }
    return nil
  }

  /// Frames that may be damaged before one that is not.
  private static var patience: Int { 100 }

  func foreignFormat(_ place: MCAPMessagePlace) -> FrameFormat? {
    var format: FrameFormat?
    _ = reader?.withMessage(at: place) { _, data in format = image?.format(data) }
    return format
  }
}

extension RunError {
  /// Why a file cannot be opened.
  init(opening error: MCAPError) {
    let hint = error.code == .format ? "; a movie or picture is played by the source file" : ""
    self.init(error.code == .interrupted ? .interrupted : .usage, error.description + hint)
  }
}
