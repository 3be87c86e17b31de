internal import SprocketCore

/// The recordings of a run: asked for, under way, and ended.
///
/// Keeps of the contract of requests:
/// - A1: requests that are asked together become one entry of the port. A request about a recording that
///   has ended is refused with the reason of its end.
/// - A6: a recording, and each further file, takes a place when it is asked for and gives it back with its
///   record. Without a place the request is refused; no request is refused later for want of one.
///
/// The source's thread never takes the lock.
final class RecordingList: Sendable {
  typealias Job = RecordingJob

  /// Files that are asked for and not yet complete. Larger: a slower disk refuses fewer requests, at the
  /// cost of as many open files.
  static let capacity = 80
  /// Number of files up to which a sequence may be asked. Its files have places from the call on; the rest is
  /// for other recordings. Larger: longer sequences.
  static let sequenceCapacity = 64
  /// Records of complete files that are kept. Larger: later questions are answered, at some 400 bytes each.
  static let kept = 1024
  /// Frames that a recording may count, so that sums of some recordings fit into 64 bits.
  static let mostFrames: UInt64 = 1 << 48

  struct UnderWay {
    let id: RecordingID
    let counts: Bool
    /// The path that was asked for, and how many files have it.
    var path: String?
    var parts = 1
    /// Whether it was asked for at a later frame than the next, and has not begun.
    var isLater = false
  }

  struct Output {
    let name: String
    let recorder: UncheckedRecorder
    let stamped: StampedOutput
    var nextIndex = 1
    /// Recordings that have not ended, in the order asked.
    var underWay: [UnderWay] = []
  }

  /// Unchecked: the list calls `prepare` alone, and any thread may call that.
  struct UncheckedRecorder: @unchecked Sendable {
    let recorder: any Recorder
  }

  /// Identifies a sink, attached or detached, by its number in the run and its name.
  struct Owner: Hashable {
    let sink: Int
    let name: String
  }

  struct State {
    /// Tells that there is news.
    let bell: NewsBell
    /// By the sink's number in the run.
    var outputs: [Int: Output] = [:]
    var nextID: UInt64 = 1
    /// Number of files that were asked for and are not complete, by sink.
    var places: [Owner: Int] = [:]
    /// Files that have not begun yet, in the order asked.
    var waiting: [Job] = []
    /// Records of files under way, by sink.
    var current: [Int: RecordingRecord] = [:]
    /// Of files that the finisher has.
    var completing: [Job] = []
    /// Why recordings ended, the latest ones.
    var reasons: [(id: RecordingID, reason: RecordingEnd)] = []
    var records: [RecordingRecord] = []
    var endedCount = 0
    /// The latest ones, and the number of all.
    var news: [RunNews] = []
    var newsCount = 0
    /// Number of frames that were written, and lost because their file could not be completed, by sink.
    var lost: [Int: UInt64] = [:]
    /// Recordings for which a `stop` at the next frame is on its way.
    var ending: Set<RecordingID> = []
    var isClosed = false
  }

  let state: Locked<State>
  let port: RequestPort

  init(_ port: RequestPort, _ bell: NewsBell) {
    self.port = port
    state = Locked(State(bell: bell))
  }

  /// Names of the sinks that can be asked.
  var outputNames: [String] { state.withLock { $0.outputs.values.map(\.name).sorted() } }

  // MARK: Files and sinks

  /// A place for a file, and the file's name.
  struct Place {
    let output: Output
    let id: RecordingID
    let path: String?
    let index: Int
  }

  /// Takes a place; returns `nil` if there is none. With an `id`, the file is a further one of that
  /// recording: without a `path` of its own it has the recording's path and the next number.
  private func takePlace(
    _ id: RecordingID?, sink: Int, path: String?, isStep: Bool
  ) throws(RunError) -> Place? {
    let isThere = state.withLock { $0.outputs[sink] != nil }
    guard isThere else { throw Self.isDetached("the sink") }
    return state.withLock { state in
      let most = isStep ? Self.sequenceCapacity : Self.capacity
      let taken = state.places.values.reduce(0, +)
      guard var output = state.outputs[sink], taken < most else { return nil }
      state.places[Owner(sink: sink, name: output.name), default: 0] += 1
      if id == nil { state.nextID += 1 }
      let given = id ?? RecordingID(state.nextID - 1)
      defer { state.outputs[sink] = output }
      var (path, index) = (path, 1)
      if let entry = output.underWay.firstIndex(where: { $0.id == id }) {
        if path == nil, let known = output.underWay[entry].path {
          output.underWay[entry].parts += 1
          (path, index) = (known, output.underWay[entry].parts)
        } else {
          (output.underWay[entry].path, output.underWay[entry].parts) = (path, 1)
        }
      }
      if path == nil {
        index = output.nextIndex
        output.nextIndex += 1
      }
      return Place(output: output, id: given, path: path, index: index)
    }
  }

  /// Makes the file of a recording: a further one if the recording has an `id` already.
  func prepare(
    _ id: RecordingID?, sink: Int, path: String?, frames: UInt64?, isStep: Bool = false
  ) throws(RunError) -> Job {
    guard let file = try makeFile(id, sink: sink, path: path, frames: frames, isStep: isStep)
    else {
      throw RunError(
        .failed,
        isStep
          ? "a sequence takes files up to \(Self.sequenceCapacity), with those that are still being "
            + "completed; ask for fewer, or again when these are complete"
          : "\(Self.capacity) files are still being completed; ask again when the disk has caught up"
      )
    }
    return file
  }

  /// `nil` if there is no place.
  func makeFile(
    _ id: RecordingID?, sink: Int, path: String?, frames: UInt64?, isStep: Bool = false
  ) throws(RunError) -> Job? {
    guard let place = try takePlace(id, sink: sink, path: path, isStep: isStep) else { return nil }
    do throws(RunError) {
      let file = try place.output.recorder.recorder.prepare(
        RecordingOrder(path: place.path, index: place.index, isMadeUp: place.index > 1))
      return Job(
        file, id: place.id, sink: (sink, place.output.name), frames: frames, isPart: id != nil)
    } catch {
      state.withLock { $0.giveBack(Owner(sink: sink, name: place.output.name)) }
      throw error
    }
  }

  func sink(named name: String) throws(RunError) -> Int {
    let (found, known) = state.withLock { state in
      (
        state.outputs.first { $0.value.name == name }?.key,
        state.outputs.values.map(\.name).sorted()
      )
    }
    if let found { return found }
    throw RunError(
      .usage,
      known.isEmpty
        ? "this run has no on-demand sink; make one that waits for requests"
        : "no on-demand sink is called \(name); " + knownNames(known, near: name))
  }

  func sink(recording id: RecordingID) throws(RunError) -> Int {
    let result: Result<Int, RunError> = state.withLock { state in
      state.sink(recording: id).map { .success($0) } ?? .failure(Self.hasEnded(id, state))
    }
    return try result.get()
  }

  static func isDetached(_ name: String) -> RunError {
    RunError(.usage, "\(name) was detached from the run; attach it again")
  }

  static func hasEnded(_ id: RecordingID, _ state: borrowing State) -> RunError {
    let reason = state.reasons.last { $0.id == id }?.reason.sentence
    if let reason { return RunError(.usage, "recording \(id) has ended: \(reason)") }
    let isKnown = id.number > 0 && id.number < state.nextID
    return RunError(
      .usage, isKnown ? "recording \(id) has ended long ago" : "there is no recording \(id)")
  }
}
