internal import SprocketCore
internal import Synchronization

/// Carries requests to the source's thread.
///
/// Keeps of the contract of requests (A1 to A20, as the tests are named):
/// - A1: there is one port per run, bounded, drained in the order asked. Any thread may ask. Requests that
///   are asked together are stamped at one frame.
/// - A5: at the run's end the port closes, and refuses what comes later.
final class RequestPort: Sendable {
  /// Requests that may wait: for the source's thread, or for their frame. Larger: longer bursts are accepted.
  static let capacity = 256
  /// Requests that may be asked together. Larger: a request for more sinks.
  static let mostTogether = 16

  /// A change of one sink's gate.
  enum Step: Hashable, Sendable {
    case begin(RecordingID, sink: Int, frames: UInt64?)
    case next(RecordingID, sink: Int)
    case end(RecordingID, sink: Int)
    /// The sink says that a recording has ended by itself.
    case ended(RecordingID, sink: Int)

    var sink: Int {
      switch self {
      case .begin(_, let sink, _), .next(_, let sink), .end(_, let sink), .ended(_, let sink): sink
      }
    }
  }

  struct Entry: Sendable {
    let steps: [Step]
    let moment: Moment
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Changes with every `add`, so that the source's thread takes the lock only if there is something to take.
  private let count = Atomic<UInt64>(0)
  /// Entries that the source's thread took and that wait for their frame.
  let waiting = Atomic<Int>(0)

  /// False if the port is full, or closed. With `isOwn` it has always room: a sink's thread adds one entry
  /// per recording.
  func add(_ entry: Entry, isOwn: Bool = false) -> Bool {
    state.withLock { state in
      let used = state.entries.count + waiting.load(ordering: .relaxed)
      guard !state.isClosed, isOwn || used < Self.capacity else { return false }
      state.entries.append(entry)
      // Under the lock, so that `take` never misses an entry whose count it has seen.
      count.wrappingAdd(1, ordering: .releasing)
      return true
    }
  }

  /// The entries added since `seen`, which becomes current. Costs one load if there are none. If another
  /// thread holds the lock, the next call gets them: the source's thread does not wait.
  func take(since seen: inout UInt64) -> [Entry] {
    guard count.load(ordering: .acquiring) != seen else { return [] }
    let taken = state.withLockIfAvailable { state in
      defer { state.entries = [] }
      return (state.entries, count.load(ordering: .acquiring))
    }
    guard let taken else { return [] }
    seen = taken.1
    return taken.0
  }

  func close() { state.withLock { $0.isClosed = true } }
}
