import SprocketCore
import TestExpectations
import Testing

@Suite struct ControlPortTests {
  private let port = ControlPort(controls: [
    ControlDescription(name: "gain", unit: "", minimum: 0, maximum: 10),
    ControlDescription(name: "lens", unit: "", minimum: 0, maximum: 1),
  ])

  @Test func aBatchStaysTogetherAndIsClamped() throws {
    _ = port.write(1, 0.5)
    let tickets = try #require(port.write([ControlValue(0, 20), ControlValue(1, 0.25)]))
    expectEqual(tickets, 2..<4)
    var batch: [ControlPort.Write] = []
    expectTrue(port.take(batch: &batch) && batch.map(\.ticket) == [1])
    expectTrue(port.take(batch: &batch))
    expectTrue(batch.map(\.ticket) == [2, 3] && batch.map(\.value) == [10, 0.25])
    expectEqual(batch.map(\.following), [1, 0])
    expectFalse(port.take(batch: &batch))
    expectEmpty(batch)
  }

  @Test func aBatchWithoutRoomIsRefusedWhole() {
    for _ in 1..<ControlPort.capacity { _ = port.write(0, 1) }
    expectNil(port.write([ControlValue(0, 1), ControlValue(1, 1)]))
    expectEqual(port.write([ControlValue(0, 1)])?.count, 1)
    expectNil(port.write(0, 1))
    expectEqual(port.write([])?.isEmpty, true)
  }

  @Test func whatBecameOfAWriteIsKnown() {
    let (first, second) = (port.write(0, 1) ?? 0, port.write(0, 2) ?? 0)
    expectEqual(port.outcome(of: first), .pending)
    port.note(Event(kind: .controlApplied, control: 0, ticket: first, value: 1))
    port.explain(second, refusedBecause: "no")
    expectEqual(port.outcome(of: second), .pending)
    port.note(Event(kind: .controlRefused, control: 0, ticket: second, value: 2))
    // Another event's ticket is no answer.
    port.note(Event(kind: .settingsChanged, ticket: 3))
    expectEqual(port.outcome(of: first), .applied)
    expectEqual(port.outcome(of: second), .refused("no"))
    expectEqual(port.outcome(of: 3), .pending)
  }

  @Test func valuesAreThoseThatTheSourceReports() {
    expectNil(port.value(of: 0))
    expectNil(port.value(of: 9))
    port.report(4, of: 0)
    port.report(4, of: 9)
    expectEqual(port.value(of: 0), 4)
    port.report(.nan, of: 0)
    expectNil(port.value(of: 0))
  }
}
