internal import SprocketCore
internal import SprocketRing

/// A reader's position in the log of events. A reader is a stage of the order `.sequence`, or a sink. It
/// outlives epochs.
///
/// Keeps of the contract of events (e1 to e4, as the tests are named):
/// - e1: each reader receives each event once and in order, whatever became of the frame that it belongs
///   to: with that frame, or with the next one that it gets.
/// - e2: an event says which frame it belongs to, however late it is received. A stage receives no events of
///   frames after the one it works on; a sink receives with each number the events of that number.
/// - e3: an epoch neither repeats nor loses an event.
/// - e4: events that are overwritten before they were received are counted.
///
/// Allocates nothing after `init`.
struct EventReader {
  /// Events received with the latest frame.
  private(set) var received: [Event] = []
  /// The entry of the log that comes next.
  private var next: UInt64 = 0

  init() { received.reserveCapacity(EventLog.depth) }

  /// Fills `received` with the entries below `end` that belong to frames up to `number`. Returns how many
  /// were overwritten before.
  mutating func receive(_ log: EventLog, below end: UInt64, upTo number: UInt64 = .max) -> UInt64 {
    if !received.isEmpty { received.removeAll(keepingCapacity: true) }
    var missed: UInt64 = 0
    while next < end {
      guard let words = log.entry(next) else {
        let first = min(max(log.oldest, next + 1), end)
        missed += first - next
        next = first
        continue
      }
      let event = Event(words)
      if event.number > number { break }
      received.append(event)
      next += 1
    }
    return missed
  }

  /// Skips to the entry `first`. If `first` is larger than the log's end, skips the entries of frames below
  /// `number` instead.
  mutating func skip(_ log: EventLog, to first: UInt64, below number: UInt64) {
    guard first <= log.end else { return skip(log, below: number) }
    next = max(next, first, log.oldest)
  }

  /// Skips the entries of frames below `number`.
  mutating func skip(_ log: EventLog, below number: UInt64) {
    next = max(next, log.oldest)
    while next < log.end, log.entry(next).map({ Event($0).number < number }) ?? true { next += 1 }
  }
}

extension Event {
  /// As it lies in the log.
  var words: InlineArray<4, UInt64> {
    [number, ticket, value.bitPattern, UInt64(kind.rawValue) | UInt64(control) << 8]
  }

  init(_ words: InlineArray<4, UInt64>) {
    self.init(
      kind: Kind(rawValue: UInt8(truncatingIfNeeded: words[3])) ?? .stalled,
      control: UInt16(truncatingIfNeeded: words[3] >> 8), ticket: words[1],
      value: Double(bitPattern: words[2]), number: words[0])
  }
}
