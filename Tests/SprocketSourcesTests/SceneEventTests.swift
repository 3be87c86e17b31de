import SprocketCore
import Testing

@testable import SprocketSources

@Suite struct SceneEventTests {
  @Test func eventsWaitForAFrameThatIsTakenAndTheRestAreCounted() throws {
    let source = try SceneSource(scene { $0.format = .grey })
    let description = try source.open()
    defer { source.close() }
    let port = try #require(description.controls)
    let gain = try #require(port.control("gain"))
    let slot = SourceSlot(capacity: description.capacity)
    // All are in force from the first frame, which nobody takes, as nobody does the second.
    for _ in 0..<ControlPort.capacity { _ = port.write(gain, 2) }
    for _ in 0..<2 {
      try announceFrame(source)
      source.discard()
    }
    try announceFrame(source)
    slot.take(from: source, description.format)
    #expect(slot.events.map(\.ticket) == Array(1...16))
    #expect(slot.refusedEvents == 48)
    try announceFrame(source)
    slot.take(from: source, description.format)
    #expect(slot.events.isEmpty && slot.refusedEvents == 0)
  }

  private func announceFrame(_ source: SceneSource) throws {
    let arrival = try source.next(timeout: 0)
    guard case .frame = arrival else { throw SourceError(.failed, "\(arrival) is no frame") }
  }
}
