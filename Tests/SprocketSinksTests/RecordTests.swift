import SprocketCore
import SprocketFiles
import SprocketRecords
import TestExpectations
import Testing

/// Records of dumps: what is written is read again.
@Suite struct RecordTests {
  @Test func eventsOfEachKindComeBack() throws {
    var lost = LostFrame(number: 7, sequence: 9, epoch: 2, fate: .overrun, sourceFate: .startup)
    lost.events = [
      Event(kind: .controlApplied, control: 3, ticket: 5, value: 0.1),
      Event(kind: .controlRefused, control: 1, ticket: 6, value: -2),
      Event(kind: .controlChanged, control: 2, value: 1e-12),
      Event(kind: .replugged), Event(kind: .replugged, value: 0.125),
      Event(kind: .stalled, value: 1500), Event(kind: .settingsChanged, ticket: 4),
    ]
    let changed = ChangedSettings(stage: "meter", values: ["mode": "spot", "target": "0.5"])
    var text = TextBuffer()
    try RangeRecord(lost).write({ $0 == 4 ? changed : nil }, to: &text)
    var events = ReplayEvents()
    var frame: ReplayFrame?
    text.withBytes { frame = RangeRecord.read($0, events: &events) }
    expectEqual(frame?.number, 7)
    expectEqual(frame?.sequence, 9)
    expectEqual(frame?.epoch, 2)
    expectEqual(frame?.skipped, 1)
    expectEqual(frame?.isStartup, true)
    expectEqual(events.settings, [changed])
    // A change of settings has the number that it has among those of the file.
    lost.events[6].ticket = 0
    expectEqual(events.events, lost.events)
  }

  @Test func aSchemaHasTheWordsThatAreWritten() {
    for schema in [SourceRecord.schema, FateRecord.schema([]), RangeRecord.schema] {
      let text = schema.schema()
      for kind in Event.Kind.allCases { expectTrue(text.contains("\"\(kind.word)\"")) }
    }
    let source = SourceRecord.schema.schema()
    for clock in Timestamp.Clock.allCases { expectTrue(source.contains("\"\(clock.word)\"")) }
    for point in CapturePoint.allCases { expectTrue(source.contains("\"\(point.word)\"")) }
  }

  @Test func timesOfDamagedRecordsAreBounded() {
    var events = ReplayEvents()
    let text =
      #"{"number":1,"sequence":1,"captured_ns":9223372036854775807,"dequeued_ns":-9223372036854775808}"#
    let frame = SourceRecord.read(Array(text.utf8).span, events: &events)
    expectEqual(frame?.captured, 4_611_686_018_427_387_903)
    expectEqual(frame?.dequeued, -4_611_686_018_427_387_903)
    let sound =
      #"{"sample":0,"count":1,"time_ns":-9223372036854775808,"read_ns":9223372036854775807,"#
      + #""exact_ns":9223372036854775807}"#
    let block = BlockRecord.read(Array(sound.utf8).span)
    expectEqual(block?.time, -4_611_686_018_427_387_903)
    expectEqual(block?.read, 4_611_686_018_427_387_903)
    var exact: Int64?
    if case .exact(let time) = block?.timing { exact = time }
    expectEqual(exact, 4_611_686_018_427_387_903)
  }
}
