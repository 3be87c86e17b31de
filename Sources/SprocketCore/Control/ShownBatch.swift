/// Finds the first frame that shows a batch of control writes. It needs each event of the source.
package struct ShownBatch: Sendable, Hashable {
  private let tickets: Range<UInt64>
  /// For each write, the number of frames from the source's answer to the frame that shows the value.
  private let delays: [UInt64]
  private var answered = 0
  /// Number of the first frame that shows all writes that the source has answered.
  private var shown: UInt64 = 0
  /// What the source made of each write, in the order of the batch.
  package private(set) var values: [ControlValue]
  /// The ticket of the latest write that was refused.
  package private(set) var refused: UInt64?

  /// Writes a batch to the port; `nil` if the port's queue is full. `unknownDelay` replaces a delay that is
  /// not known, in frames. A larger value is right for slower cameras, and makes each batch wait longer.
  package init?(_ values: [ControlValue], to port: ControlPort, unknownDelay: Int) {
    guard let tickets = port.write(values) else { return nil }
    self.tickets = tickets
    self.values = values
    delays = values.map { UInt64(port.delay(of: $0.control)?.frames ?? unknownDelay) }
  }

  /// An empty batch, which every frame shows.
  package init() { (tickets, delays, values) = (0..<0, [], []) }

  /// Takes an event of the source. False if it does not answer this batch.
  @discardableResult
  package mutating func take(_ event: Event) -> Bool {
    guard event.kind == .controlApplied || event.kind == .controlRefused,
      tickets.contains(event.ticket)
    else { return false }
    let place = Int(event.ticket - tickets.lowerBound)
    answered += 1
    if event.kind == .controlRefused {
      refused = event.ticket
    } else {
      values[place].value = event.value
      shown = max(shown, event.number + delays[place])
    }
    return true
  }

  package var isAnswered: Bool { answered >= tickets.count }

  /// Whether frame `number` shows the batch. Has no meaning if the source refused a write.
  package func isShown(at number: UInt64) -> Bool { isAnswered && number >= shown }
}
