internal import SprocketCore
internal import SprocketMCAP
internal import SprocketRecords

// Files of other programs.

extension ReplaySource {
  /// Takes the first channel with images that can be played.
  func findForeign() throws(RunError) {
    for channel in index?.foreignChannels ?? [] {
      guard var opened = reader.take() else { return }
      do throws(MCAPError) {
        try index?.takeForeign(channel, stamped: settings.stamped, &opened)
      } catch {
        throw RunError(opening: error)
      }
      reader = consume opened
      if let format = try foreignFormat() {
        session = ReplaySession(format: format)
        return
      }
    }
  }

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
