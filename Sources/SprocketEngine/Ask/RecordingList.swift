internal import SprocketCore

/// The recordings of a run: asked for, under way, and ended. Any thread may use it, except that of the
/// source, which never takes the lock.
///
/// The `RecordingBook` has the state of the recordings. The list adds the objects that belong to it: files,
/// their records, and tickets of waiting requests.
///
/// Keeps of the contract of requests:
/// - A1: requests that are asked together become one entry of the port, and are accepted or refused together.
final class RecordingList: Sendable {
  typealias Job = RecordingJob

  /// Records of complete files that are kept. Larger: later questions are answered, at some 400 bytes each.
  static let kept = RecordingBook.kept
  /// Frames that a recording may count, so that sums of some recordings fit into 64 bits.
  static let mostFrames: UInt64 = 1 << 48

  struct Output {
    let recorder: UncheckedRecorder
    let stamped: StampedOutput
  }

  /// Unchecked: the list calls `prepare` alone, and any thread may call that.
  struct UncheckedRecorder: @unchecked Sendable {
    let recorder: any Recorder
  }

  struct State {
    /// Tells that there is news.
    let bell: NewsBell
    var book = RecordingBook()
    /// Outputs by the sink's number in the run.
    var outputs: [Int: Output] = [:]
    /// Files that have not begun.
    var jobs: [FileID: Job] = [:]
    /// Tickets of waiting requests. Tickets of other requests stay until the next request removes them.
    var tickets: [RequestTicket] = []
    /// Tickets of the script's requests. `takeOutcomes` removes a ticket when it returns its outcome.
    var followed: [RequestTicket] = []
    /// Records of files under way, by sink.
    var current: [Int: RecordingRecord] = [:]
    /// Of files that the finisher has.
    var completing: [Job] = []
    var records: [RecordingRecord] = []
    var endedCount = 0
    /// The latest ones, and the number of all.
    var news: [RunNews] = []
    var newsCount = 0
    /// Number of frames that were written, and lost because their file could not be completed, by sink.
    var lost: [Int: UInt64] = [:]

    mutating func take(_ files: [FileID]) -> [Job] {
      files.compactMap { jobs.removeValue(forKey: $0) }
    }
  }

  let state: Locked<State>
  let port: RequestPort

  init(_ port: RequestPort, _ bell: NewsBell) {
    self.port = port
    state = Locked(State(bell: bell))
  }

  /// Names of the sinks that can be asked.
  var outputNames: [String] {
    state.withLock { state in
      state.book.sinks.filter { state.outputs[$0.key]?.recorder.recorder.makesFiles ?? false }
        .map(\.value.name).sorted()
    }
  }

  /// Takes a place and makes a file: the first one of a recording, or a further one of `known`. Returns `nil`
  /// if there is no place.
  func makeFile(
    _ known: RecordingID? = nil, sink: Int, path: String? = nil, frames: UInt64?,
    isStep: Bool = false
  ) throws(RunError) -> Job? {
    let found = try state.withLock { (state) throws(RunError) in
      guard let output = state.outputs[sink] else { throw RecordingBook.isDetached("the sink") }
      return try state.book.reserve(sink, path: path, of: known, isStep: isStep)
        .map { (order: $0, output: output) }
    }
    guard let (order, output) = found else { return nil }
    do throws(RunError) {
      // The lock is not held here: a slow disk must not stop other threads.
      let file = try output.recorder.recorder.prepare(
        RecordingOrder(
          path: order.part.path, index: order.part.index, isMadeUp: order.part.index > 1))
      return Job(file, order, frames: frames, isTold: output.recorder.recorder.makesFiles)
    } catch {
      state.withLock { $0.book.release(order) }
      throw error
    }
  }

  /// Removes files that were made for requests that are refused.
  func abandon(_ jobs: [Job?]) {
    for case let job? in jobs {
      job.file.abandon()
      state.withLock { $0.book.release(job.order) }
    }
  }
}
