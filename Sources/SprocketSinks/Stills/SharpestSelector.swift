internal import SprocketCore

/// Selects each frame that is sharper than all before it in its period, by the report of the stage `focus`.
/// So the latest frame selected in a period is its sharpest, and frames that are not selected are not packed.
///
/// Periods begin at the first frame at or after each multiple of the interval since the first frame, and at
/// each epoch. The first frame of a period is always selected; if it has no score, any frame with a score
/// replaces it. Of equal scores the first one wins.
final class SharpestSelector: FrameSelector {
  let starts = PeriodStarts()
  private let interval: Duration
  private var clock: IntervalSelector
  private var epoch: UInt32?
  /// The highest score of the period; `nil` if no frame had one.
  private var best: Double?

  init(_ interval: Duration) {
    self.interval = interval
    clock = IntervalSelector(interval)
  }

  func selects(_ frame: borrowing FrameView) -> Bool {
    selects(frame.record, score: frame.report(FocusReport.self)?.score)
  }

  func selects(_ record: FrameRecord, score: Double?) -> Bool {
    let score = score.flatMap { $0.isNaN ? nil : $0 }
    if epoch != record.epoch {
      epoch = record.epoch
      clock = IntervalSelector(interval)
    }
    if clock.selects(at: record.captured.nanoseconds) {
      best = score
      starts.add(record.number)
      return true
    }
    guard let score, best.map({ score > $0 }) ?? true else { return false }
    best = score
    return true
  }
}

/// Numbers of the frames at which periods begin: the selector's thread adds them, the sink's thread takes
/// them. The lock is taken once per period by the one, and once per selected frame by the other.
final class PeriodStarts: Sendable {
  /// More than there are frames between the selector and the sink, so that a number that the sink still needs
  /// is never dropped. 32 kB.
  private static let capacity = 4096

  private let numbers = Locked<[UInt64]>([])

  init() { numbers.withLock { $0.reserveCapacity(Self.capacity) } }

  func add(_ number: UInt64) {
    numbers.withLock { numbers in
      if numbers.count == Self.capacity { numbers.removeFirst() }
      numbers.append(number)
    }
  }

  /// Whether a period has begun at `number` or before, since the last call.
  func take(upTo number: UInt64) -> Bool {
    numbers.withLock { numbers in
      let count = numbers.prefix { $0 <= number }.count
      numbers.removeFirst(count)
      return count > 0
    }
  }
}

/// The still of the sharpest frame so far, until its period is over.
struct KeptStill {
  /// The still's bytes are the first `count`. Grows to a power of two, and so only a few times in a run. A
  /// frame's packed memory is as large as the worst picture needs, and most stills are far smaller.
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0
  /// `nil` if none is kept.
  private(set) var record: FrameRecord?

  /// Stores a still that is in three pieces.
  mutating func store(
    _ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>, _ record: FrameRecord
  ) {
    self.record = record
    count = first.count + second.count + third.count
    if bytes.count < count {
      var size = 4096
      while size < count { size *= 2 }
      bytes = [UInt8](repeating: 0, count: size)
    }
    copy(first, to: 0)
    copy(second, to: first.count)
    copy(third, to: first.count + second.count)
  }

  private mutating func copy(_ piece: Span<UInt8>, to start: Int) {
    var target = bytes.mutableSpan
    for index in 0..<piece.count { target[start + index] = piece[index] }
  }

  /// Returns the record of the kept frame, and keeps it no longer. Its bytes stay until the next `store`.
  mutating func take() -> FrameRecord? { record.take() }
}
