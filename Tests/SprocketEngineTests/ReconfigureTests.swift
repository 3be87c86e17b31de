import Glibc
import SprocketCore
import Synchronization
import TestExpectations
import Testing

@testable import SprocketEngine

/// A run that goes on until it is stopped, changed while it goes on.
///
/// Rules A18 to A20 of the contract of requests.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ReconfigureTests {
  /// A sink that comes in the middle and one that goes: each account is about the frames between, no frame
  /// is lost (a live source loses some on a busy machine), none is a discontinuity, and the stage is not
  /// configured again.
  @Test(arguments: [true, false]) func a19ASinkComesAndGoes(isLive: Bool) throws {
    let source = endless(isLive: isLive, lends: true)
    let (first, second) = (RecordingSink("first"), RecordingSink("second", packs: true))
    second.selectsEvery = 2
    ConfigureCount.count.withLock { $0 = 0 }
    let summary = try run(
      source, [ConfigureCount.plugin], sinks: [first],
      during: { engine in
        frames(source, 20)
        #expect(throws: Never.self) { try engine.reconfigure(change { $0.attached = [second] }) }
        frames(source, 20)
        #expect(throws: Never.self) { try engine.reconfigure(change { $0.detached = ["first"] }) }
        frames(source, 20)
        engine.stop()
      })
    expectEmpty(summary.errors)
    expectEqual(summary.epochs, 1)
    expectEqual(ConfigureCount.count.withLock { $0 }, 2, "once per worker")
    expectEqual(ConfigureCount.breaks.withLock { $0 }, [0])
    let begin = try #require(summary.sinks.first?.frames?.lowerBound)
    let end = try #require(summary.detached.first?.frames?.upperBound)
    expectEqual(summary.sinks.map(\.name), ["second"])
    expectEqual(summary.detached.map(\.name), ["first"])
    expectAtLeast(begin, 20)
    expectAtLeast(end, begin + 20)
    expectAtLeast(summary.ledger.produced, end + 20)
    expectEqual(first.lines.map(\.number), Array(0..<end))
    expectEqual(second.lines.map(\.number), Array(begin..<summary.ledger.produced))
    let busy: [Fate] = isLive ? [.overrun, .behind] : []
    expectTrue(first.lines.filter { !busy.contains($0.fate) }.allSatisfy { $0.fate == .delivered })
    expectTrue(
      second.lines.filter { !busy.contains($0.fate) }.allSatisfy {
        ($0.fate == .delivered) == $0.number.isMultiple(of: 2)
      })
    expectEqual(first.finishes, 1)
    expectFalse(first.isTorn)
    expectFalse(second.isTorn)
  }

  /// Recordings of a sink that stays go on through a change of other sinks, pre-roll included.
  @Test(arguments: [false, true]) func a19ARecordingGoesOn(hasPreRoll: Bool) throws {
    // Not live, so that a busy machine loses no frame either.
    let source = endless(isLive: false, apart: 10_000_000)
    let movie = MemoryRecorder()
    if hasPreRoll { movie.preRoll = PreRoll(.milliseconds(150), bytes: 1 << 20) }
    var records: [RecordingRecord] = []
    let summary = try run(
      source, sinks: [movie],
      during: { engine in
        frames(source, 20)
        let id = try? engine.ask([.record(sink: "movie")])[0]
        for index in 0..<4 {
          frames(source, 10)
          #expect(throws: Never.self) {
            try engine.reconfigure(
              change {
                $0.attached = [RecordingSink("s\(index)")]
                if index > 0 { $0.detached = ["s\(index - 1)"] }
              })
          }
        }
        frames(source, 10)
        if let id { _ = try? engine.ask([.stop(id)]) }
        frames(source, 3)
        engine.stop()
      }, after: { records = $0.recordingRecords })
    expectEqual(records.count, 1)
    expectEqual(records[0].reason, .asked)
    let numbers = try #require(movie.contents.first)
    expectEqual(movie.contents.count, 1)
    let first = try #require(numbers.first)
    expectEqual(numbers, Array(first..<first + UInt64(numbers.count)), "without a gap")
    expectAtLeast(numbers.count, 50)
    if hasPreRoll { expectLess(first, (records[0].asked ?? 0)) }
    expectFalse(movie.isTorn)
    expectEmpty(summary.errors)
  }

  /// A sink is busy from the request for a file until the news contain the file's record: also while the file
  /// passes from the sink's thread to the finisher, and if the file never begins.
  @Test func a20ASinkHasFilesUntilTheirRecordsAreTold() throws {
    let source = endless()
    let movie = MemoryRecorder()
    movie.finishDelay = 30_000
    let seen = Mutex<[Set<String>]>([])
    var told = 0
    let summary = try run(
      source, sinks: [RecordingSink(), movie],
      during: { engine in
        frames(source, 5)
        expectEqual(engine.busySinks, [])
        _ = try? engine.ask([.record(sink: "movie")])
        _ = try? engine.ask([.record(sink: "movie")], at: .frame(1_000_000))
        for file in movie.files.withLock({ $0 }) {
          file.counting = { [weak engine] in
            seen.withLock { $0.append(engine?.busySinks ?? []) }
          }
        }
        frames(source, 20)
        expectEqual(engine.busySinks, ["movie"])
        try? engine.reconfigure(change { $0.detached = ["movie"] })
        expectTrue(waitUntil { engine.busySinks.isEmpty })
        var mark = NewsMark()
        told = engine.news(since: &mark).count { if case .ended = $0 { true } else { false } }
        engine.stop()
      })
    expectEqual(told, 2)
    expectEmpty(summary.errors)
    // At the end of the file that began, and when the finisher takes each.
    expectEqual(seen.withLock(\.count), 3)
    expectTrue(seen.withLock { $0.allSatisfy { $0 == ["movie"] } })
  }

  /// An on-demand sink that is attached can be asked; one that is detached ends its recording and refuses.
  @Test func a20OnDemandSinksComeAndGo() throws {
    let source = endless()
    let movie = MemoryRecorder()
    movie.finishDelay = 30_000
    var records: [RecordingRecord] = []
    var errors: [String] = []
    let summary = try run(
      source, sinks: [RecordingSink()],
      during: { engine in
        frames(source, 5)
        try? engine.reconfigure(change { $0.attached = [movie] })
        _ = try? engine.ask([.record(sink: "movie")])
        _ = try? engine.ask([.record(sink: "movie")], at: .frame(1_000_000))
        frames(source, 20)
        try? engine.reconfigure(change { $0.detached = ["movie"] })
        do throws(RunError) {
          try engine.ask([.record(sink: "movie")])
        } catch { errors.append(error.description) }
        frames(source, 5)
        // The same sink may not come back, another one of the same name may.
        let next = MemoryRecorder()
        try? engine.reconfigure(change { $0.attached = [next] })
        _ = try? engine.ask([.record(sink: "movie", frames: 3)])
        frames(source, 10)
        engine.stop()
      }, after: { records = $0.recordingRecords })
    expectEqual(errors, ["this run has no on-demand sink; make one that waits for requests"])
    expectEqual(Set(records.map(\.reason)), [.detached, .asked])
    expectEqual(records.count { $0.reason == .detached }, 2)
    let file = try #require(movie.files.withLock { $0.first })
    expectTrue(file.isFinished)
    expectAtLeast(file.numbers.count, 19)
    expectEqual(summary.detached.map(\.name), ["movie"])
    expectEqual(summary.detached[0].counts[.delivered], UInt64(file.numbers.count))
    expectEmpty(summary.errors)
  }

  /// Other stages: an epoch begins, the device's count goes on, and no frame is lost.
  @Test func a18OtherStages() throws {
    let source = endless(isLive: false, lends: true)
    let sink = RecordingSink()
    let summary = try run(
      source, sinks: [sink],
      during: { engine in
        frames(source, 10)
        #expect(throws: Never.self) {
          try engine.reconfigure(
            change {
              $0.stages = [StageChoice(AddValue.plugin, of: AddValue.self) { $0.value = 5 }]
            })
        }
        frames(source, 10)
        #expect(throws: Never.self) { try engine.set(adding(["value": 7])) }
        frames(source, 10)
        #expect(throws: Never.self) { try engine.reconfigure(change { $0.stages = [] }) }
        frames(source, 10)
        #expect(throws: RunError.self) { try engine.set(adding(["value": 7])) }
        engine.stop()
      })
    expectEqual(summary.epochs, 3)
    expectEmpty(summary.errors)
    expectEqual(sink.lines.map(\.number), Array(0..<summary.ledger.produced))
    let added = sink.lines.map { Int($0.byte &- UInt8(truncatingIfNeeded: $0.sequence)) }
    let changes = zip(added, added.dropFirst()).filter { $0 != $1 }
    expectEqual(changes.map(\.1), [5, 7, 0])
    expectEqual(summary.stages.map(\.name), ["addvalue"])
  }

  /// Another source, and back: numbers count on; the first one is closed, its frames have come home.
  @Test(arguments: [true, false]) func a18AnotherSource(isLive: Bool) throws {
    let (source, second) = (endless(lends: true), endless(16, isLive: isLive))
    let sink = RecordingSink()
    let asker = Asker()
    let summary = try run(
      source, [AddValue.plugin], sinks: [sink], before: { asker.engine = $0 },
      during: { engine in
        frames(source, 10)
        #expect(throws: Never.self) { try engine.set(adding(["value": 9])) }
        frames(source, 10)
        #expect(throws: Never.self) { try engine.reconfigure(change { $0.source = second }) }
        expectTrue(source.isClosed)
        expectEqual(engine.description.format.width, 16)
        frames(second, 30)
        engine.stop()
      })
    expectTrue(second.isClosed)
    expectEqual(summary.epochs, 2)
    expectEmpty(summary.errors)
    expectEqual(summary.source.format.width, 16)
    expectEqual(sink.lines.map(\.number), Array(0..<summary.ledger.produced))
    let late = sink.lines.suffix(20).filter { $0.fate == .delivered }
    expectFalse(late.isEmpty)
    expectTrue(
      late.allSatisfy { $0.byte == UInt8(truncatingIfNeeded: $0.sequence) &+ 9 }, "settings hold on"
    )
  }

  // MARK: What is refused

  /// Each way in which a change can fail leaves the run as it was.
  @Test(arguments: [
    "unknown sink", "same name", "stage", "new sink", "kept sink", "source", "format", "memory",
    "unlike settings",
  ]) func a18WhatFailsChangesNothing(way: String) throws {
    // Not live, so that a busy machine loses no frame either.
    let source = endless(isLive: false, lends: true)
    let sink = RecordingSink()
    let movie = MemoryRecorder()
    movie.refusesWidth = 24
    var told = ""
    var records: [RecordingRecord] = []
    let summary = try run(
      source, [AddOne.plugin], sinks: [sink, movie],
      during: { engine in
        _ = try? engine.ask([.record(sink: "movie")])
        frames(source, 10)
        do throws(RunError) {
          try engine.reconfigure(change { failing(way, &$0) })
          told = "accepted"
        } catch { told = error.description }
        frames(source, 10)
        engine.stop()
      }, after: { records = $0.recordingRecords })
    expectTrue(told.hasPrefix(Self.sentences[way] ?? "-"), "\(told)")
    expectEmpty(summary.errors)
    expectEqual(summary.epochs, 1)
    expectEqual(summary.sinks.map(\.name), ["record", "movie"])
    expectEmpty(summary.detached)
    expectEqual(sink.lines.map(\.number), Array(0..<summary.ledger.produced))
    expectTrue(
      sink.lines.allSatisfy {
        $0.fate == .delivered && $0.byte == UInt8(truncatingIfNeeded: $0.sequence) &+ 1
      })
    expectEqual(records.count, 1)
    expectEqual(movie.contents, [Array((records[0].begin ?? 0)..<summary.ledger.produced)])
  }

  private func failing(_ way: String, _ change: inout Reconfiguration) {
    switch way {
    case "unknown sink": change.detached = ["recor"]
    case "same name": change.attached = [RecordingSink("movie")]
    case "stage": change.stages = [StageChoice(RefusesAll.plugin)]
    case "new sink":
      let other = RecordingSink("other")
      other.refusesWidth = 8
      change.attached = [other]
    case "kept sink": change.source = endless(24)
    case "source": change.source = UnusualSource(capacity: nil)
    case "format": change.source = endless(1 << 21)
    case "memory": change.source = UnusualSource(capacity: 1 << 40)
    default: change.stages = [StageChoice(AddValue.plugin, of: RefusesAll.self) { _ in }]
    }
  }

  private static let sentences = [
    "unknown sink":
      "no sink of this run is called recor; did you mean `record`? there are: record, movie",
    "same name": "two sinks are called movie; leave one out, or give it another name",
    "stage": "refuses will not; leave it out",
    "new sink": "other: another width; stop there",
    "kept sink": "movie: another width; stop there",
    "source": "there is no such camera; plug one in",
    "format": "frames of 2097152x4 and up to ",
    "memory": "frames of 8x4 need ",
    "unlike settings":
      "the stage addvalue is given settings of another stage, NoSettings; give it Settings",
  ]

  @Test func a18WhoeverTheRunWaitsForCannotAsk() throws {
    let asker = Asker()
    let refusals = Locked<[String]>([])
    let ask: @Sendable () -> Void = {
      do throws(RunError) {
        try asker.engine?.reconfigure(Reconfiguration())
      } catch { refusals.withLock { $0.append(error.description) } }
    }
    _ = try run(
      asker, .frames(0..<3) + [.call(ask)] + .frames(3..<6), sinks: [RecordingSink()])
    expectEqual(
      refusals.withLock { $0 },
      [
        "the run's own threads cannot change it and wait for that; ask on another thread"
      ])
  }

  @Test func a18ARunThatDoesNotGoOnRefuses() throws {
    let source = endless()
    let asker = Asker()
    func refusal() -> String {
      do throws(RunError) {
        try asker.engine?.reconfigure(Reconfiguration())
        return "accepted"
      } catch { return error.description }
    }
    _ = try run(
      source, sinks: [RecordingSink()],
      before: {
        asker.engine = $0
        expectEqual(refusal(), "the run has not begun; start it first")
      },
      during: {
        frames(source, 3)
        $0.stop()
      }, after: { _ in expectEqual(refusal(), "the run has ended") })
  }

  /// A source that hangs in a call: the change is withdrawn, and the run goes on.
  @Test func a18AChangeIsWithdrawnInTime() throws {
    let (hangs, hasBegun) = (Flag(true), Flag(false))
    let source = ScriptedSource(
      .frames(0..<5) + [
        .call {
          hasBegun.set(true)
          while hangs.isSet { usleep(1000) }
        }, .frame(sequence: 5),
      ], isLive: true)
    var told = ""
    let sink = RecordingSink()
    _ = try run(
      source, sinks: [sink], drain: .milliseconds(500),
      during: { engine in
        expectTrue(waitUntil { hasBegun.isSet })
        do throws(RunError) {
          try engine.reconfigure(change { $0.detached = ["record"] })
        } catch { told = error.description }
        hangs.set(false)
      })
    expectEqual(
      told, "the source did not return from a call in time, so nothing was changed; ask again")
    expectEqual(sink.lines.count, 6)
  }

  // MARK: One device

  /// Both sources use one device: the first is closed before the second is opened, and comes back if that
  /// fails.
  @Test(arguments: [true, false]) func a18OneDeviceIsGivenUpAndBroughtBack(fails: Bool) throws {
    let device = DeviceSource.Log()
    // What fails while a source is replaced does not end the run.
    let first = DeviceSource(device, 8, failsToClose: true)
    let second = DeviceSource(device, fails ? 0 : 16)
    let sink = RecordingSink()
    let engine = try Engine(
      source: first, stages: [], sinks: [sink], options: RunOptions(workers: 2)
    ) { GreyUnpacker() }
    try engine.start()
    expectTrue(waitUntil { engine.progress.produced >= 5 })
    var told = ""
    do throws(RunError) {
      try engine.reconfigure(change { $0.source = second })
    } catch { told = error.description }
    let before = engine.progress.produced
    expectTrue(waitUntil { engine.progress.produced >= before + 5 })
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectEqual(told, (fails ? "that format is not offered; choose another" : ""))
    expectEqual(
      device.lines.withLock { $0 },
      (fails
        ? ["open 8", "close 8", "open 0", "open 8", "close 8"]
        : ["open 8", "close 8", "open 16", "close 16"]))
    expectEmpty(summary.errors)
    expectTrue(summary.notes.contains("it is gone"))
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.epochs, 2)
    expectEqual(summary.source.format.width, (fails ? 8 : 16))
    expectEqual(sink.lines.last.map { $0.number + 1 }, summary.ledger.produced)
  }
}

/// Counts calls of `configure`, and keeps the numbers of frames that are discontinuities.
struct ConfigureCount: Stage {
  static let order = Order.any
  static let count = Locked(0)
  static let breaks = Locked<[UInt64]>([])
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    Self.count.withLock { $0 += 1 }
    Self.breaks.withLock { $0 = [] }
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    if frame.record.isDiscontinuity {
      let number = frame.record.number
      Self.breaks.withLock { $0.append(number) }
    }
    return .keep
  }
  static let plugin = Plugin("configurecount", "counts", ConfigureCount.self)
}

private struct RefusesAll: Stage {
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    throw StageError("will not; leave it out")
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("refuses", "refuses", RefusesAll.self)
}

/// A source that cannot be opened, or has frames of that many bytes.
private final class UnusualSource: Source {
  private let capacity: Int?
  init(capacity: Int?) { self.capacity = capacity }

  func open() throws(RunError) -> SourceDescription {
    guard let capacity else {
      throw RunError(.failed, "there is no such camera; plug one in")
    }
    return SourceDescription(
      name: "unusual",
      format: FrameFormat(
        pixelFormat: .grey, width: 8, height: 4, color: .jpeg, rate: FrameRate(frames: 0)),
      isLive: true, clock: .monotonic, capacity: capacity)
  }
  func next(timeout: Int64) throws(RunError) -> Arrival { .end }
  func take(into slot: inout CaptureSlot) {}
  func discard() {}
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() {}
}

/// A device that only one source at a time can use; a width of 0 is a format that it does not have.
final class DeviceSource: Source {
  private let log: Log
  private let width: Int
  private let frames: ScriptedSource

  final class Log: Sendable {
    let lines = Locked<[String]>([])
  }

  private let failsToClose: Bool

  init(_ log: Log, _ width: Int, failsToClose: Bool = false) {
    (self.log, self.width, self.failsToClose) = (log, width, failsToClose)
    frames = ScriptedSource(
      [.frame(sequence: 0), .pause(nanoseconds: 1_000_000)], width: width, isLive: true,
      repeats: true)
  }

  var deviceIdentity: String? { "one" }
  func again() -> (any Source)? { DeviceSource(log, width) }
  func open() throws(RunError) -> SourceDescription {
    log.lines.withLock { $0.append("open \(width)") }
    if width == 0 { throw RunError(.failed, "that format is not offered; choose another") }
    return try frames.open()
  }
  func next(timeout: Int64) throws(RunError) -> Arrival { try frames.next(timeout: timeout) }
  func take(into slot: inout CaptureSlot) { frames.take(into: &slot) }
  func discard() { frames.discard() }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() throws(RunError) {
    log.lines.withLock { $0.append("close \(width)") }
    if failsToClose { throw RunError(.failed, "it is gone") }
  }
}

private final class Flag: Sendable {
  private let value: Atomic<Bool>
  init(_ value: Bool) { self.value = Atomic(value) }
  var isSet: Bool { value.load(ordering: .relaxed) }
  func set(_ new: Bool) { value.store(new, ordering: .relaxed) }
}
