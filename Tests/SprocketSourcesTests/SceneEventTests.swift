import SprocketCore
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneEventTests {
  @Test func eventsAreToldWithTheFrameThatTheyBelongToWhoeverTakesIt() throws {
    let source = try SceneSource(scene { $0.format = .grey })
    let port = try #require(try source.open().controls)
    defer { try? source.close() }
    let gain = try #require(port.control("gain"))
    // All are in force from the first frame, which nobody takes.
    for _ in 0..<ControlPort.capacity { _ = port.write(gain, 2) }
    var events = EventQueue()
    try announceFrame(source)
    source.takeEvents(into: &events)
    source.discard()
    expectEqual(events.events.map(\.ticket), Array(1...64))
    expectEqual(events.refused, 0)
    events.removeAll()
    try announceFrame(source)
    source.takeEvents(into: &events)
    expectEmpty(events.events)
    expectEqual(events.refused, 0)
  }

  /// Writes of a batch hold from one frame on, and the values are known from then on.
  @Test func aBatchHoldsFromOneFrameOn() throws {
    let source = try SceneSource(
      scene {
        $0.format = .grey
        $0.delay = 3
      })
    let port = try #require(try source.open().controls)
    defer { try? source.close() }
    try announceFrame(source)
    source.discard()
    let before = port.value(of: 0)
    expectNotNil(before)
    expectUnequal(before, 5000)
    let tickets = try #require(port.write([ControlValue(0, 5000), ControlValue(1, 3)]))
    var found: [[UInt64]] = []
    for _ in 0..<4 {
      var events = EventQueue()
      try announceFrame(source)
      source.takeEvents(into: &events)
      source.discard()
      found.append(events.events.map(\.ticket))
      expectEqual(port.value(of: 0), (events.events.isEmpty && found.count < 3 ? before : 5000))
    }
    expectEqual(found, [[], [], Array(tickets), []])
    expectEqual(port.value(of: 1), 3)
  }

  @Test func eventsThatTheQueueHasNoRoomForAreCounted() throws {
    let source = try SceneSource(scene { $0.format = .grey })
    let port = try #require(try source.open().controls)
    defer { try? source.close() }
    let gain = try #require(port.control("gain"))
    try announceFrame(source)
    source.discard()
    // Nobody asks for events meanwhile.
    for _ in 0..<5 {
      for _ in 0..<ControlPort.capacity { _ = port.write(gain, 2) }
      try announceFrame(source)
      source.discard()
    }
    var events = EventQueue()
    source.takeEvents(into: &events)
    expectEqual(events.events.count, EventQueue.capacity)
    expectGreater(events.refused, 0)
  }

  private func announceFrame(_ source: SceneSource) throws {
    let arrival = try source.next(timeout: 0)
    guard case .frame = arrival else { throw RunError(.failed, "\(arrival) is no frame") }
  }

  /// With a lag the scene answers as a driver does: the picture follows later, untold, by control.
  @Test func withALagThePictureFollowsTheAnswer() throws {
    let settings = scene {
      $0.format = .grey
      $0.noise = 0
      ($0.panX, $0.shake, $0.roll) = (0, 0, 0)
      ($0.delay, $0.exposureLag, $0.gainLag) = (1, 3, 2)
    }
    let source = try SceneSource(settings)
    let port = try #require(try source.open().controls)
    try source.close()
    expectFalse(port.tellsWhatShows)
    expectEqual(port.value(of: 1), 1)
    expectNil(port.delay(of: 0))
    for (control, lag) in [(0, 3), (1, 2)] as [(UInt16, Int)] {
      var written: ControlPort?
      let (taken, _) = try frames(settings, count: 20) { source, number in
        guard number == 5, let port = try? source.open().controls else { return }
        written = port
        _ = port.write(control, control == 0 ? 20_000 : 2)
      }
      let answer = try #require(taken.firstIndex { !$0.events.isEmpty })
      let shows = try #require(taken.firstIndex { $0.bytes != taken[0].bytes })
      expectEqual(shows, answer + lag)
      let said = taken.firstIndex { $0.inForce != taken[0].inForce }
      expectEqual(said, answer)
      expectEqual(written?.value(of: control), (control == 0 ? 20_000 : 2))
    }
  }
}
