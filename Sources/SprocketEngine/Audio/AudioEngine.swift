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
  private let source: any AudioSource
  private let chain: AudioChain
  private let thread: JobThread
  /// Those that were made before the start.
  private var taps: [AudioRingTap] = []
  /// Once it has started: for taps that are made then.
  private let spares = Locked<(taps: [AudioSpare], memory: AudioMemory?)>(([], nil))
  private var workers: [AudioSinkWorker] = []
  private var clock: AudioClock
  /// Of the latest segment that is over.
  private var placed: AudioLine?
  private var next: UInt64 = 0
  private var missing: UInt64 = 0
  private var block: UInt64 = 0
  /// When the last block was read.
  private var lastRead: Int64 = 0
  /// Samples to read at most, missing ones counted.
  private var sampleLimit = UInt64.max
  private let hasStarted = Atomic<Bool>(false)

  /// Opens the source, and configures stages and sinks. Larger `held`: taps may pause for longer, at the cost
  /// of memory.
  public init(
    _ source: any AudioSource, stages choices: [AudioChoice] = [], sinks: [any AudioSink] = [],
    held: Duration = .seconds(4)
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
    self.source = source
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
      workers.append(try AudioSinkWorker(sink, tap, shared))
    }
  }

  deinit {
    if !hasStarted.load(ordering: .relaxed) { try? source.close() }
  }

  /// A tap for the sink of that name. Once the engine has started, its first block is the next one, and
  /// `spareTaps` may be there at the same time, at most.
  public func makeTap(for sink: String) throws(RunError) -> any AudioTap {
    guard !hasStarted.load(ordering: .acquiring) else {
      let (spares, memory) = spares.withLock { $0 }
      if let tap = AudioRingTap(sink: sink, spares, memory, shared, description) { return tap }
      throw RunError(
        .failed,
        "the sound of \(description.name) cannot be given to \(sink): it is over, or "
          + "\(Self.spareTaps) sinks that came later have it; take one of them away")
    }
    let tap = AudioRingTap(sink: sink, index: taps.count, shared, description)
    taps.append(tap)
    return tap
  }

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
    for worker in workers { worker.start() }
    thread.perform { self.chain.code.during { self.run(ring, memory, later) } }
  }

  /// Asks it to end: the source stops, and taps get what has been published. From any thread.
  public func stop() {
    shared.isStopping.store(true, ordering: .releasing)
    source.interrupt()
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
    guard hasStarted.load(ordering: .acquiring) else { return false }
    let end = deadline(in: limit.nanosecondCount)
    return thread.wait(until: end) && workers.allSatisfy { $0.wait(until: end) }
  }

  /// Whether the source has ended, and all sinks have finished.
  public var isOver: Bool { wait(for: .zero) }

  /// Changes settings of a stage while the sound goes on, from the next block on. What the stage has gathered
  /// is gone: it begins anew. Throws if there is no such stage or setting, and if the value is not allowed.
  /// From any thread; allocates there, and not on the source's.
  public func set(_ change: SettingsChange) throws(RunError) { try chain.set(change) }

  // MARK: The thread

  private func run(_ ring: Ring, _ memory: AudioMemory, _ spares: [AudioSpare]) {
    var producer = ring.makeProducer()
    do throws(RunError) {
      while !shared.isStopping.load(ordering: .acquiring) {
        let past = AudioPast(produced: next, missing: missing)
        for spare in spares { spare.answer(&producer, past) }
        // While a segment is not placed, its time is not known, and a movie may need more to place it.
        let time = clock.line.time(of: next).clampedSum(-Self.nanosecondsAhead)
        guard
          !clock.line.isPlaced || time < shared.extendedTime.load(ordering: .acquiring)
            || shared.pictures.wait(for: time, until: deadline(in: Self.attention))
        else { continue }
        guard let (_, slot) = producer.claim() else {
          var waiter = Waiter(.park)
          waiter.park(producer.prepareToWait())
          continue
        }
        chain.code.enter(0, frame: block)
        let arrival = try memory.fill(slot) { bytes throws(RunError) in
          try source.read(into: &bytes, timeout: Self.attention)
        }
        guard case .block(var arrived) = arrival else {
          if case .end = arrival { break }
          continue
        }
        arrived.missing = min(arrived.missing, sampleLimit - next)
        arrived.count = min(arrived.count, Int(clamping: sampleLimit - next - arrived.missing))
        guard arrived.count > 0 || arrived.missing > 0 else { continue }
        take(arrived, slot, memory)
        producer.publish()
        if next >= sampleLimit || isAtEnd { break }
      }
    } catch {
      if error.code != .interrupted { shared.fail(error) }
    }
    do throws(RunError) { try source.close() } catch { shared.fail(error) }
    let notes = source.notes + chain.finish()
    shared.notes.withLock { $0 += notes }
    shared.state.set(AudioShared.ended)
    producer.end()
  }

  /// Whether all sound up to the time of `stop(at:)` has been read.
  private var isAtEnd: Bool {
    let end = shared.endTime.load(ordering: .acquiring)
    guard end != .max, let line else { return false }
    return line.time(of: next) >= end.clampedSum(Self.beyond)
  }

  /// Where gaps follow closely, a segment is placed only when it is over.
  private var line: AudioLine? { clock.line.isPlaced ? clock.line : placed }

  /// Nanoseconds of sound that are read behind the end of the last picture, for the resamplers of movies:
  /// from 192 to 8 kHz they reach 398 samples, 50 ms, to each side. Larger: ends take longer.
  private static let beyond: Int64 = 60_000_000

  /// Taps for sinks that come while the sound goes on, at the same time. Larger: more of them, and a few
  /// bytes and instructions per block each.
  public static let spareTaps = 8

  /// Seconds by which a source that is not live may be ahead of a tap, and of the pictures. Larger: more
  /// memory. Taps keep in step with the pictures, and one may wait for sound that another leaves for later: a
  /// movie for 1.5 s, which it takes to place a segment of the clock.
  private static let secondsAhead = 3.0
  private static let nanosecondsAhead = Int64(secondsAhead * 1e9)

  /// Longest wait for a block, in nanoseconds. Larger: fewer wake-ups of a silent source, a later end.
  private static let attention: Int64 = 100_000_000

  private func take(_ arrived: ArrivedSound, _ slot: Int, _ memory: AudioMemory) {
    let count = arrived.count
    contract(
      count >= 0 && count <= description.blockSamples,
      "reads \(count) samples into a block of \(description.blockSamples); say more in "
        + "AudioDescription.blockSamples")
    next &+= arrived.missing
    missing &+= arrived.missing
    let read = arrived.read ?? readTime(arrived)
    lastRead = read
    if arrived.missing > 0 || arrived.isRestarted, block > 0 { beginSegment() }
    clock.observe(arrived.timing, first: next, count: count, read: read)
    var record = AudioRecord(line: clock.line)
    record.block = block
    record.first = next
    record.count = count
    record.missing = missing
    record.read = read
    record.timing = arrived.timing
    let format = description.format
    if !chain.isEmpty, count > 0 {
      chain.process(record, slot, format, memory, shared.clipped)
    }
    record.levels = memory.levels(slot, count: count, format)
    memory.set(record, slot: slot)
    next &+= UInt64(count)
    block &+= 1
    shared.note(record, produced: next)
  }

  /// When the block was read, for sources that do not tell it: now, if their clock is the monotonic one, else
  /// the time of the block's last sample.
  private func readTime(_ arrived: ArrivedSound) -> Int64 {
    if description.clock == .monotonic { return monotonicNow() }
    let length = Double(arrived.count) / Double(description.format.rate) * 1e9
    switch arrived.timing {
    case .exact(let time): return time.clampedSum(Int64(length))
    case .status(_, let time): return time
    case .unknown: return lastRead.clampedSum(Int64(length))
    }
  }

  /// The clock of what follows a gap. What came before is placed now, if it was too short for that.
  private func beginSegment() {
    clock.settle()
    shared.note(clock.line)
    if clock.line.isPlaced { placed = clock.line }
    clock.begin(segment: clock.line.segment &+ 1, first: next)
  }
}
