internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// The source's side of an epoch: takes what arrives, numbers it, publishes it.
///
/// Keeps of the ring's contract:
/// - R3: with no free position a live source drops the newest frame (`overrun`), an offline one
///   waits before it takes one.
/// - R4: what a source lent goes back when all who read it have passed; at the latest when the
///   position is reused, or the epoch is over.
/// - R9: a jump backwards, or further than the tape allows, ends the epoch.
/// - R10: it advances the tape and writes `missing`, `corrupt`, `startup` and `overrun` on it.
///
/// It alone adds to the log of events: what happened up to a frame, before it publishes or marks that.
///
/// Used by the source's thread alone.
final class SourcePump {
  /// Why an epoch ended.
  enum Outcome {
    case end
    case epoch(SourceDescription)
    /// The device's sequence jumped back, or further than the tape is long.
    case jump(held: ArrivedFrame)
  }

  /// A gap that is longer begins an epoch (R10). Less than the tape, for the frames under way.
  static let longestGap: UInt64 = 32_768
  /// How long to wait for a frame before looking whether the run is to stop.
  static let patience: Int64 = 20_000_000

  private let source: any Source
  private let options: RunOptions
  private let shared: RunShared
  /// On the monotonic clock, where frames do not wait.
  private let deadline: Int64?
  /// Nanoseconds from the first frame's capture to the end, where frames wait.
  private let mediaLimit: Int64?
  private var firstCaptured: Timestamp?
  /// Number of the next frame that is produced.
  private(set) var nextNumber: UInt64 = 0
  private var lastSequence: UInt64?
  private var firstNumber: UInt64 = 0
  private var firstSequence: UInt64 = 0
  /// What the source has lent: by slot, the sequence that it holds.
  private var lentSequences: [UInt64?] = []
  private var lentCount = 0
  private(set) var isLimitReached = false
  private var events = EventQueue()
  private let code = RunningCode(["source"])

  init(
    source: any Source, isLive: Bool, options: RunOptions, shared: RunShared, start: Int64
  ) {
    self.source = source
    self.options = options
    self.shared = shared
    let limit = options.durationLimit?.nanosecondCount
    deadline = isLive ? limit.map { start.addingReportingOverflow($0) }.map { $1 ? .max : $0 } : nil
    mediaLimit = isLive ? nil : limit
  }

  /// Begins a new count of device sequences.
  func beginEpoch() {
    lastSequence = nil
    firstNumber = nextNumber
  }

  var isOver: Bool {
    shared.isStopping || isLimitReached || (deadline.map { monotonicNow() >= $0 } ?? false)
  }

  /// Runs until the source ends, the epoch ends, or the run is to stop.
  func run(_ epoch: Epoch, producer: inout Producer, held: Arrival?) throws(SourceError)
    -> Outcome
  {
    let before = code.begin()
    defer { RunningCode.end(before) }
    lentSequences = [UInt64?](repeating: nil, count: epoch.memory.slotCount)
    if lastSequence != nil { epoch.firstSequence.store(firstSequence, ordering: .relaxed) }
    var waiter = Waiter(options.wait)
    var pending = held
    var isFirst = true
    while !isOver {
      // Offline nothing is lost: a position first, then a frame.
      if !epoch.source.isLive, producer.claim() == nil {
        if !waiter.spinsOn() { waiter.park(producer.prepareToWait()) }
        continue
      }
      waiter.reset()
      reclaimPassed(epoch)
      let arrival: Arrival
      if let held = pending {
        arrival = held
        pending = nil
      } else {
        arrival = try source.next(timeout: Self.patience)
      }
      switch arrival {
      case .nothing: continue
      case .end: return .end
      case .epoch(let description, _): return .epoch(description)
      case .frame(let frame):
        if isBeyondLimit(frame) {
          source.discard()
          isLimitReached = true
          return .end
        }
        guard let number = admit(frame) else { return .jump(held: frame) }
        guard number < options.frameLimit ?? .max else {
          source.discard()
          break
        }
        epoch.firstSequence.store(firstSequence, ordering: .relaxed)
        takeEvents(of: number)
        if !frame.isOverrun, let (sequence, slot) = producer.claim() {
          fill(epoch, slot: slot, frame, number: number, isFirst: isFirst)
          noteLoan(epoch, slot: slot, sequence: sequence)
          producer.publish()
          isFirst = false
        } else {
          source.discard()
          mark(number, frame.fate ?? .overrun, foundRoom: false)
        }
      }
    }
    return .end
  }

  /// Whether a frame was captured when `--duration` was over. One without bytes need not have a time.
  private func isBeyondLimit(_ frame: ArrivedFrame) -> Bool {
    guard let mediaLimit, !frame.isOverrun else { return false }
    let first = firstCaptured ?? frame.captured
    firstCaptured = first
    return frame.captured.nanoseconds(since: first).map { $0 >= mediaLimit } ?? false
  }

  /// While an epoch drains: what a live device delivers meanwhile is `overrun`, of the epoch to
  /// come. Returns anything else that happened; a failure shows again when the epoch runs.
  func discardOne() -> Arrival? {
    guard !isLimitReached, let arrival = try? source.next(timeout: 2_000_000) else { return nil }
    switch arrival {
    case .nothing: return nil
    case .frame(let frame): return overrun(frame) ? nil : arrival
    case .end, .epoch: return arrival
    }
  }

  /// Gives an announced frame back: there is no room for it. False when it begins an epoch.
  @discardableResult
  func overrun(_ frame: ArrivedFrame) -> Bool {
    guard let number = admit(frame) else { return false }
    let isWithinLimit = number < options.frameLimit ?? .max
    if isWithinLimit { takeEvents(of: number) }
    source.discard()
    if isWithinLimit { mark(number, frame.fate ?? .overrun, foundRoom: false) }
    return true
  }

  /// The frame's running number; the gap before it is `missing`. `nil` for a jump that ends the
  /// epoch.
  private func admit(_ frame: ArrivedFrame) -> UInt64? {
    if let last = lastSequence {
      guard frame.sequence > last, frame.sequence - last <= Self.longestGap else { return nil }
    } else {
      firstSequence = frame.sequence
      firstNumber = nextNumber
    }
    lastSequence = frame.sequence
    let number = firstNumber + (frame.sequence - firstSequence)
    let limit = options.frameLimit ?? .max
    let end = min(number + 1, limit)
    if end > nextNumber {
      shared.tape.advance(to: end)
      shared.counters.produced.add(end - nextNumber)
      for missing in nextNumber..<min(number, limit) { mark(missing, .missing) }
      nextNumber = end
    }
    if nextNumber >= limit { isLimitReached = true }
    return number
  }

  /// What happened up to a frame belongs to it, whatever becomes of it.
  private func takeEvents(of number: UInt64) {
    code.enter(0, frame: number)
    source.takeEvents(into: &events)
    for index in events.events.indices {
      var event = events.events[index]
      event.number = number
      shared.events.add(event.words)
    }
    if events.refused > 0 { shared.counters.droppedEvents.add(events.refused) }
    events.removeAll()
  }

  private func mark(_ number: UInt64, _ fate: Fate, foundRoom: Bool = true) {
    let entry = TapeEntry(fate, foundRoom: foundRoom)
    _ = shared.tape.set(number, to: entry.value)
    shared.counters.decided[Int(entry.value)].add()
  }

  private func fill(
    _ epoch: Epoch, slot index: Int, _ frame: ArrivedFrame, number: UInt64, isFirst: Bool
  ) {
    let slot = unsafe epoch.memory.slots + index
    unsafe reclaim(slot, index)
    var record = FrameRecord()
    record.number = number
    record.sequence = frame.sequence
    record.epoch = epoch.index
    record.isDiscontinuity = isFirst
    record.captured = frame.captured
    record.capturePoint = frame.capturePoint
    record.inForce = frame.inForce
    record.driverFlags = frame.driverFlags
    record.wasLate = frame.wasLate
    record.dequeued = monotonicNow()
    if let fate = frame.fate {
      record.chainFate = fate
      mark(number, fate)
    } else if !epoch.plan.hasProcessing {
      record.processed = record.dequeued
    }
    record.eventEnd = shared.events.end
    unsafe slot.pointee.records[0] = record
    for sink in epoch.sinks { unsafe slot.pointee.packedCounts[sink.index] = 0 }
    var capture = unsafe CaptureSlot(unsafeStorage: slot, format: epoch.source.format)
    source.take(into: &capture)
  }

  private func noteLoan(_ epoch: Epoch, slot: Int, sequence: UInt64) {
    guard unsafe epoch.memory.slots[slot].lent != nil else { return }
    lentSequences[slot] = sequence
    lentCount += 1
  }

  private func reclaim(_ slot: UnsafeMutablePointer<FrameStorage>, _ index: Int) {
    guard let lent = unsafe slot.pointee.lent else { return }
    unsafe source.reclaim(lent)
    unsafe slot.pointee.lent = nil
    lentSequences[index] = nil
    lentCount -= 1
  }

  /// What all who read it have passed goes back: drivers have few buffers.
  private func reclaimPassed(_ epoch: Epoch) {
    guard lentCount > 0 else { return }
    let limit = epoch.loanReaders.passed(epoch.ring)
    for index in lentSequences.indices {
      guard let sequence = lentSequences[index], sequence < limit else { continue }
      unsafe reclaim(epoch.memory.slots + index, index)
    }
  }

  /// All threads are joined: what is still lent goes back.
  func reclaimAll(_ epoch: Epoch) {
    for index in lentSequences.indices { unsafe reclaim(epoch.memory.slots + index, index) }
  }
}

extension ArrivedFrame {
  /// What the source itself says against the frame; it goes before `overrun`.
  fileprivate var fate: Fate? {
    isCorrupt ? .corrupt : isStartup ? .startup : isOverrun ? .overrun : nil
  }
}
