import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// The contract of requests, rule by rule, with a script that asks between two frames: each result is
/// exact.
@Suite(.timeLimit(.minutes(10)))
struct RequestTests {
  @Test func a2WhatIsAskedHoldsFromTheNextFrameThatArrives() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let other = RecordingSink()
    let result = try run(
      asker,
      .frames(0..<10) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(10..<20)
        + [.call { asker.stop() }] + .frames(20..<30), sinks: [sink, other])
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(10..<20)])
    let record = try #require(result.records.first)
    expectEqual(result.records.count, 1)
    expectEqual(record.begin, 10)
    expectEqual(record.end, 20)
    expectEqual(record.reason, .asked)
    expectTrue(record.isUsable)
    expectEqual(record.firstFrame?.number, 10)
    expectEqual(record.lastFrame?.number, 19)
    expectEqual(record.counts[.delivered], 10)
    expectEqual(record.counts.sum, 10)
    let counts = try #require(result.summary.ledger.entries.first?.counts)
    expectTrue(counts[.delivered] == 10 && counts[.unselected] == 20)
    expectEqual(other.lines.count, 30)
  }

  @Test func a1RequestsThatAreAskedTogetherHoldFromOneFrame() throws {
    let asker = Asker()
    let (movie, photo) = (MemoryRecorder("movie"), MemoryRecorder("photo", packs: false))
    try run(
      asker,
      .frames(0..<5) + [
        .call { asker.ask(.record(sink: "movie"), .record(sink: "photo", frames: 2)) }
      ] + .frames(5..<20) + [.call { asker.stop(0) }] + .frames(20..<25), sinks: [movie, photo])
    expectEqual(movie.contents, [Array(5..<20)])
    expectEqual(photo.contents, [[5, 6]])
  }

  @Test func a1OfRequestsThatAreAskedTogetherAllHoldOrNone() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      .frames(0..<5) + [
        .call { asker.ask(.record(sink: "movie"), .record(sink: "films")) },
        .call { asker.ask(.record(sink: "movie", path: "refused")) },
      ] + .frames(5..<10), sinks: [sink])
    expectEqual(asker.errors.count, 2)
    expectEqual(asker.errors.first?.description.contains("movie"), true)
    expectEmpty(sink.contents)
    expectTrue(sink.files.withLock { $0.allSatisfy(\.isAbandoned) })
  }

  @Test func a1ARecordingThatHasEndedIsAnsweredWithItsReason() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.failsAt = 7
    try run(
      asker,
      .frames(0..<5) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(5..<30) + [
        .call { while asker.engine?.recordingRecords.first?.reason == nil {} },
        .call { asker.stop() },
        .call { asker.ask(.stop(RecordingID(9))) },
      ] + .frames(30..<35), sinks: [sink])
    expectEqual(
      asker.errors.map(\.description).first, "recording 1 has ended: it could not be written")
    expectEqual(asker.errors.map(\.description).last, "there is no recording 9")
  }

  @Test func a5BelowTheFrameOfASwitchIsTheOldFileAndFromItOnTheNew() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10)
        + [.call { asker.ask(.next(asker.ids[0])) }] + .frames(10..<20)
        + [.call { asker.ask(.next(asker.ids[0], path: "own")) }] + .frames(20..<30),
      sinks: [sink])
    expectEqual(sink.contents, [Array(0..<10), Array(10..<20), Array(20..<30)])
    expectEqual(result.records.map(\.reason), [.split, .split, .end])
    expectEqual(Set(result.records.map(\.id)).count, 1)
    expectEqual(result.records.map(\.path), ["movie-1", "movie-2", "own-1"])
  }

  @Test func a5AnEmptyIntervalOpensNoFileAndHasARecord() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      .frames(0..<5) + [
        .call {
          asker.ask(.record(sink: "movie"))
          asker.stop()
          asker.ask(.record(sink: "movie"))
        }
      ] + .frames(5..<10), sinks: [sink])
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(5..<10)])
    expectEqual(sink.files.withLock { $0.map(\.isAbandoned) }, [true, false])
    expectEqual(result.records.first?.begin, 5)
    expectEqual(result.records.first?.end, 5)
    expectEqual(result.records.first?.reason, .asked)
    expectEqual(result.records.first?.isUsable, false)
  }

  @Test func a5AGapBeforeAnArrivalBelongsToTheStateBefore() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      .frames(0..<5) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(10..<20)
        + [.call { asker.stop() }] + .frames(30..<40), sinks: [sink])
    let record = try #require(result.records.first)
    expectEqual(record.begin, 10)
    expectEqual(record.end, 30)
    expectTrue(record.counts[.delivered] == 10 && record.counts[.missing] == 10)
    expectEqual(sink.files.withLock { $0.first?.lost ?? [] }, Array(20..<30))
  }

  @Test func a3AStopWaitsForFramesThatTheChainWithholds() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let pauses = [ScriptedSource.Step](repeating: .pause(nanoseconds: 5_000_000), count: 10)
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20)
        + [.call { asker.stop() }] + pauses + .frames(20..<40), [FourAhead.plugin], sinks: [sink])
    expectEqual(sink.contents, [Array(0..<20)])
    expectEqual(result.records.first?.end, 20)
  }

  @Test func a3AStopDoesNotWaitForAStalledSourceForever() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let stall = ScriptedSource.Step.hold {
      asker.engine?.recordingRecords.contains { $0.reason == nil } == true
    }
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20) + [.call { asker.stop() }]
        + [stall, .call { asker.ask(.record(sink: "movie")) }] + .frames(20..<40),
      [FourAhead.plugin], sinks: [sink], drain: .milliseconds(500))
    expectEqual(sink.contents, [Array(0..<16), Array(20..<40)])
    let record = try #require(result.records.first)
    expectTrue(record.reason == .asked && record.end == 20 && record.counts[.flushed] == 4)
    expectEqual(result.summary.ledger.entries.first?.counts[.flushed], 4)
  }

  @Test func a4ARequestWaitsForItsFrame() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie"), at: .frame(7))
          asker.stop(at: .frame(25))
        }
      ] + .frames(0..<20) + .frames(30..<40), sinks: [sink])
    expectEqual(sink.contents, [Array(7..<20)])
    // Exact, although frame 25 never came.
    expectEqual(result.records.first?.end, 25)
    expectEqual(result.records.first?.counts[.missing], 5)
  }

  @Test func a5AtTheRunsEndEachRequestIsAnswered() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10) + [
        .call { asker.stop(at: .frame(1000)) },
        .call { asker.ask(.record(sink: "movie"), at: .frame(2000)) },
        .call { asker.ask(.next(asker.ids[0])) },
      ], sinks: [sink])
    expectEqual(result.records.map(\.reason), [.end, .end, .end])
    expectEqual(sink.contents, [Array(0..<10)])
  }

  @Test(arguments: [false, true])
  func a12ARecordingOfNFramesGetsNWhateverIsLost(isLive: Bool) throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    var steps: [ScriptedSource.Step] = []
    // A busy machine loses many frames, so many more follow the last request.
    for number in UInt64(0)..<1000 {
      if number < 400, number % 20 == 4 {
        steps.append(.call { asker.ask(.record(sink: "movie", frames: 4)) })
      }
      steps.append(.frame(sequence: number + number / 50 * 3, corrupt: number % 7 == 0))
      steps.append(.pause(nanoseconds: isLive ? 1_000_000 : 0))
    }
    let result = try run(asker, steps, [RejectThirds.plugin], sinks: [sink], isLive: isLive)
    expectEmpty(asker.errors)
    expectEqual(result.records.count, 20)
    expectTrue(result.records.allSatisfy { $0.reason == .asked })
    expectEqual(sink.contents.map(\.count), [Int](repeating: 4, count: 20))
    expectTrue(result.records.allSatisfy { $0.counts[.delivered] == 4 })
  }

  @Test func a12AnErrorEndsTheRecordingAndNotTheSink() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.failsAt = 7
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20) + [
        .call { while asker.engine?.recordingRecords.first?.reason == nil {} },
        .call { asker.ask(.record(sink: "movie")) },
      ] + .frames(20..<30), sinks: [sink])
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(0..<7), Array(20..<30)])
    let record = try #require(result.records.first)
    expectEqual(record.reason, .error)
    expectEqual(record.end, 8)
    expectFalse(record.isUsable)
    // Memory is not durable before `finish`.
    expectEqual(record.counts[.failed], 8)
    let counts = try #require(result.summary.ledger.entries.first?.counts)
    expectTrue(counts[.failed] == 8 && counts[.delivered] == 10 && counts[.unselected] == 12)
    expectEqual(
      result.summary.errors.map(\.description), ["movie: the disk is full; free some space"])
  }

  @Test func a9AndA10WhatIsNotAskedForIsNotUnpackedNorPacked() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let source = ScriptedSource(
      .frames(0..<100) + [.call { asker.ask(.record(sink: "movie", frames: 5)) }]
        + .frames(100..<200))
    let unpacked = Atomic<Int>(0)
    let engine = try Engine(
      source: source, stages: [], sinks: [sink, RecordingSink2()], options: RunOptions(workers: 1)
    ) { CountingUnpacker { unpacked.wrappingAdd(1, ordering: .relaxed) } }
    asker.engine = engine
    try engine.start()
    let isOver = engine.wait(for: longestWait)
    expectTrue(isOver)
    asker.engine = nil
    expectEqual(sink.contents, [Array(100..<105)])
    expectEqual(sink.packs.load(ordering: .relaxed), 5)
    expectEqual(unpacked.load(ordering: .relaxed), 5)
    expectEqual(sink.strayCalls, 0)
  }

  @Test func aRecordingGoesOnInTheNextFileWhereTheFormatChanges() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10) + [.epoch(width: 16)]
        + .frames(0..<10) + [.epoch(width: 16)] + .frames(0..<10) + [.call { asker.stop() }]
        + .frames(10..<15), sinks: [sink])
    expectEqual(sink.contents, [Array(0..<10), Array(10..<30)])
    expectEqual(result.records.map(\.reason), [.discontinuity, .asked])
  }

  @Test func limitsEndARecordingOrItsFile() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.limits.fileBytes = 400
    sink.limits.bytes = 1000
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<30), sinks: [sink])
    expectEqual(sink.contents, [Array(0..<4), Array(4..<8), Array(8..<10)])
    expectEqual(result.records.map(\.reason), [.split, .split, .size])
    expectEqual(result.summary.ledger.entries.first?.counts[.unselected], 20)
  }

  @Test func a6WithoutAPlaceARequestIsRefusedAndEarlierOnesAreWhole() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.finishDelay = 20_000
    var steps: [ScriptedSource.Step] = [.call { asker.ask(.record(sink: "movie")) }]
    for number in UInt64(0)..<100 {
      steps += [.frame(sequence: number), .call { asker.ask(.next(asker.ids[0])) }]
    }
    let result = try run(asker, steps, sinks: [sink])
    expectFalse(asker.errors.isEmpty)
    expectEqual(
      asker.errors.first?.description.contains("80 files are still being completed"), true)
    expectEqual(sink.contents.flatMap(\.self), Array(0..<100))
    expectTrue(sink.files.withLock { $0.allSatisfy { $0.isFinished || $0.isAbandoned } })
    expectTrue(result.records.allSatisfy { $0.error == nil })
  }

  @Test func a6ASplitWithoutAPlaceGoesOnInTheSameFile() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.limits.fileBytes = 100
    sink.finishDelay = 20_000
    let result = try run(
      asker, [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<300), sinks: [sink])
    expectEqual(sink.contents.flatMap(\.self), Array(0..<300))
    expectTrue(sink.contents.contains { $0.count > 1 })
    expectTrue(result.summary.notes.contains { $0.contains("the disk was too slow") })
  }

  @Test func a11AFileThatCannotBeCompletedInTimeIsTold() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let hold = Hold()
    sink.finishing = { while hold.isHeld.load(ordering: .relaxed) { usleep(1000) } }
    defer { hold.isHeld.store(false, ordering: .relaxed) }
    let result = try run(
      asker, [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10), sinks: [sink],
      drain: .milliseconds(500))
    expectEqual(
      result.summary.errors.first?.description.contains("could not be completed in time"), true)
    expectEqual(result.records.map(\.reason), [.error])
    expectEqual(result.summary.ledger.entries.first?.counts[.failed], 10)
  }

  @Test func a14ARecordingBeginsBeforeItWasAskedFor() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(10))
    let result = try run(
      asker,
      .frames(0..<50) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(50..<60)
        + [.call { asker.stop() }] + .frames(60..<65) + [
          .call { asker.ask(.record(sink: "movie")) }
        ]
        + .frames(65..<70) + [.call { asker.stop() }] + .frames(70..<100),
      sinks: [sink], tick: 1_000_000)
    // The second is not longer than what came since the first.
    expectEqual(sink.contents, [Array(40..<60), Array(60..<70)])
    expectEqual(result.records.map(\.begin), [40, 60])
    expectFalse(sink.isTorn)
    let counts = try #require(result.summary.ledger.entries.first?.counts)
    expectTrue(counts[.delivered] == 30 && counts[.unselected] == 70)
  }

  @Test func a14WhatWasLostInThePreRollIsInTheRecord() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(10))
    let result = try run(
      asker,
      .frames(0..<42) + .frames(45..<50) + [.call { asker.ask(.record(sink: "movie")) }]
        + .frames(50..<60), sinks: [sink], tick: 1_000_000)
    let record = try #require(result.records.first)
    expectTrue(
      record.begin == 40 && record.counts[.missing] == 3 && record.counts[.delivered] == 17)
    expectEqual(sink.files.withLock { $0.first?.lost ?? [] }, [42, 43, 44])
  }

  @Test func a14ThePreRollIsBoundedInBytes() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(40), bytes: 1050)
    let result = try run(
      asker,
      .frames(0..<50) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(50..<60),
      sinks: [sink], tick: 1_000_000)
    let first = try #require(sink.contents.first?.first)
    expectTrue((40...42).contains(first))
    expectEqual(sink.contents, [Array(first..<60)])
    expectFalse(sink.isTorn)
    expectTrue(result.summary.notes.contains { $0.contains("was shorter than asked") })
  }

  @Test func a4ARequestForAPastFrameBeginsBeforeThatFrame() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(20))
    try run(
      asker,
      .frames(0..<50) + [.call { asker.ask(.record(sink: "movie"), at: .frame(45)) }]
        + .frames(50..<60), sinks: [sink], tick: 1_000_000)
    // Frames before 50 - 20 are not kept any more.
    expectEqual(sink.contents.first?.first, 29)
  }

  @Test func a14ARecordingThatEndsAtOnceHasItsPreRoll() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.preRoll = PreRoll(.milliseconds(10))
    let result = try run(
      asker,
      .frames(0..<50) + [
        .call {
          asker.ask(.record(sink: "movie"))
          asker.stop()
        }
      ] + .frames(50..<60), sinks: [sink], tick: 1_000_000)
    expectEqual(result.records.first?.end, 50)
    expectEqual(sink.contents.first?.last, 49)
  }

  @Test func oneRecordingWithoutACountAtATime() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie"))
          asker.ask(.record(sink: "movie"))
          asker.ask(.record(sink: "movie"), at: .frame(5))
        }
      ] + .frames(0..<10), sinks: [sink])
    expectEqual(asker.errors.count, 1)
    expectEqual(sink.contents, [Array(0..<10)])
    expectEqual(Set(result.records.map(\.reason)), [.end, .refused])
  }
}

/// Reads nothing of a frame's pixels.
private final class RecordingSink2: Sink {
  let name = "null"
  func configure(_ setup: inout SinkSetup) {}
  func write(_ frame: borrowing PackedFrame) {}
}

/// Counts the frames that it unpacks.
private final class CountingUnpacker: Unpacker {
  private let grey = GreyUnpacker()
  private let count: () -> Void
  init(_ count: @escaping () -> Void) { self.count = count }
  func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    grey.plan(format: format, parts: parts)
  }
  func configure(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    plan(format: format, parts: parts)
  }
  func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool {
    count()
    return unsafe grey.unpack(slot)
  }
  func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts
  ) {
    unsafe grey.deriveLuma(slot, version: version, format: format, parts: parts)
  }
}
