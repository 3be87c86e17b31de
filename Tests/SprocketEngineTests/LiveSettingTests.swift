import Glibc
import SprocketCore
import Synchronization
import TestExpectations
import Testing

@testable import SprocketEngine

/// Adds `value` to every byte, by way of `derived`, which `retune` computes. Live: `value`; fixed: `other`.
struct AddValue: Stage {
  static let order = Order.any
  struct Settings: KindSettings {
    var value = 0
    var more = 0
    var other = 0
    static var settings: [Setting<Self>] {
      [
        Setting("value", \.value, range: 0...100, "is added").live,
        Setting("more", \.more, range: 0...100, "is added, too").live,
        Setting("other", \.other, range: 0...100, "does nothing"),
      ]
    }
  }
  var settings = Settings()
  private var derived = 0
  static let plugin = Plugin("addvalue", "adds a value to every byte", AddValue.self)

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace)
    retune()
    return setup.format
  }

  mutating func retune() { derived = settings.value + settings.more }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    for y in 0..<picture.rows(plane: 0) {
      var row = picture.row(y, plane: 0)
      for x in row.indices { row[x] &+= UInt8(derived) }
    }
    return .keep
  }
}

/// The same in sequence.
struct AddValueInSequence: Stage {
  static let order = Order.sequence
  var settings: AddValue.Settings {
    get { inner.settings }
    set { inner.settings = newValue }
  }
  private var inner = AddValue()
  static let plugin = Plugin("later", "adds a value to every byte", AddValueInSequence.self)

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try inner.configure(&setup)
  }
  mutating func retune() { inner.retune() }
  mutating func process(_ frame: inout FrameView) -> Verdict { inner.process(&frame) }
}

@Suite(.serialized, .timeLimit(.minutes(3)))
struct LiveSettingTests {
  private func added(_ sink: RecordingSink) -> [UInt64: Int] {
    var added: [UInt64: Int] = [:]
    for line in sink.lines where line.fate == .delivered {
      added[line.number] = Int(line.byte &- UInt8(truncatingIfNeeded: line.sequence))
    }
    return added
  }

  /// Asks in mid-run, by several workers, before stages that drop frames: what holds depends on the number.
  @Test(arguments: [1, 4]) func a15AFramesSettingIsAFunctionOfItsNumber(workers: Int) throws {
    let asker = Asker()
    func set(_ stage: String, _ values: [String: Int], at moment: Moment = .now)
      -> ScriptedSource.Step
    {
      .call { try? asker.engine?.set(adding(values, in: stage), at: moment) }
    }
    let steps: [ScriptedSource.Step] =
      [
        set("addvalue", ["value": 7], at: .frame(150)),
        set("later", ["value": 50], at: .frame(90)),
      ]
      + .frames(0..<40) + [set("addvalue", ["value": 1]), set("addvalue", ["more": 10])]
      + .frames(40..<60)
      // A value that is replaced at once has no effect.
      + [set("addvalue", ["value": 99]), set("addvalue", ["value": 3, "more": 20])]
      + .frames(60..<100) + [.epoch(width: 16)] + .frames(100..<130)
      // The named frame is missing.
      + [set("addvalue", ["value": 5], at: .frame(135))] + .frames(140..<200)
    let sink = RecordingSink()
    _ = try run(
      asker, steps,
      [Jitter.plugin, AddValue.plugin, RejectThirds.plugin, AddValueInSequence.plugin],
      sinks: [sink], workers: workers)
    expectEqual(sink.isTorn, false)
    for (number, value) in added(sink) {
      // Running numbers count on where a new epoch begins; the gap keeps its numbers.
      let expected =
        switch number {
        case ..<40: 0
        case ..<60: 11
        case ..<90: 23
        case ..<140: 73
        case ..<150: 75
        default: 77
        }
      expectEqual(value, expected, "frame \(number)")
    }
    expectGreater(added(sink).count, 100)
  }

  /// An instance that gets no frame for long needs only the latest values.
  @Test func a15AnInstanceThatMissedChangesGetsTheLatest() throws {
    let (asker, sink) = (Asker(), RecordingSink())
    var steps: [ScriptedSource.Step] = []
    for number in UInt64(0)..<300 {
      steps.append(
        .call { try? asker.engine?.set(adding(["value": Int(number % 100)]), at: .now) })
      steps.append(.frame(sequence: number))
    }
    _ = try run(asker, steps, [RejectThirds.plugin, AddValue.plugin], sinks: [sink], workers: 3)
    expectEqual(added(sink).count, 200)
    expectTrue(added(sink).allSatisfy { $0.value == Int($0.key % 100) })
  }

  /// Live, frames are lost where there is no room; what is seen still depends on the number alone.
  @Test func a15LostFramesDoNotShiftChanges() throws {
    let (asker, sink) = (Asker(), RecordingSink())
    sink.delay = { $0 % 20 == 0 ? 3_000_000 : 0 }
    var steps: [ScriptedSource.Step] = []
    for number in UInt64(0)..<50 {
      steps.append(
        .call {
          try? asker.engine?.set(adding(["value": Int(number)]), at: .frame(number * 10))
        })
    }
    for number in UInt64(0)..<500 {
      steps.append(.frame(sequence: number))
      steps.append(.pause(nanoseconds: 20_000))
    }
    _ = try run(asker, steps, [AddValue.plugin], sinks: [sink], isLive: true, workers: 2)
    expectTrue(added(sink).allSatisfy { $0.value == Int($0.key / 10) })
  }

  /// Each change is told by one event, of the first frame for which it holds, with its texts.
  @Test func a15AnEventTellsOfAChange() throws {
    let (asker, sink) = (Asker(), EventSink())
    _ = try run(
      asker,
      .frames(0..<10) + [
        .call {
          try? asker.engine?.set(adding(["value": 1]))
          try? asker.engine?.set(adding(["value": 2, "more": 3]), at: .frame(15))
        }
      ] + .frames(10..<30), [AddValue.plugin, Listener.plugin], sinks: [sink])
    expectEqual(
      sink.told,
      [
        "10: addvalue more=nil value=1", "15: addvalue more=3 value=2",
      ])
  }

  @Test func a15WrongRequestsAreRefused() throws {
    let asker = Asker()
    let sentences = Locked<[String]>([])
    @Sendable func refused(_ change: SettingsChange) {
      var sentence = "accepted"
      do throws(RunError) {
        try asker.engine?.set(change)
      } catch {
        sentence = error.description
      }
      sentences.withLock { $0.append(sentence) }
    }
    let check: @Sendable () -> Void = {
      refused(adding(["value": 1], in: "addvalu"))
      refused(
        SettingsChange("addvalue", settings: AddValue.Settings(), names: ["valu"]))
      refused(adding(["other": 1]))
      refused(adding(["value": 101]))
      refused(SettingsChange("addvalue", of: NoSettings.self) { _ in })
      refused(adding([:]))
    }
    let source = ScriptedSource(.frames(0..<5) + [.call(check)] + .frames(5..<8))
    var late: RunError?
    _ = try run(
      source, [AddValue.plugin], sinks: [RecordingSink()],
      before: { asker.engine = $0 },
      after: { engine in
        do throws(RunError) { try engine.set(adding(["value": 1])) } catch { late = error }
      })
    expectEqual(
      sentences.withLock { $0 },
      [
        "this run has no stage `addvalu`; did you mean `addvalue`? there are: addvalue",
        "the stage addvalue has no setting `valu`; did you mean `value`? what can be changed is: "
          + "value, more",
        "`other` of addvalue cannot be changed while the run goes on, but with a new chain "
          + "(`reconfigure`); what can be changed is: value, more",
        "the stage addvalue: value=101 is not allowed: give 0 to 100",
        "the settings are of another stage than addvalue; give those of addvalue",
        "no setting of addvalue is given; give its name and its value",
      ])
    expectEqual(late?.description, "the run has ended")
  }

  /// Requests wait while no frame comes, and are refused when too many wait.
  @Test func a15WithoutFramesRequestsWait() throws {
    let (asker, sink) = (Asker(), RecordingSink())
    let refusals = Atomic<Int>(0)
    let steps: [ScriptedSource.Step] =
      .frames(0..<5) + [
        .call {
          for index in 0..<1000 {
            do throws(RunError) {
              try asker.engine?.set(adding(["value": index % 100]))
            } catch { refusals.add(1, ordering: .relaxed) }
          }
        }, .pause(nanoseconds: 1_000_000),
      ] + .frames(5..<10)
    _ = try run(asker, steps, [AddValue.plugin], sinks: [sink])
    expectEqual(refusals.load(ordering: .relaxed), 1000 - 256)
    expectEqual(added(sink)[9], 255 % 100)
  }
}

/// New values of `AddValue`, by their settings' names.
func adding(_ values: [String: Int], in stage: String = "addvalue") -> SettingsChange {
  SettingsChange(stage, of: AddValue.Settings.self) { settings in
    if let value = values["value"] { settings.value = value }
    if let more = values["more"] { settings.more = more }
    if let other = values["other"] { settings.other = other }
  }
}

/// Writes down changes of settings.
private final class EventSink: Sink {
  let name = "events"
  var told: [String] = []
  private var lookup: @Sendable (UInt64) -> ChangedSettings? = { _ in nil }

  func configure(_ setup: inout SinkSetup) throws(RunError) { lookup = setup.changedSettings }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    for index in 0..<frame.view.eventCount {
      let event = frame.view.event(index)
      let changed = lookup(event.ticket)
      let texts = ["more", "value"].map { "\($0)=\(changed?.values[$0] ?? "nil")" }
      told.append("\(event.number): \(changed?.stage ?? "") \(texts.joined(separator: " "))")
    }
  }
}
