internal import SprocketCore
internal import SprocketRing

/// The place of one hearer in the log of events: a stage of the order `.sequence`, or a sink. It outlives
/// epochs.
///
/// Keeps of the contract of events (e1 to e4, as the tests are named):
/// - e1: each hearer hears each event once and in order, whatever became of the frame that it belongs to:
///   at that frame, or at the next that comes by.
/// - e2: an event says which frame it belongs to, however late it is heard. A stage hears nothing of frames
///   that come after the one it works on; a sink hears with each number what belongs to that number.
/// - e3: an epoch neither repeats nor loses an event.
/// - e4: what was written over before it was heard is counted.
///
/// Allocates nothing after `init`.
struct EventReader {
  /// What the latest frame brought.
  private(set) var heard: [Event] = []
  /// The entry of the log that comes next.
  private var next: UInt64 = 0

  init() { heard.reserveCapacity(EventLog.depth) }

  /// Hears what was added below `end` and belongs to frames up to `number`. Returns how many events were
  /// written over before.
  mutating func hear(_ log: EventLog, below end: UInt64, upTo number: UInt64 = .max) -> UInt64 {
    if !heard.isEmpty { heard.removeAll(keepingCapacity: true) }
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
      heard.append(event)
      next += 1
    }
    return missed
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
