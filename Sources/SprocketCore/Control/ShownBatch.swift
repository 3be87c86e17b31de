/// A batch of writes that waits for the source's answers, and for the first frame that shows all of them. A
/// plain value, which is fed with events.
package struct ShownBatch: Sendable, Hashable {
  private let tickets: Range<UInt64>
  /// Frames from an answer to the picture, in the order of the batch.
  private let delays: [UInt64]
  private var answered = 0
  /// Number of the first frame that shows all that was answered.
  private var shown: UInt64 = 0
  /// What the source made of each write, in the order of the batch.
  package private(set) var values: [ControlValue]
  /// The ticket of the latest write that was refused.
  package private(set) var refused: UInt64?

  /// Writes a batch; `nil` if the port takes none now. `unknownDelay` is the number of frames to wait for a
  /// control whose delay is not known. Larger: safer with slow cameras, and later.
  package init?(_ values: [ControlValue], to port: ControlPort, unknownDelay: Int) {
    guard let tickets = port.write(values) else { return nil }
    self.tickets = tickets
    self.values = values
    delays = values.map { UInt64(port.delay(of: $0.control)?.frames ?? unknownDelay) }
  }

  /// No writes: shown by every frame.
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

  /// Whether that frame, and all later ones, show the batch. Of no use if a write was refused.
  package func isShown(at number: UInt64) -> Bool { isAnswered && number >= shown }
}
