import Glibc
import SprocketCore
import Synchronization
import TestExpectations
import Testing

@testable import SprocketEngine

/// Changes of a run at awkward moments: while sinks fail, hang or finish, and with requests under way.
///
/// Rules A18 to A20 of the contract of requests.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ReconfigureAttackTests {
  private func started(
    _ source: any Source, _ stages: [Plugin] = [], _ sinks: [any Sink],
    drain: Duration = longestWait
  ) throws -> Engine {
    let engine = try Engine(
      source: source, stages: stages.map { StageChoice($0) }, sinks: sinks,
      options: RunOptions(workers: 2, drainLimit: drain)
    ) { GreyUnpacker() }
    try engine.start()
    return engine
  }

  private func end(_ engine: Engine) {
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced, "\(engine.summary.ledger)")
  }

  @Test func a20ADetachedSinkThatFailsDoesNotEndTheRun() throws {
    let source = endless()
    let failing = RecordingSink("b")
    failing.failsToFinish = true
    let engine = try started(source, [], [RecordingSink("a"), failing])
    frames(source, 10)
    try engine.reconfigure(change { $0.detached = ["b"] })
    frames(source, 100)
    expectFalse(engine.summary.isOver)
    end(engine)
    expectEqual(
      engine.summary.errors.map(\.description), ["b: cannot be synced; use another disk"])
  }

  @Test func a19TheFirstFrameIsADiscontinuityWhateverWasAttachedBefore() throws {
    Breaks.numbers.withLock { $0 = [] }
    let gate = Gate()
    let source = ScriptedSource([.hold { !gate.isReached }] + .frames(0..<20), isLive: true)
    let engine = try started(source, [Breaks.plugin], [RecordingSink("a")])
    try engine.reconfigure(change { $0.attached = [RecordingSink("b")] })
    expectEqual(engine.summary.ledger.produced, 0)
    gate.reach()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(Breaks.numbers.withLock { $0 }, [0])
  }

  @Test func a20ARequestThatIsMadeDuringTheDetachmentIsRefused() throws {
    let source = endless()
    let movie = SlowPrepare()
    let engine = try started(source, [], [RecordingSink("a"), movie])
    frames(source, 5)
    let work = try BackgroundWork("ask") { [engine] () -> String in
      do throws(RunError) {
        return "accepted \(try engine.ask([.record(sink: "movie")]))"
      } catch { return error.description }
    }
    expectTrue(waitUntil { movie.isPreparing.load(ordering: .acquiring) })
    try engine.reconfigure(change { $0.detached = ["movie"] })
    movie.mayGoOn.store(true, ordering: .releasing)
    expectTrue(work.wait(for: longestWait))
    try expectEqual(work.take()?.get(), "movie was detached from the run; attach it again")
    end(engine)
    expectEmpty(engine.recordingRecords)
  }

  /// What source and chain decide later is not in the account of a sink that hangs since it was detached.
  @Test func a20TheAccountOfASinkThatHangsBalances() throws {
    // Every second number is missing.
    let steps = (0..<4000).flatMap { index -> [ScriptedSource.Step] in
      [.frame(sequence: UInt64(index) * 2), .pause(nanoseconds: 1_000_000)]
    }
    let source = ScriptedSource(steps, isLive: true)
    let hanging = SlowFinish("b")
    let engine = try started(source, [], [RecordingSink("a"), hanging], drain: .milliseconds(500))
    frames(source, 20)
    try engine.reconfigure(change { $0.detached = ["b"] })
    frames(source, 100)
    end(engine)
    expectEqual(engine.summary.detached.map(\.name), ["b"])
    hanging.goesOn.store(true, ordering: .releasing)
  }

  /// Another sink of the same change hangs: that one alone is told and counted.
  @Test func a20ASinkThatIsDoneIsNotStuck() throws {
    let source = endless()
    let done = RecordingSink("fast")
    done.durableCount = 1_000_000
    let hanging = SlowFinish("slow")
    let engine = try started(
      source, [], [RecordingSink("a"), hanging, done], drain: .milliseconds(500))
    frames(source, 30)
    try engine.reconfigure(change { $0.detached = ["fast"] })
    try engine.reconfigure(change { $0.detached = ["slow"] })
    frames(source, 10)
    end(engine)
    let line = engine.summary.detached.first { $0.name == "fast" }
    expectEqual(line?.counts[.failed], 0)
    expectEqual(
      engine.summary.errors.map(\.description),
      [
        "the sink `slow` did not finish; look at what it waits for: a disk, or a reader"
      ])
    hanging.goesOn.store(true, ordering: .releasing)
  }

  @Test func a20TheRunWaitsForTheFilesOfDetachedSinks() throws {
    let source = endless()
    let movie = MemoryRecorder()
    movie.finishDelay = 500_000
    let slow = SlowFinish("b", patience: 300)
    let engine = try started(source, [], [RecordingSink("a"), slow, movie])
    frames(source, 5)
    try engine.ask([.record(sink: "movie")])
    frames(source, 20)
    try engine.reconfigure(change { $0.detached = ["b", "movie"] })
    end(engine)
    expectTrue(movie.files.withLock { $0[0].isFinished })
    expectEqual(engine.recordingRecords.map(\.reason), [.detached])
    expectTrue(engine.recordingRecords[0].isUsable)
  }

  /// An on-demand sink that refused the epoch gets no frame after a change that failed, either.
  @Test(arguments: [true, false]) func a18ASuspendedSinkStaysSuspended(isContinuous: Bool) throws {
    let steps: [ScriptedSource.Step] =
      .frames(0..<10) + [.epoch(width: 24)]
      + (10..<5000).flatMap {
        [.frame(sequence: UInt64($0)), .pause(nanoseconds: 1_000_000)]
      }
    let source = ScriptedSource(steps, isLive: true)
    let kept = RecordingSink("a")
    kept.refusesWidth = 32
    let movie = MemoryRecorder(packs: false)
    movie.refusesWidth = 24
    let engine = try started(source, [], [kept, movie])
    frames(source, 40)
    if isContinuous {
      try engine.reconfigure(change { $0.attached = [RecordingSink("b")] })
    } else {
      #expect(throws: RunError.self) {
        try engine.reconfigure(change { $0.source = endless(32) })
      }
    }
    frames(source, 10)
    try engine.ask([.record(sink: "movie")])
    frames(source, 20)
    end(engine)
    expectEmpty(movie.contents)
    expectEqual(engine.recordingRecords.map(\.error), ["movie: another width; stop there"])
  }

  @Test func a18AllThatCanFailFailsBeforeTheCommit() throws {
    let source = endless()
    let engine = try started(source, [], [RecordingSink("a")])
    frames(source, 5)
    var told = ""
    do throws(RunError) {
      try engine.reconfigure(change { $0.attached = [NoPacker()] })
    } catch { told = error.description }
    expectEqual(told, "no packer can be had; use another sink")
    frames(source, 100)
    expectFalse(engine.summary.isOver)
    end(engine)
    expectEmpty(engine.summary.errors)
    expectEqual(engine.summary.sinks.map(\.name), ["a"])
  }

  @Test func a20RequestsToDetachedSinksLeaveRoomForOthers() throws {
    let source = endless()
    let engine = try started(source, [], [RecordingSink("a")])
    for _ in 0..<6 {
      try engine.reconfigure(change { $0.attached = [MemoryRecorder()] })
      for _ in 0..<50 { try engine.ask([.record(sink: "movie")], at: .frame(1_000_000_000)) }
      frames(source, 5)
      try engine.reconfigure(change { $0.detached = ["movie"] })
      frames(source, 5)
    }
    end(engine)
    expectEqual(engine.recordingRecords.count, 300)
    expectTrue(engine.recordingRecords.allSatisfy { $0.reason == .detached })
  }

  /// What was decided before a sink was attached is not in its account: while the run goes on, and where so
  /// many frames have passed an idle sink that the tape tells totals alone.
  @Test func a20AnAccountBeginsWithTheAttachment() throws {
    let (gate, hasChanged) = (Gate(), Gate())
    let first: [ScriptedSource.Step] = (0..<1000).map { .frame(sequence: $0 * 2) }
    let later: [ScriptedSource.Step] = (1000..<101_000).map { .frame(sequence: 1000 + $0) }
    let source = ScriptedSource(
      first + [.call { gate.reach() }, .hold { !hasChanged.isReached }] + later
        + [.frame(sequence: 102_100)])
    let movie = MemoryRecorder()
    let engine = try started(source, [], [RecordingSink("a")])
    expectTrue(waitUntil { gate.isReached })
    try engine.reconfigure(change { $0.attached = [movie] })
    // The source waits still: its next frame tells that 1999 is missing.
    let live = engine.summary.sinks.first { $0.name == "movie" }
    expectEqual(live?.counts[.missing], 0)
    hasChanged.reach()
    expectTrue(engine.wait(for: longestWait))
    let line = engine.summary.sinks.first { $0.name == "movie" }
    expectEqual(line?.frames?.lowerBound, 1999)
    // Of the numbers from 1999 on, 1999 and those from 102,000 to 102,099 are missing.
    expectEqual(line?.counts[.missing], 101)
    expectTrue(engine.summary.ledger.isBalanced)
  }

  /// Frames that are kept for a pre-roll outlast a change of other sinks.
  @Test func a19APreRollReachesBackBeyondAChange() throws {
    let source = endless(isLive: false)
    let movie = MemoryRecorder()
    movie.preRoll = PreRoll(.seconds(600), bytes: 1 << 20)
    let engine = try started(source, [], [movie])
    frames(source, 20)
    try engine.reconfigure(change { $0.attached = [RecordingSink("a")] })
    frames(source, 20)
    try engine.ask([.record(sink: "movie")])
    frames(source, 10)
    end(engine)
    let numbers = try #require(movie.contents.first)
    expectEqual(numbers, Array(0..<UInt64(numbers.count)))
  }

  /// A change of settings that waits for its frame is for the stage of that name, wherever it is by then.
  @Test func a15AChangeOfSettingsOutlastsAnotherChain() throws {
    let (isAsked, hasChanged) = (Gate(), Gate())
    let source = ScriptedSource(
      .frames(0..<5) + [.hold { !isAsked.isReached }] + .frames(5..<70)
        + [.hold { !hasChanged.isReached }] + .frames(70..<100))
    let sink = RecordingSink("a")
    let engine = try started(source, [AddValue.plugin], [sink])
    expectTrue(waitUntil { engine.progress.produced == 5 })
    try engine.set(adding(["value": 9]), at: .frame(60))
    try engine.set(adding(["more": 1]), at: .frame(80))
    try engine.reconfigure(
      change { $0.stages = [StageChoice(Jitter.plugin), StageChoice(AddValue.plugin)] })
    isAsked.reach()
    expectTrue(waitUntil { engine.progress.produced == 70 })
    try engine.reconfigure(change { $0.stages = [StageChoice(Jitter.plugin)] })
    hasChanged.reach()
    expectTrue(engine.wait(for: longestWait))
    let added = sink.lines.map { Int($0.byte &- UInt8(truncatingIfNeeded: $0.sequence)) }
    expectTrue(added[..<60].allSatisfy { $0 == 0 })
    expectTrue(added[60..<70].allSatisfy { $0 == 9 })
    expectEqual(added.last, 0)
    expectTrue(
      engine.summary.notes.contains {
        $0.hasPrefix("a change of settings is left out: this run has no stage `addvalue`")
      })
  }

  /// Sinks that come and go leave nothing behind but their accounts, the latest 256.
  @Test func a20ManyChangesKeepLittle() throws {
    let source = endless()
    let engine = try started(source, [], [RecordingSink("a")])
    for index in 0..<300 {
      try engine.reconfigure(
        change {
          $0.attached = [RecordingSink("s\(index)")]
          if index > 0 { $0.detached = ["s\(index - 1)"] }
        })
    }
    end(engine)
    expectEmpty(engine.leaving)
    expectEqual(engine.summary.detached.count, 256)
    expectEqual(engine.summary.epochs, 1)
  }
}

/// Tells a test that the source has come so far.
private final class Gate: Sendable {
  private let reached = Atomic<Bool>(false)
  var isReached: Bool { reached.load(ordering: .acquiring) }
  func reach() { reached.store(true, ordering: .releasing) }
}

/// Keeps the numbers of frames that are discontinuities.
private struct Breaks: PlainStage {
  static let order = Order.any
  static let numbers = Locked<[UInt64]>([])
  mutating func process(_ frame: inout FrameView) -> Verdict {
    if frame.record.isDiscontinuity {
      let number = frame.record.number
      Self.numbers.withLock { $0.append(number) }
    }
    return .keep
  }
  static let plugin = Plugin("breaks", "keeps numbers", Breaks.self)
}

/// Its packer cannot be made.
private final class NoPacker: Sink {
  let name = "nopacker"
  func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(.luma(.full))
    setup.packs(capacity: 64)
  }
  func makePacker() throws(RunError) -> (any Packer)? {
    throw RunError(.failed, "no packer can be had; use another sink")
  }
  func write(_ frame: borrowing PackedFrame) throws(RunError) {}
}

/// `finish` returns when it may, or after that many milliseconds.
private final class SlowFinish: Sink {
  let name: String
  let goesOn = Atomic<Bool>(false)
  private let patience: Int

  init(_ name: String, patience: Int = 60_000) {
    self.name = name
    self.patience = patience
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {}
  func write(_ frame: borrowing PackedFrame) throws(RunError) {}
  func finish() throws(RunError) {
    for _ in 0..<patience where !goesOn.load(ordering: .acquiring) { usleep(1000) }
  }
}

/// `prepare` waits until it may go on.
private final class SlowPrepare: Recorder {
  private let inner = MemoryRecorder()
  let isPreparing = Atomic<Bool>(false)
  let mayGoOn = Atomic<Bool>(false)

  var name: String { "movie" }
  var isOnDemand: Bool { true }
  var fitsFile: Bool { inner.fitsFile }
  func configure(_ setup: inout SinkSetup) throws(RunError) { try inner.configure(&setup) }
  func makePacker() throws(RunError) -> (any Packer)? { inner.makePacker() }
  func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile {
    isPreparing.store(true, ordering: .releasing)
    while !mayGoOn.load(ordering: .acquiring) { usleep(1000) }
    return try inner.prepare(order)
  }
  func begin(_ file: any RecordingFile) throws(RunError) { try inner.begin(file) }
  func end(before next: Timestamp?) { inner.end(before: next) }
  func write(_ frame: borrowing PackedFrame) throws(RunError) { try inner.write(frame) }
  func account(_ lost: LostFrame) throws(RunError) { try inner.account(lost) }
  func finish() throws(RunError) { try inner.finish() }
}
