// What is known of values and answers, for any thread.

extension ControlPort {
  /// Says which value a control has now; NaN if the hardware or another control decides over it, or if it is
  /// not known. For the source's thread.
  public func report(_ value: Double, of control: UInt16) {
    guard control < controls.count else { return }
    state.withLock { $0.values[Int(control)] = value }
  }

  /// The value that a control has now; `nil` if it is not known.
  public func value(of control: UInt16) -> Double? {
    guard control < controls.count else { return nil }
    let value = state.withLock { $0.values[Int(control)] }
    return value.isNaN ? nil : value
  }

  /// Says in a sentence why the write with that ticket is refused, before its event. For the source's thread.
  public func explain(_ ticket: UInt64, refusedBecause reason: String) {
    state.withLock { state in
      if state.refusals.count == Self.refusalCount { state.refusals.removeFirst() }
      state.refusals.append(Refusal(ticket: ticket, reason: reason))
    }
  }

  /// Writes the values that controls of the same names have in another port, or are to have when its source
  /// closes. Nothing if the source is a device, which keeps them by itself.
  package func takeOver(from other: ControlPort) {
    guard tellsWhatShows else { return }
    let atEnd = other.memory.withLock(\.atEnd)
    for index in other.controls.indices {
      let last = atEnd.last { $0.control == index }?.value
      guard let value = last ?? other.value(of: UInt16(index)),
        let control = control(other.controls[index].name), self.value(of: control) != value
      else { continue }
      _ = write(control, value)
    }
  }

  /// Goes on with the tickets of the port before it: events of its writes may still come. Takes over what is
  /// to be written when the source closes.
  package func goOn(after other: ControlPort) {
    let ticket = other.state.withLock(\.ticket)
    state.withLock { $0.ticket = max($0.ticket, ticket) }
    writeAtEnd(
      other.takeWritesAtEnd().compactMap { index, value in
        control(other.controls[Int(index)].name).map { ($0, value) }
      })
  }

  /// Notes that an event has completed a write.
  package func note(_ event: Event) {
    guard event.kind == .controlApplied || event.kind == .controlRefused else { return }
    state.withLock { state in
      state.answers[Int(event.ticket % UInt64(Self.answerCount))] = Answer(
        ticket: event.ticket, isRefused: event.kind == .controlRefused)
    }
  }

  /// What became of a write.
  package enum Outcome: Sendable, Hashable {
    case pending, applied
    /// With the source's sentence, if it gave one.
    case refused(String?)
  }

  /// What became of the write with that ticket; `.pending` also for one that is not remembered any more.
  package func outcome(of ticket: UInt64) -> Outcome {
    state.withLock { state in
      let answer = state.answers[Int(ticket % UInt64(Self.answerCount))]
      guard answer.ticket == ticket else { return .pending }
      guard answer.isRefused else { return .applied }
      return .refused(state.refusals.last { $0.ticket == ticket }?.reason)
    }
  }
}
