public import SprocketCore
internal import Synchronization

/// The time that a thread spent on one step of one frame.
public struct TraceSlice: Sendable {
  /// Nanoseconds of the monotonic clock.
  public let start: Int64
  public let end: Int64
  /// The frame's running number.
  public let frame: UInt64
  /// Index in `Trace.steps`.
  public let step: UInt16
  /// Fate of a frame that ended in this step; `nil` for others.
  public let fate: Fate?
  /// Positions of the ring that were in use, in slices of the source; `nil` in others.
  public var used: Int? { ring == .max ? nil : Int(ring) }
  fileprivate let ring: UInt16
}

/// The slices of one thread; for a worker of a lane, of all epochs. Keeps the latest `limit` slices in memory
/// that is allocated in `init`.
///
/// Unchecked: between `begin` and `end` only the thread uses `slices` and `count`; afterwards only the reader
/// does.
public final class TraceThread: @unchecked Sendable {
  public let name: String
  private var kept: [TraceSlice]
  private var count = 0
  /// The kernel's number of the thread, and the first slice of it: an epoch may have a thread of its own.
  private var numbers: [(first: Int, number: Int32)] = []
  private let isRunning = Atomic<Bool>(false)

  init(_ name: String, limit: Int) {
    self.name = name
    kept = Array(
      repeating: TraceSlice(start: 0, end: 0, frame: 0, step: 0, fate: nil, ring: .max),
      count: limit)
  }

  static func bytes(limit: Int) -> Int { limit * MemoryLayout<TraceSlice>.stride }

  /// Called on the thread, when it starts in an epoch.
  func begin() {
    isRunning.store(true, ordering: .relaxed)
    let number = threadNumber()
    if numbers.last?.number != number { numbers.append((count, number)) }
  }

  /// Called when the thread has added its last slice of the epoch.
  func end() { isRunning.store(false, ordering: .releasing) }

  func add(
    _ step: UInt16, frame: UInt64, from start: Int64, to end: Int64, fate: Fate? = nil,
    used: Int? = nil
  ) {
    kept[count % kept.count] = TraceSlice(
      start: start, end: end, frame: frame, step: step, fate: fate,
      ring: used.map { UInt16(clamping: $0) } ?? .max)
    count += 1
  }

  /// The kept slices by the kernel's number of the thread that they are of, oldest first; `nil` if the thread
  /// is stuck. A thread without a slice is among them.
  public var parts: [(number: Int32, slices: ArraySlice<TraceSlice>)]? {
    guard let slices else { return nil }
    return numbers.indices.map { index in
      let end = index + 1 < numbers.count ? numbers[index + 1].first : count
      let range = max(0, numbers[index].first - missing)..<max(0, end - missing)
      return (numbers[index].number, slices[range])
    }
  }

  /// The kept slices in the order of their ends; `nil` if the thread is stuck.
  public var slices: [TraceSlice]? {
    guard !isRunning.load(ordering: .acquiring) else { return nil }
    guard count > kept.count else { return Array(kept[..<count]) }
    let oldest = count % kept.count
    return Array(kept[oldest...] + kept[..<oldest])
  }

  /// Number of older slices that were overwritten; 0 if the thread is stuck.
  public var missing: Int {
    isRunning.load(ordering: .acquiring) ? 0 : max(0, count - kept.count)
  }
}

/// The steps of every thread of a run, kept if `RunOptions.traceLimit` is set.
public final class Trace: Sendable {
  /// Slices kept per thread.
  public let limit: Int
  private let state = Locked<(steps: [String], threads: [TraceThread])>(([], []))

  init(limit: Int) { self.limit = limit }

  /// The source's thread first, then lanes and sinks in the order in which they started.
  public var threads: [TraceThread] { state.withLock { $0.threads } }

  /// Names of steps.
  public var steps: [String] { state.withLock { $0.steps } }

  /// Finds or makes the thread with that name; a later epoch uses the same one. Allocates if it is new.
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

  /// Bytes of all slices after threads with these names were added.
  func bytes(adding names: [String]) -> Int {
    let known = threads.map(\.name)
    let count = known.count + names.count { !known.contains($0) }
    return count * TraceThread.bytes(limit: limit)
  }
}

/// Measures a worker's steps, for the summary's durations, for the trace, and for `Engine.load`.
struct StepMeter {
  /// One per step.
  private(set) var timers: [DurationHistogram]
  /// One per step: CPU time of sampled frames.
  private(set) var processor: [CPUSample]
  let thread: TraceThread?
  private let load: [StepGauge]
  private let steps: [UInt16]
  private let warmUp: UInt64

  init(_ names: [String], thread: String, _ shared: RunShared) {
    let trace = shared.trace
    warmUp = shared.warmUp
    timers = names.map { _ in DurationHistogram() }
    processor = names.map { _ in CPUSample() }
    steps = names.map { trace?.step($0) ?? 0 }
    self.thread = trace?.thread(thread)
    load = shared.gauges.thread(thread, steps: names)
  }

  /// Records for how long a frame waited for the first step.
  func recordWait(since start: Int64, until end: Int64) { load.first?.addWait(end - start) }

  /// `fate` is set if the frame was dropped in this step.
  mutating func record(
    _ index: Int, frame: UInt64, from start: Int64, to end: Int64, fate: Fate?
  ) {
    if frame >= warmUp { timers[index].record(end - start) }
    load[index].add(work: end - start, fate: fate)
    thread?.add(steps[index], frame: frame, from: start, to: end, fate: fate)
  }

  /// Whether the CPU time of this frame is measured.
  func samples(_ sequence: UInt64) -> Bool {
    sequence >= warmUp && CPUSample.samples(sequence - warmUp)
  }

  /// Records CPU time since `start`. Returns the thread's CPU time now.
  mutating func sample(_ index: Int, since start: Int64) -> Int64 {
    let now = processor[index].record(since: start)
    load[index].add(cpu: now - start)
    return now
  }
}

/// The slices of the source's thread, without gaps between them, and the time that it spends on a frame.
/// Reads the clock only in a run that is traced or measures its source.
struct SourceTracer {
  enum Step: Int {
    /// Offline, the source waits for room in the chain, then for a frame.
    case room, frame
    /// The frame is delivered; if the chain has no room in a live run, it is discarded.
    case deliver, discard
  }

  static let name = "source"
  /// In the order of the cases.
  private static let names = ["wait for room", "wait for frame", "deliver", "discard"]
  private let thread: TraceThread?
  private let steps: [UInt16]
  private var latest: Int64 = 0
  private let warmUp: UInt64
  /// What the thread spent on frames; `nil` unless the run measures its source.
  private var frames: StageTimers.Line?
  /// Time that the frame took to arrive, and the thread's CPU time before it.
  private var arrival: (time: Int64, cpu: Int64) = (0, 0)

  init(_ shared: RunShared) {
    let trace = shared.trace
    thread = trace?.thread(Self.name)
    steps = Self.names.map { trace?.step($0) ?? 0 }
    warmUp = shared.warmUp
    frames = shared.measuresSource ? StageTimers.Line(name: Self.name) : nil
  }

  /// From the call for a frame to the filled slot.
  var summary: DurationSummary? { frames?.presentSummary }

  mutating func begin() {
    guard thread != nil || frames != nil else { return }
    thread?.begin()
    latest = monotonicNow()
    arrival.cpu = frames == nil ? 0 : threadCPUTime()
  }

  func end() { thread?.end() }

  /// Adds a slice from the end of the previous one to `now`.
  /// `used` is asked in a traced run alone.
  mutating func add(
    _ step: Step, frame: UInt64, now: Int64? = nil, fate: Fate? = nil,
    used: @autoclosure () -> Int? = nil
  ) {
    guard thread != nil || frames != nil else { return }
    let now = now ?? monotonicNow()
    thread?.add(
      steps[step.rawValue], frame: frame, from: latest, to: now, fate: fate, used: used())
    if frames != nil { measure(step, frame: frame, now - latest) }
    latest = now
  }

  private mutating func measure(_ step: Step, frame: UInt64, _ duration: Int64) {
    func samples(_ number: UInt64) -> Bool {
      number >= warmUp && CPUSample.samples(number - warmUp)
    }
    switch step {
    case .frame: arrival.time = duration
    case .room: if samples(frame) { arrival.cpu = threadCPUTime() }
    case .deliver, .discard:
      if frame >= warmUp { frames?.histogram.record(arrival.time + duration) }
      if samples(frame) { _ = frames?.processor.record(since: arrival.cpu) }
      if samples(frame + 1) { arrival.cpu = threadCPUTime() }
    }
  }
}
