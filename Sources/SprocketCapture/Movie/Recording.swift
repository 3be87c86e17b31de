internal import Sprocket

/// A recording: one file.
public final class Recording: Sendable {
  private struct State {
    var result: RecordingResult?
    var notes: [String] = []
    var waiting: [CheckedContinuation<RecordingResult, Never>] = []
  }

  public let path: String
  /// What happens to it, for one reader; ends with `.didFinish`.
  public let events: AsyncStream<RecordingEvent>
  private let reader: AsyncStream<RecordingEvent>.Continuation
  private let state = Locked(State())
  private let onStop: @Sendable (Recording) -> Void

  init(path: String, onStop: @escaping @Sendable (Recording) -> Void) {
    self.path = path
    self.onStop = onStop
    (events, reader) = AsyncStream.makeStream()
  }

  /// Asks it to end with the frames so far. Does nothing if it has ended.
  public func stop() { onStop(self) }

  /// What became of it; `nil` while it is under way.
  public var result: RecordingResult? { state.withLock(\.result) }

  /// Waits for its end.
  public func finished() async -> RecordingResult {
    await withCheckedContinuation { reader in
      let result = state.withLock { state in
        if state.result == nil { state.waiting.append(reader) }
        return state.result
      }
      if let result { reader.resume(returning: result) }
    }
  }

  func didStart(_ path: String) { tell(.didStart(path: path)) }

  func tell(_ event: RecordingEvent) { reader.yield(event) }

  /// Something that the result is to tell, once.
  func note(_ text: String) {
    state.withLock { if !$0.notes.contains(text) { $0.notes = $0.notes + [text] } }
  }

  func didFinish(_ ended: RecordingResult) {
    var result = ended
    let waiting = state.withLock { state -> [CheckedContinuation<RecordingResult, Never>]? in
      guard state.result == nil else { return nil }
      result.notes = state.notes
      state.result = result
      defer { state.waiting = [] }
      return state.waiting
    }
    guard let waiting else { return }
    reader.yield(.didFinish(result))
    reader.finish()
    for reader in waiting { reader.resume(returning: result) }
  }
}
