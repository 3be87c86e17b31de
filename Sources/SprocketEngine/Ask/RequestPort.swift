internal import SprocketCore
internal import Synchronization

/// Carries requests from any thread to the source's thread.
///
/// Keeps of the contract of requests (A1 to A23, as the tests are named):
/// - A1: there is one port per run, bounded, drained in the order asked. Any thread may ask. Requests that
///   are asked together are stamped at one frame.
/// - A5: at the run's end the port closes, and refuses what comes later.
final class RequestPort: Sendable {
  /// Most requests that may wait for the source's thread or for their frame. A larger value accepts longer
  /// bursts.
  static let capacity = 256
  /// Most requests that may be asked together. A larger value allows requests for more sinks.
  static let mostTogether = 16

  /// What a request changes at a sink's gate.
  enum Change: Hashable, Sendable {
    case begin(RecordingID, frames: UInt64?)
    /// Begins the recording of a frame that is chosen by its time; the sink gets all frames anyway.
    case choose(RecordingID)
    case next(RecordingID, FileID)
    case pause(RecordingID)
    case resume(RecordingID)
    /// Ends a recording; if it has not begun, it will not begin.
    case end(RecordingID)
    /// The sink reports that a recording has ended by itself.
    case ended(RecordingID)

    var isNext: Bool { if case .next = self { true } else { false } }

    var recording: RecordingID {
      switch self {
      case .begin(let id, _), .choose(let id), .next(let id, _), .pause(let id), .resume(let id),
        .end(let id), .ended(let id):
        id
      }
    }
  }

  struct Step: Hashable, Sendable {
    let sink: Int
    let change: Change
  }

  struct Entry: Sendable {
    var steps: [Step] = []
    var settings: SettingRequest?
    var sequence: RecordingSequence?
    /// Number of the sink to wake.
    var woken: Int?
    /// Ticket of the requests; `nil` for an entry that cannot be withdrawn.
    var ticket: RequestTicket?
    /// Recordings of `sequence` that a request has stopped before it began.
    var stopped: Set<RecordingID> = []
    /// Whether it takes none of the port's places.
    fileprivate(set) var isOwn = false
    let moment: Moment
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false
  }

  private let state = Locked(State())
  /// Number of entries ever added. The source's thread takes the lock only if it has changed.
  private let count = Atomic<UInt64>(0)
  /// Number of entries that the source's thread took and that wait for their frame, without those with
  /// `isOwn`.
  let waiting = Atomic<Int>(0)

  private let ids = Atomic<UInt64>(0)

  func newID() -> RequestID {
    RequestID(ids.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Adds an entry. Returns false if the port is full, or closed. An entry with `isOwn` uses none of the
  /// port's places. There are few of these: a sink's thread adds one at the end of each recording, each
  /// recording has two for its stops, and each sink has one that wakes it.
  func add(_ entry: Entry, isOwn: Bool = false) -> Bool {
    state.withLock { state in
      let used = state.entries.count { !$0.isOwn } + waiting.load(ordering: .relaxed)
      guard !state.isClosed, isOwn || used < Self.capacity else { return false }
      var entry = entry
      entry.isOwn = isOwn
      state.entries.append(entry)
      // `count` changes under the lock: `take` reads both together, and so misses no entry.
      count.wrappingAdd(1, ordering: .releasing)
      return true
    }
  }

  /// Returns the entries that were added since `seen`, and updates `seen`. Costs one load if there are none.
  /// Without `waits`, for a live source: if another thread holds the lock, the next call returns the entries.
  /// With `waits`, for an offline source: waits for the lock, so that no frame misses a request made for it.
  func take(since seen: inout UInt64, waits: Bool) -> [Entry] {
    guard count.load(ordering: .acquiring) != seen else { return [] }
    func all(_ state: inout State) -> (entries: [Entry], count: UInt64) {
      defer { state.entries = [] }
      return (state.entries, count.load(ordering: .acquiring))
    }
    let taken = waits ? state.withLock { all(&$0) } : state.withLockIfAvailable { all(&$0) }
    guard let taken else { return [] }
    seen = taken.1
    return taken.0
  }

  func close() { state.withLock { $0.isClosed = true } }

  /// Why `add` has returned false.
  var refusal: RunError {
    state.withLock(\.isClosed)
      ? RunError(.usage, "the run has ended")
      : RunError(.failed, "too many requests wait; ask again in a moment")
  }
}
