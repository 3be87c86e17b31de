public import SprocketCore
internal import Synchronization

/// A step of a thread on one frame.
public struct TraceSlice: Sendable {
  /// On the monotonic clock, in nanoseconds.
  public let start: Int64
  public let end: Int64
  /// The frame's running number.
  public let frame: UInt64
  /// Index in `Trace.steps`.
  public let step: UInt16
  /// Where the frame ended here.
  public let fate: Fate?
}

/// The slices of one thread; of a lane's worker over all epochs. It keeps the latest `limit` of them, in
/// memory that is allocated when it is made.
///
/// Unchecked: `slices` and `count` belong to the thread between `begin` and `end`, and to the reader after
/// that.
public final class TraceThread: @unchecked Sendable {
  public let name: String
  private var kept: [TraceSlice]
  private var count = 0
  private let isRunning = Atomic<Bool>(false)

  init(_ name: String, limit: Int) {
    self.name = name
    kept = Array(
      repeating: TraceSlice(start: 0, end: 0, frame: 0, step: 0, fate: nil), count: limit)
  }

  static func bytes(limit: Int) -> Int { limit * MemoryLayout<TraceSlice>.stride }

  /// The thread that has the slices begins.
  func begin() { isRunning.store(true, ordering: .relaxed) }

  /// It adds no more in this epoch.
  func end() { isRunning.store(false, ordering: .releasing) }

  func add(_ step: UInt16, frame: UInt64, from start: Int64, to end: Int64, fate: Fate? = nil) {
    kept[count % kept.count] = TraceSlice(
      start: start, end: end, frame: frame, step: step, fate: fate)
    count += 1
  }

  /// What is kept, in the order of the ends; `nil` of a thread that is stuck.
  public var slices: [TraceSlice]? {
    guard !isRunning.load(ordering: .acquiring) else { return nil }
    guard count > kept.count else { return Array(kept[..<count]) }
    let oldest = count % kept.count
    return Array(kept[oldest...] + kept[..<oldest])
  }

  /// Slices that came before those that are kept; 0 of a thread that is stuck.
  public var missing: Int {
    isRunning.load(ordering: .acquiring) ? 0 : max(0, count - kept.count)
  }
}

/// What each thread of a run did to each frame, of `RunOptions.traceLimit`.
public final class Trace: Sendable {
  /// Slices that are kept of each thread.
  public let limit: Int
  private let state = Mutex<(steps: [String], threads: [TraceThread])>(([], []))

  init(limit: Int) { self.limit = limit }

  /// The source, then lanes and sinks as they began.
  public var threads: [TraceThread] { state.withLock { $0.threads } }

  /// Names of steps.
  public var steps: [String] { state.withLock { $0.steps } }

  /// The thread of that name, which a later epoch may have again. Allocates where it is new.
  func thread(_ name: String) -> TraceThread {
    state.withLock { state in
      if let found = state.threads.first(where: { $0.name == name }) { return found }
      let made = TraceThread(name, limit: limit)
      state.threads.append(made)
      return made
    }
  }

  func step(_ name: String) -> UInt16 {
    state.withLock { state in
      if let found = state.steps.firstIndex(of: name) { return UInt16(found) }
      state.steps.append(name)
      return UInt16(state.steps.count - 1)
    }
  }

  /// What the slices take in memory once threads of these names are among them.
  func bytes(adding names: [String]) -> Int {
    let known = threads.map(\.name)
    let count = known.count + names.count { !known.contains($0) }
    return count * TraceThread.bytes(limit: limit)
  }
}

/// What is measured of a worker's steps: one place for the summary's durations and the trace's slices.
struct StepMeter {
  /// By step.
  private(set) var timers: [DurationHistogram]
  /// By step: CPU time of the frames that were sampled.
  private(set) var processor: [CPUSample]
  let thread: TraceThread?
  private let steps: [UInt16]
  private let warmUp: UInt64

  init(_ names: [String], thread: String, _ shared: RunShared) {
    let trace = shared.trace
    warmUp = shared.warmUp
    timers = names.map { _ in DurationHistogram() }
    processor = names.map { _ in CPUSample() }
    steps = names.map { trace?.step($0) ?? 0 }
    self.thread = trace?.thread(thread)
  }

  /// `fate` where the frame was dropped in the step.
  mutating func record(
    _ index: Int, frame: UInt64, from start: Int64, to end: Int64, fate: Fate?
  ) {
    if frame >= warmUp { timers[index].record(end - start) }
    thread?.add(steps[index], frame: frame, from: start, to: end, fate: fate)
  }

  /// Whether the CPU time of a frame is to be measured.
  func samples(_ sequence: UInt64) -> Bool {
    sequence >= warmUp && CPUSample.samples(sequence - warmUp)
  }

  /// Returns what the thread has used by now; `start` is what it had before the step.
  mutating func sample(_ index: Int, since start: Int64) -> Int64 {
    processor[index].record(since: start)
  }
}

/// The slices of the source's thread, one behind the other. Looks at the clock only where the run is traced.
struct SourceTracer {
  enum Step: Int {
    /// Offline the source waits for the chain to have room, then for a frame.
    case room, frame
    /// What becomes of the frame; without room, live, it is discarded.
    case deliver, discard
  }

  static let name = "source"
  /// In the order of the cases.
  private static let names = ["wait for room", "wait for frame", "deliver", "discard"]
  private let thread: TraceThread?
  private let steps: [UInt16]
  private var latest: Int64 = 0

  init(_ trace: Trace?) {
    thread = trace?.thread(Self.name)
    steps = Self.names.map { trace?.step($0) ?? 0 }
  }

  mutating func begin() {
    guard let thread else { return }
    thread.begin()
    latest = monotonicNow()
  }

  func end() { thread?.end() }

  /// Adds what was done since the slice before, up to `now`.
  mutating func add(
    _ step: Step, frame: UInt64, now: Int64? = nil, fate: Fate? = nil
  ) {
    guard let thread else { return }
    let now = now ?? monotonicNow()
    thread.add(steps[step.rawValue], frame: frame, from: latest, to: now, fate: fate)
    latest = now
  }
}
