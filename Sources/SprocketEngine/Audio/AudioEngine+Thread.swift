internal import SprocketCore
internal import SprocketRing
internal import Synchronization

// What the thread of an audio engine does.
extension AudioEngine {
  func run(_ ring: Ring, _ memory: AudioMemory, _ spares: [AudioSpare]) {
    var producer = ring.makeProducer()
    var source = seat.begin()
    reading: while !shared.isStopping.load(ordering: .acquiring) {
      if let change = seat.take() { source = exchange(change.old, for: change.new) }
      let past = AudioPast(produced: next, missing: missing)
      for spare in spares { spare.answer(&producer, past) }
      // While a segment is not placed, its time is not known, and a movie may need more to place it.
      let time = clock.line.time(of: next).clampedSum(-Self.nanosecondsAhead)
      guard
        !clock.line.isPlaced || time < shared.extendedTime.load(ordering: .acquiring)
          || shared.pictures.wait(for: time, until: deadline(in: Self.attention))
      else { continue }
      guard let present = source else {
        seat.rest(until: deadline(in: Self.attention))
        continue
      }
      guard let (_, slot) = producer.claim() else {
        var waiter = Waiter(.park)
        waiter.park(producer.prepareToWait())
        continue
      }
      switch read(present.source, slot, memory) {
      case .nothing: continue
      case .block: producer.publish()
      case .end:
        guard outlivesSource, !shared.isStopping.load(ordering: .acquiring) else { break reading }
        // One that is to be exchanged was interrupted for that.
        if !seat.isAsked { source = leave(present) }
      }
      if next >= sampleLimit || isAtEnd { break }
    }
    if let source { close(source.source) }
    let notes = chain.finish()
    shared.notes.withLock { $0 = $0 + notes }
    shared.state.set(AudioShared.ended)
    producer.end()
    seat.close()
  }

  /// Reads a block into a slot and accounts for it.
  private func read(_ source: any AudioSource, _ slot: Int, _ memory: AudioMemory) -> AudioStep {
    chain.code.enter(0, frame: block)
    do throws(RunError) {
      let arrival = try memory.fill(slot) { bytes throws(RunError) in
        try source.read(into: &bytes, timeout: Self.attention)
      }
      guard case .block(var arrived) = arrival else {
        if case .end = arrival { return .end }
        return .nothing
      }
      arrived.missing = min(arrived.missing, sampleLimit - next)
      arrived.count = min(arrived.count, Int(clamping: sampleLimit - next - arrived.missing))
      guard arrived.count > 0 || arrived.missing > 0 else { return .nothing }
      take(arrived, slot, memory)
      return .block
    } catch {
      if error.code != .interrupted, !seat.isAsked { shared.lose(error) }
      return .end
    }
  }

  private func close(_ source: any AudioSource) {
    do throws(RunError) { try source.close() } catch { shared.fail(error) }
    let notes = source.notes
    shared.notes.withLock { $0 = $0 + notes }
  }

  /// The source has ended, and the sound goes on without it.
  private func leave(_ present: OpenSound) -> OpenSound? {
    seat.leave()
    shared.lose(nil)
    close(present.source)
    return nil
  }

  /// Another source takes the place of the present one.
  private func exchange(_ old: OpenSound?, for new: OpenSound?) -> OpenSound? {
    if let old {
      // Whoever exchanges it does not need it to be there.
      try? old.source.close()
      let notes = old.source.notes
      shared.notes.withLock { $0 = $0 + notes }
    }
    if new != nil, block > 0 {
      beginSegment()
      // Each device has a clock of its own.
      let segment = clock.line.segment
      clock = AudioClock(description.format)
      clock.begin(segment: segment, first: next)
    }
    shared.isSourceless.store(new == nil, ordering: .releasing)
    shared.isLost.store(false, ordering: .releasing)
    seat.didExchange()
    return new
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
  static let secondsAhead = 3.0
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
