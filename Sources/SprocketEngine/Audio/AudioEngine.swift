public import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The sound of one source: a thread reads its blocks, passes them through stages, measures their levels, and
/// publishes them in a ring of their own; sinks read through taps.
///
/// `init` opens the source. Taps are made before `start`, and some while it runs. A live source
/// never waits for its taps: a tap that is too slow, or does not read, loses the oldest blocks after `held`.
/// Any other source waits for its taps, and for the pictures of its run, once it is some seconds ahead.
///
/// With `outlivesSource` the sound goes on without a source: where it ends or fails, where another one takes
/// its place (`exchange`), and while there is none. Taps then get no block, and movies are silent.
///
/// It keeps R1 to R10 as the ring of pictures does, without lanes: the source's thread does all the work, and
/// the device's own buffer holds what it has not read.
///
/// Unchecked: the thread alone uses the source, the stages and the clock; what others may ask for is atomic
/// or under a lock.
public final class AudioEngine: @unchecked Sendable {
  public let description: AudioDescription
  /// For how long a live source keeps its blocks for a tap that does not read.
  public let held: Duration
  let shared: AudioShared
  /// Whether another source may take the place of this one.
  public let outlivesSource: Bool
  let seat: AudioSeat
  let chain: AudioChain
  private let thread: JobThread
  /// Those that were made before the start.
  private var taps: [AudioRingTap] = []
  /// Once it has started: for taps that are made then.
  private let spares = Locked<(taps: [AudioSpare], memory: AudioMemory?)>(([], nil))
  /// Threads of sinks, of those that came later too; no more come once the sound is over.
  let workers = Locked<(all: [AudioSinkWorker], isClosed: Bool)>(([], false))
  var clock: AudioClock
  /// Of the latest segment that is over.
  var placed: AudioLine?
  var next: UInt64 = 0
  var missing: UInt64 = 0
  var block: UInt64 = 0
  /// When the last block was read.
  var lastRead: Int64 = 0
  /// Samples to read at most, missing ones counted.
  var sampleLimit = UInt64.max
  private let hasStarted = Atomic<Bool>(false)

  /// Opens the source, and configures stages and sinks. Larger `held`: taps may pause for longer, at the cost
  /// of memory.
  public init(
    _ source: any AudioSource, stages choices: [AudioChoice] = [], sinks: [any AudioSink] = [],
    held: Duration = .seconds(4), outlivesSource: Bool = false
  ) throws(RunError) {
    for mistake in choices.flatMap(\.plugin.mistakes) { throw mistake }
    let stages = choices.map { $0.make() }
    thread = try JobThread("sound")
    let description = try source.open()
    let format = description.format
    let setup = AudioStageSetup(
      rate: format.rate, channels: format.channels, blockSamples: description.blockSamples,
      isLive: description.isLive)
    do throws(RunError) {
      chain = try AudioChain(choices, stages, setup, of: description.name)
    } catch {
      try? source.close()
      throw error
    }
    seat = AudioSeat(OpenSound(source, description))
    self.outlivesSource = outlivesSource
    self.description = description
    self.held = held
    clock = AudioClock(format)
    shared = AudioShared(format)
    for sink in sinks {
      do throws(RunError) {
        try sink.configure(description)
      } catch {
        throw RunError(error, of: sink.name)
      }
      let tap = AudioRingTap(
        sink: sink.name, index: taps.count, shared, description,
        keepsToPictures: !description.isLive)
      taps.append(tap)
      let worker = try AudioSinkWorker(sink, tap, shared)
      workers.withLock { $0.all.append(worker) }
    }
  }

  /// A tap for the sink of that name. Once the engine has started, its first block is the next one, and
  /// `spareTaps` may be there at the same time, at most.
  public func makeTap(for sink: String) throws(RunError) -> any AudioTap {
    guard !hasBegun else { return try makeLateTap(for: sink) }
    let tap = AudioRingTap(sink: sink, index: taps.count, shared, description)
    taps.append(tap)
    return tap
  }

  func makeLateTap(for sink: String) throws(RunError) -> AudioRingTap {
    awaitBegin()
    let (spares, memory) = spares.withLock { $0 }
    if let tap = AudioRingTap(sink: sink, spares, memory, shared, description) { return tap }
    throw RunError(
      .failed,
      "the sound of \(description.name) cannot be given to \(sink): it is over, or "
        + "\(Self.spareTaps) sinks that came later have it; take one of them away")
  }

  var hasBegun: Bool { hasStarted.load(ordering: .acquiring) }

  /// Waits until the sound of a run that was started has begun, a second at most: the run's thread begins
  /// it.
  public func awaitBegin() {
    _ = shared.state.wait(while: AudioShared.idle, until: deadline(in: Self.beginPatience))
  }

  /// Longest wait for the run's thread, nanoseconds: it begins the sound first of all. Larger: slower
  /// machines are waited for.
  private static let beginPatience: Int64 = 1_000_000_000

  /// For sound without pictures that does not come by itself: ends after that time. Before `start`.
  func limit(to length: Duration) {
    let samples = Double(length.nanosecondCount) / 1e9 * Double(description.format.rate)
    sampleLimit = UInt64(max(1, samples.rounded()))
  }

  /// Begins to read, on a thread of the engine's.
  public func start() throws(RunError) {
    guard !hasStarted.exchange(true, ordering: .acquiringAndReleasing) else {
      throw RunError(.usage, "this sound was started before; make another AudioEngine")
    }
    let blocks = Double(description.format.rate) / Double(max(1, description.usualSamples))
    let seconds = description.isLive ? Double(held.nanosecondCount) / 1e9 : Self.secondsAhead
    // One block is being filled.
    let depth = 1 + min(max(Int((seconds * blocks).rounded(.up)), 4), 1 << 20)
    let plan = RingPlan(
      depth: depth, lanes: [],
      taps: Array(
        repeating: RingPlan.Tap(upstream: .source, gates: !description.isLive, parks: true),
        count: taps.count + Self.spareTaps))
    let ring = Engine.makeRing(plan)
    let memory = AudioMemory(
      slotCount: ring.slotCount,
      slotBytes: description.blockSamples * description.format.sampleBytes, line: clock.line)
    for tap in taps { tap.open(ring, memory) }
    let later = (taps.count..<taps.count + Self.spareTaps).map { AudioSpare(ring, $0) }
    spares.withLock { $0 = (later, memory) }
    shared.state.set(AudioShared.running)
    for worker in workers.withLock(\.all) { worker.start() }
    thread.perform { self.chain.code.during { self.run(ring, memory, later) } }
  }

  /// Asks it to end: the source stops, and taps get what has been published. From any thread.
  public func stop() {
    shared.isStopping.store(true, ordering: .releasing)
    seat.interrupt()
    shared.pictures.end()
  }

  /// Reads sound up to `time` (nanoseconds, on its clock), though no picture of that time comes: the last
  /// one lasts so long. From any thread.
  package func extend(to time: Int64) {
    shared.extendedTime.store(time, ordering: .releasing)
  }

  /// Asks it to end when all sound before `time` (nanoseconds, on its clock) has been read; without a time,
  /// at once.
  func stop(at time: Int64?) {
    guard let time else { return stop() }
    let extended = shared.extendedTime.load(ordering: .acquiring)
    shared.endTime.store(max(time, extended), ordering: .releasing)
    shared.pictures.end()
  }

  /// Waits for the end, for `limit` at most. True when it is over; false for one that was not started.
  public func wait(for limit: Duration) -> Bool {
    guard hasBegun else { return false }
    let end = deadline(in: limit.nanosecondCount)
    guard thread.wait(until: end) else { return false }
    while workers.withLock(\.all).allSatisfy({ $0.wait(until: end) }) {
      // One may have come meanwhile.
      let isOver = workers.withLock { workers in
        workers.isClosed = workers.isClosed || workers.all.allSatisfy { $0.wait(until: 0) }
        return workers.isClosed
      }
      if isOver { return true }
    }
    return false
  }

  /// Whether the source has ended, and all sinks have finished.
  public var isOver: Bool { wait(for: .zero) }

  /// Changes settings of a stage while the sound goes on, from the next block on. What the stage has gathered
  /// is gone: it begins anew. Throws if there is no such stage or setting, and if the value is not allowed.
  /// From any thread; allocates there, and not on the source's.
  public func set(_ change: SettingsChange) throws(RunError) { try chain.set(change) }
}
