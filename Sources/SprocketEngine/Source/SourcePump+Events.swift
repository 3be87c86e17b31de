internal import SprocketCore
internal import SprocketRing

// What the source says beside its frames.

extension SourcePump {
  /// Adds the source's events up to frame `number` to the log, then advances the sequences. They
  /// belong to that frame, whatever its fate. False if the source was abandoned during the call.
  func takeEvents(of number: UInt64) -> Bool {
    code.enter(0, frame: number)
    guard source.takeEvents(into: &events) else { return false }
    for index in events.events.indices {
      var event = events.events[index]
      event.number = number
      if event.kind == .settingsChanged {
        guard repeatChange(event) else { return false }
      } else {
        controls?.note(event)
        noteAnswer(event)
        shared.events.add(event.words)
      }
    }
    if events.refused > 0 { shared.counters.droppedEvents.add(events.refused) }
    events.removeAll()
    advanceSequences(at: number)
    return true
  }
}
