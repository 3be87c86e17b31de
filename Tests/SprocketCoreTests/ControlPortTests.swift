import SprocketCore
import Testing

@Suite struct ControlPortTests {
  private let port = ControlPort(controls: [
    ControlDescription(name: "gain", unit: "", minimum: 0, maximum: 10),
    ControlDescription(name: "lens", unit: "", minimum: 0, maximum: 1),
  ])

  @Test func aBatchStaysTogetherAndIsClamped() throws {
    _ = port.write(1, 0.5)
    let tickets = try #require(port.write([ControlValue(0, 20), ControlValue(1, 0.25)]))
    #expect(tickets == 2..<4)
    var batch: [ControlPort.Write] = []
    #expect(port.take(batch: &batch) && batch.map(\.ticket) == [1])
    #expect(port.take(batch: &batch))
    #expect(batch.map(\.ticket) == [2, 3] && batch.map(\.value) == [10, 0.25])
    #expect(batch.map(\.following) == [1, 0])
    #expect(!port.take(batch: &batch) && batch.isEmpty)
  }

  @Test func aBatchWithoutRoomIsRefusedWhole() {
    for _ in 1..<ControlPort.capacity { _ = port.write(0, 1) }
    #expect(port.write([ControlValue(0, 1), ControlValue(1, 1)]) == nil)
    #expect(port.write([ControlValue(0, 1)])?.count == 1)
    #expect(port.write(0, 1) == nil)
    #expect(port.write([])?.isEmpty == true)
  }

  @Test func whatBecameOfAWriteIsKnown() {
    let (first, second) = (port.write(0, 1) ?? 0, port.write(0, 2) ?? 0)
    #expect(port.outcome(of: first) == .pending)
    port.note(Event(kind: .controlApplied, control: 0, ticket: first, value: 1))
    port.explain(second, refusedBecause: "no")
    #expect(port.outcome(of: second) == .pending)
    port.note(Event(kind: .controlRefused, control: 0, ticket: second, value: 2))
    // Another event's ticket is no answer.
    port.note(Event(kind: .settingsChanged, ticket: 3))
    #expect(port.outcome(of: first) == .applied && port.outcome(of: second) == .refused("no"))
    #expect(port.outcome(of: 3) == .pending)
  }

  @Test func valuesAreThoseThatTheSourceReports() {
    #expect(port.value(of: 0) == nil && port.value(of: 9) == nil)
    port.report(4, of: 0)
    port.report(4, of: 9)
    #expect(port.value(of: 0) == 4)
    port.report(.nan, of: 0)
    #expect(port.value(of: 0) == nil)
  }
}
