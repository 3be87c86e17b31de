internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The source's side of an epoch: takes what arrives, numbers it, publishes it.
///
/// Keeps of the ring's contract:
/// - R3: with no free position a live source drops the newest frame (`overrun`), an offline one
///   waits before it takes one.
/// - R9: a jump backwards, or further than the tape allows, ends the epoch.
/// - R10: it advances the tape and writes `missing`, `corrupt`, `startup` and `overrun` on it.
///
/// Of the contract of requests it keeps A2: see `SourcePump+Requests.swift`.
///
/// Only the pump adds to the log of events. It adds the events before a frame, then publishes or marks the
/// frame.
///
/// Unchecked: used by the source's thread while it has a job, by the run's between two jobs, and by the
/// run's alone once the source is abandoned (`SourceGate`).
final class SourcePump: @unchecked Sendable {
  /// Why an epoch ended.
  enum Outcome {
    case end
    case epoch(SourceDescription)
    /// The device's sequence jumped back, or further than the tape is long.
    case jump(held: ArrivedFrame)
    /// A change of the run's shape was asked for.
    case change
  }

  /// Frames missing in a row from which an epoch begins (R10). Larger: fewer epochs. Less than the
  /// fate tape holds, for the frames under way.
  static let longestGap: UInt64 = 32_768
  /// Nanoseconds that one wait for a frame lasts; then the pump checks whether the run is to stop. Larger:
  /// fewer wake-ups, later stops.
  static let patience: Int64 = 20_000_000

  private(set) var source: SourceGate
  private(set) var isLive = false
  let options: RunOptions
  let shared: RunShared
  /// On the monotonic clock, where frames do not wait.
  private var deadline: Int64?
  /// Nanoseconds from the first frame's capture to the end.
  private var mediaLimit: Int64?
  private(set) var firstCaptured: Timestamp? {
    didSet { shared.firstCapture.store(firstCaptured?.nanoseconds ?? .min, ordering: .relaxed) }
  }
  var lastCaptured: Timestamp?
  var lastGap: Int64 = 0
  var sounds: [PictureClock] = []
  /// The ring of the epoch, as the source sees it.
  private(set) var producer: ProducerHand?
  private(set) var outcome = Outcome.end
  /// Announced, but not taken yet, at the epoch's start.
  var held: Arrival?
  /// True while an epoch drains: the source's thread then discards arriving frames. Set by the run's
  /// thread.
  let isDraining = Atomic<Bool>(false)
  /// The number of the frame that is being taken.
  var taking: UInt64?
  /// When the latest frame came.
  private(set) var lastArrival: Int64?
  /// The source itself said that there is nothing more.
  private(set) var hasEnded = false
  /// Number of the next frame that is produced.
  private(set) var nextNumber: UInt64 = 0
  /// Gates of the on-demand sinks.
  var gates: [GatedOutput] = []
  /// The sinks that may rest, by the sink's number in the run.
  var resting: [Int: SinkPlace] = [:]
  var requests = PendingRequests()
  /// Sequences of recordings, in the order asked. The first is under way.
  var sequences: [RunningSequence] = []
  /// The live settings of the next frame; `nil` for those of the run's start.
  var settings: LiveSettings?
  /// The settings that each slot refers to.
  var slotSettings: [LiveSettings?] = []
  /// Generation of the epoch that the next frame belongs to.
  private(set) var generation: UInt32 = 0
  /// Whether the next frame is the epoch's first.
  private var isFirst = true
  private let start: Int64
  private var lastSequence: UInt64?
  /// Of the epoch to come, or under way.
  private(set) var firstNumber: UInt64 = 0
  private var firstSequence: UInt64 = 0
  /// What the source has lent: by slot, the sequence that it holds.
  var loans = SlotLoans()
  /// Loans of earlier epochs. Sinks that blocked at the end of these epochs may still read them.
  var lateLoans: [(epoch: Epoch, loans: SlotLoans)] = []
  private(set) var isLimitReached = false
  var events = EventQueue()
  /// Of the epoch's source.
  private(set) var controls: ControlPort?
  let code: RunningCode
  var tracer: SourceTracer

  init(
    source: SourceGate, _ description: SourceDescription, options: RunOptions, shared: RunShared,
    start: Int64
  ) {
    self.source = source
    self.options = options
    self.shared = shared
    self.start = start
    code = RunningCode(["source"], of: shared.label)
    tracer = SourceTracer(shared)
    setLimits(description)
  }

  private func setLimits(_ description: SourceDescription) {
    isLive = description.isLive
    let limit = options.durationLimit.map { max(.zero, $0 - description.leadIn).nanosecondCount }
    deadline = isLive ? limit.map { SprocketEngine.deadline($0, after: start) } : nil
    mediaLimit = limit
  }

  /// Replaces the source. The new source has sequence numbers and times of its own. `first` is the capture
  /// time of the run's first frame; `nil` if the next frame sets it.
  func replaceSource(
    _ new: SourceGate, _ description: SourceDescription, firstCaptured first: Timestamp? = nil
  ) {
    source = new
    // A source that was closed takes nothing back.
    lateLoans = []
    hasEnded = false
    firstCaptured = first
    setLimits(description)
    for index in sequences.indices { sequences[index].move(to: nil) }
    beginEpoch()
  }

  /// Begins a new count of device sequences.
  func beginEpoch() {
    lastSequence = nil
    firstNumber = nextNumber
  }

  var isOver: Bool { shared.isStopping || isLimitReached || isTimeOver }

  var isTimeOver: Bool { deadline.map { monotonicNow() >= $0 } ?? false }

  /// The source's job of an epoch. A failure of the source ends the run.
  func run(_ epoch: Epoch) {
    tracer.begin()
    defer { tracer.end() }
    code.during {
      do throws(RunError) {
        if let outcome = try take(epoch) { self.outcome = outcome }
      } catch {
        outcome = .end
        if error.code != .interrupted {
          shared.sourceHasFailed.store(true, ordering: .releasing)
          shared.fail(error)
        }
      }
    }
  }

  /// Makes ready for an epoch: on the run's thread.
  func enter(_ epoch: Epoch) {
    producer = ProducerHand(epoch.ring)
    controls = epoch.source.controls
    for index in sequences.indices { sequences[index].move(to: controls) }
    generation = epoch.generation
    // A change of sinks alone marks no discontinuity. But if the epoch before ended without a frame, its
    // first frame is still to come.
    if !epoch.isContinuous { isFirst = true }
    enterGates(epoch)
    outcome = .end
    loans = SlotLoans(sequences: Array(repeating: nil, count: epoch.memory.slotCount))
    slotSettings = Array(repeating: nil, count: epoch.memory.slotCount)
    if lastSequence != nil { epoch.firstSequence.store(firstSequence, ordering: .relaxed) }
  }

  /// Publishes the epoch's end. A frame that the source did not come back from is `missing`.
  func endEpoch() {
    if let number = taking, shared.tape.value(of: number) == 0 {
      shared.mark(number, TapeEntry(.missing))
    }
    taking = nil
    producer?.producer.end()
    producer = nil
    generation += 1
  }

  /// Until the source ends, the epoch ends, or the run is to stop. `nil` when the source is abandoned.
  private func take(_ epoch: Epoch) throws(RunError) -> Outcome? {
    guard let hand = producer else { return .end }
    var waiter = Waiter(options.wait)
    var hasWaited = false
    while !isOver {
      if shared.changes.isAsked { return .change }
      // Offline nothing is lost: a position first, then a frame.
      if !epoch.source.isLive, hand.producer.claim() == nil {
        hasWaited = true
        if !waiter.spinsOn() { waiter.park(hand.producer.prepareToWait()) }
        continue
      }
      waiter.reset()
      if hasWaited { tracer.add(.room, frame: nextNumber) }
      hasWaited = false
      guard reclaimPassed(epoch), let arrival = try heldOrNext() else { return nil }
      switch arrival {
      case .nothing:
        stampIdle()
        continue
      case .end:
        // An interrupted source also returns `.end`; then the source has not reached its own end.
        hasEnded = !isOver
        return .end
      case .epoch(let description, _): return .epoch(description)
      case .frame(var frame):
        if isBeyondLimit(frame) {
          guard source.discard() else { return nil }
          isLimitReached = true
          return .end
        }
        let first = nextNumber
        guard let number = admit(frame) else { return .jump(held: frame) }
        guard number < options.frameLimit ?? .max else {
          if source.discard() { break }
          return nil
        }
        tracer.add(.frame, frame: number, now: lastArrival)
        epoch.firstSequence.store(firstSequence, ordering: .relaxed)
        stampHeld(at: number, from: first, frame)
        taking = number
        guard takeEvents(of: number) else { return nil }
        guard !frame.isOverrun, let (sequence, slot) = hand.producer.claim() else {
          if leaveOut(epoch, frame, number) { break }
          return nil
        }
        guard fill(epoch, slot: slot, &frame, number: number, isFirst: isFirst) else {
          return nil
        }
        taking = nil
        noteLoan(epoch, slot: slot, sequence: sequence)
        // Added before the slot is published, so that slices of other threads on this frame start later.
        tracer.add(.deliver, frame: number, fate: frame.fate, used: epoch.ring.used)
        hand.producer.publish()
        countPublished(frame, number: number)
        isFirst = false
      }
    }
    return .end
  }

  /// Capture time of the run's first frame that has bytes. `frame` becomes the first if there is none.
  func firstFrame(_ frame: ArrivedFrame) -> Timestamp? {
    if firstCaptured == nil { firstCaptured = frame.captured }
    return firstCaptured
  }

  /// Whether a frame was captured when `--duration` was over. One without bytes need not have a time.
  private func isBeyondLimit(_ frame: ArrivedFrame) -> Bool {
    guard let mediaLimit, !frame.isOverrun else { return false }
    guard let first = firstFrame(frame) else { return false }
    return frame.captured.nanoseconds(since: first).map { $0 >= mediaLimit } ?? false
  }

  private func heldOrNext() throws(RunError) -> Arrival? {
    guard let arrival = held.take() else { return try source.next(timeout: Self.patience) }
    return arrival
  }

  /// The frame's running number; the gap before it is `missing`. `nil` for a jump that ends the
  /// epoch.
  func admit(_ frame: ArrivedFrame) -> UInt64? {
    if let last = lastSequence {
      guard frame.sequence > last, frame.sequence - last <= Self.longestGap else { return nil }
    } else {
      firstSequence = frame.sequence
      firstNumber = nextNumber
    }
    if !frame.isOverrun { _ = firstFrame(frame) }
    lastSequence = frame.sequence
    lastArrival = monotonicNow()
    let number = firstNumber + (frame.sequence - firstSequence)
    let limit = options.frameLimit ?? .max
    let end = min(number + 1, limit)
    if end > nextNumber {
      shared.tape.advance(to: end)
      shared.counters.produced.add(end - nextNumber)
      for missing in nextNumber..<min(number, limit) { shared.mark(missing, TapeEntry(.missing)) }
      nextNumber = end
    }
    if nextNumber >= limit { isLimitReached = true }
    return number
  }
}
