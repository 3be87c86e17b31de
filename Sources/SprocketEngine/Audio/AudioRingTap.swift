internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A tap of an audio engine's ring.
final class AudioRingTap: AudioTap {
  let sink: String
  let description: AudioDescription
  let account: AudioAccount
  private(set) var before = AudioPast()
  private var index = 0
  /// Where the reader comes from, and goes back to, if it is lent for a part of the run.
  private var spare: AudioSpare?
  private let shared: AudioShared
  private var memory: AudioMemory?
  private var reader: Reader?
  private var waiter = Waiter(.park)
  private var slot: Int?
  /// The tap returns a block only after the pictures have reached its time, and no block after their end.
  private let keepsToPictures: Bool
  /// A block that the tap holds back, because the pictures have not reached its time.
  private var early: Int?
  /// When the tap began to hold it back, on the monotonic clock.
  private var earlySince: Int64 = 0
  /// The tap came to a block after the end of the pictures.
  private var isPast = false
  private var isClosed = false
  private var hasAsked = false
  /// Number of the first sample that is for this tap.
  private var firstWanted: UInt64 = 0
  /// Number of the first sample that is not for this tap any more; the largest while there is none.
  private let firstUnwanted = Atomic<UInt64>(.max)
  /// Number behind the last sample that the ring gave.
  private var taken: UInt64 = 0

  init(
    sink: String, index: Int, _ shared: AudioShared, _ description: AudioDescription,
    keepsToPictures: Bool = false
  ) {
    self.keepsToPictures = keepsToPictures
    self.sink = sink
    self.index = index
    self.shared = shared
    self.description = description
    account = shared.makeAccount(sink)
  }

  /// A tap for a sink that comes while the sound goes on; `nil` if none is left, or the engine does not
  /// answer within a second.
  init?(
    sink: String, _ spares: [AudioSpare], _ memory: AudioMemory?, _ shared: AudioShared,
    _ description: AudioDescription
  ) {
    guard shared.state.value != AudioShared.ended else { return nil }
    let end = deadline(in: Self.patience)
    for spare in spares {
      guard let reader = spare.take(until: end) else { continue }
      (self.sink, self.spare, self.shared) = (sink, spare, shared)
      (self.description, self.memory, before) = (description, memory, spare.before)
      self.reader = consume reader
      keepsToPictures = false
      account = shared.makeAccount(sink)
      account.add(before.produced, as: .unselected)
      taken = before.produced
      return
    }
    return nil
  }

  deinit { close() }

  /// Longest wait for the engine's thread, nanoseconds: it looks ten times a second. Larger: attaching works
  /// on slower machines, and the error for a microphone that delivers nothing comes later.
  private static let patience: Int64 = 1_000_000_000

  /// Called once, before the engine's thread begins.
  func open(_ ring: Ring, _ memory: AudioMemory) {
    self.memory = memory
    reader = ring.makeReader(tap: RingPlan.TapIndex(index))
  }

  var hasSource: Bool { !shared.isSourceless.load(ordering: .acquiring) }

  /// Blocks before that sample are not for this tap. Before it is read.
  func begin(at sample: UInt64) { firstWanted = sample }

  /// The tap ends with the sample before that one; the first call decides. From any thread.
  func leave(at sample: UInt64) {
    _ = firstUnwanted.compareExchange(expected: .max, desired: sample, ordering: .releasing)
  }

  func next(timeout: Int64) -> AudioStep {
    contract(slot == nil, "takes a block before it has given the last one back; call release()")
    guard !isClosed, !isPast else { return .end }
    hasAsked = true
    let end = deadline(in: timeout)
    guard shared.state.value != AudioShared.idle || shared.state.wait(while: 0, until: end) else {
      return .nothing
    }
    while true {
      if let early {
        guard let isWanted = isWanted(early, by: end) else { return .nothing }
        self.early = nil
        slot = early
        if isWanted { return .block }
        // Later blocks are not wanted either, even if their times go back.
        isPast = true
        account.leave()
        release()
        return .end
      }
      switch reader?.next() ?? .end {
      case .frame(_, let slot):
        guard isForThis(slot) else { continue }
        (early, earlySince) = (slot, monotonicNow())
      case .lapped, .skipped:
        continue
      case .end:
        return .end
      case .wait:
        guard taken < firstUnwanted.load(ordering: .acquiring) else { return .end }
        guard monotonicNow() < end else { return .nothing }
        waiter.park(reader?.prepareToWait(), until: end)
      }
    }
  }

  /// Whether a block lies between the tap's begin and its end; gives it back if not.
  private func isForThis(_ slot: Int) -> Bool {
    guard let record = memory?.record(slot) else { return true }
    taken = record.end
    guard record.first >= firstUnwanted.load(ordering: .acquiring) || record.end <= firstWanted
    else { return true }
    reader?.release()
    return false
  }

  /// Whether the block begins before the end of the pictures; `nil` if that is not known by `end`.
  private func isWanted(_ slot: Int, by end: Int64) -> Bool? {
    guard keepsToPictures, let record = memory?.record(slot) else { return true }
    var line = record.line
    while !line.isPlaced {
      // The engine places the segment when it has read some more sound.
      let isOver = shared.state.value == AudioShared.ended
      line = shared.line(ofSegment: record.line.segment) ?? line
      guard !line.isPlaced, !isOver else { break }
      let now = monotonicNow()
      // With very small blocks the ring can be full before that.
      guard now < earlySince.clampedSum(Self.longestPlacing) else { return true }
      guard now < end else { return nil }
      _ = shared.state.wait(while: AudioShared.running, until: min(end, now + Self.placing))
    }
    guard line.isPlaced else { return true }
    let time = line.time(of: record.first)
    guard shared.pictures.wait(for: time, until: end) else { return nil }
    return time < shared.endTime.load(ordering: .acquiring)
  }

  /// Time between two looks whether a segment is placed, nanoseconds, while it is not. Larger: fewer looks,
  /// and a later begin.
  private static let placing: Int64 = 2_000_000
  /// Longest wait in nanoseconds until a segment is placed. A larger value makes sound of many tiny blocks
  /// slower.
  private static let longestPlacing: Int64 = 1_000_000_000

  func withBlock<Result>(_ body: (AudioRecord, Span<UInt8>) -> Result) -> Result {
    guard let slot, let memory else {
      contractBroken("reads a block without having taken one; call next() first")
    }
    let record = memory.record(slot)
    return memory.read(slot, count: record.count * description.format.sampleBytes) {
      body(record, $0)
    }
  }

  func line(ofSegment segment: UInt32) -> AudioLine? { shared.line(ofSegment: segment) }

  func release() {
    guard slot != nil else { return }
    slot = nil
    reader?.release()
  }

  func count(_ samples: UInt64, as fate: Fate) { account.add(samples, as: fate) }

  func recount(_ samples: UInt64, _ old: Fate, as new: Fate) {
    account.move(samples, old, to: new)
  }

  func note(_ file: AudioFileAccount) { account.add(file) }

  /// What the sink did not account for is lost with it.
  func fail() { account.fail() }

  func close() {
    guard !isClosed else { return }
    slot = slot ?? early
    release()
    isClosed = true
    defer { account.close() }
    // Sound after the last picture is not recorded. It is not lost.
    if shared.endTime.load(ordering: .acquiring) != .max,
      !shared.isStopping.load(ordering: .acquiring)
    {
      account.leave()
    }
    // What comes later is not for it.
    if firstUnwanted.load(ordering: .acquiring) != .max { account.leave() }
    // The sink was refused before it read: it has no account.
    if spare != nil, !hasAsked { shared.forget(account) }
    if let spare, let reader = reader.take() {
      if shared.state.value == AudioShared.running { account.leave() }
      return spare.put(reader)
    }
    // A parked tap does not hold the source up.
    if let asked = reader?.askCount { _ = reader?.park(since: asked) }
  }
}

/// The account of one tap, in samples, and those of its latest files. Any thread may read it.
final class AudioAccount: Sendable {
  private let cells = Locked((counts: FateCounts(), rest: Fate.flushed))
  private let complete = Locked<[AudioFileAccount]>([])
  private let closed = Atomic<Bool>(false)

  /// Whether the tap was closed: nothing more is counted.
  var isClosed: Bool { closed.load(ordering: .acquiring) }

  func close() { closed.store(true, ordering: .releasing) }

  func add(_ samples: UInt64, as fate: Fate) { cells.withLock { $0.counts[fate] += samples } }

  func move(_ samples: UInt64, _ old: Fate, to new: Fate) {
    cells.withLock { cells in
      cells.counts[old] -= samples
      cells.counts[new] += samples
    }
  }

  func add(_ file: AudioFileAccount) {
    complete.withLock { files in
      if files.count == RecordingBook.kept { files.removeFirst() }
      files.append(file)
    }
  }

  var files: [AudioFileAccount] { complete.withLock { $0 } }

  func fail() { cells.withLock { $0.rest = .failed } }

  /// The sink leaves the run: what comes later is not for it.
  func leave() { cells.withLock { if $0.rest == .flushed { $0.rest = .unselected } } }

  var counts: FateCounts { cells.withLock { $0.counts } }

  /// Counts at the end: what was never accounted for has the fate `rest`.
  func counts(of produced: UInt64) -> FateCounts {
    cells.withLock { cells in
      var counts = cells.counts
      counts[cells.rest] += produced - min(produced, counts.sum)
      return counts
    }
  }
}
