import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// What a hostile reviewer found in requests to a running engine: each of these failed once.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RequestAttackTests {
  @Test func aCountGoesOnOverAChangeOfFormat() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", frames: 10)) }] + .frames(0..<4) + [
        .epoch(width: 16)
      ]
        + .frames(0..<40), sinks: [sink])
    expectEqual(sink.contents.flatMap(\.self).count, 10)
    expectEqual(result.records.last?.reason, .asked)
  }

  @Test func a5ACountIsStoppedAndARecordingBegunAtOneFrame() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", frames: 100)) }] + .frames(0..<5)
        + [.call { asker.ask(.stop(asker.ids[0]), .record(sink: "movie")) }] + .frames(5..<20),
      sinks: [sink])
    expectEmpty(asker.errors)
    expectEqual(sink.contents, [Array(0..<5), Array(5..<20)])
  }

  @Test func aScheduledRecordingCanBeStopped() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie"), at: .frame(10))
          asker.stop()
        }
      ] + .frames(0..<20), sinks: [sink])
    expectEmpty(sink.contents)
  }

  @Test func a4TimeCountsFromTheRunsFirstFrame() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    var steps: [ScriptedSource.Step] = []
    for n in UInt64(0)..<30 {
      if n == 10 {
        steps.append(.call { asker.ask(.record(sink: "movie"), at: .time(.milliseconds(40))) })
      }
      steps.append(.frame(sequence: n))
      steps.append(.pause(nanoseconds: 10_000_000))
    }
    let result = try run(asker, steps, sinks: [sink])
    expectEqual(result.records.first?.begin, 10)
  }

  @Test func a3AStopDoesNotCutWhatASlowChainStillDelivers() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20) + [.call { asker.stop() }]
        + .frames(20..<24),
      [Slow.plugin], sinks: [sink], drain: .seconds(1))
    expectEqual(sink.contents, [Array(0..<20)])
  }

  @Test func a8AFrameThatTheChainRejectsIsRejectedForAnIdleSinkToo() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let other = RecordingSink()
    let result = try run(
      asker,
      .frames(0..<6) + [.call { asker.ask(.record(sink: "movie")) }] + .frames(6..<12),
      [SlowThirds.plugin], sinks: [sink, other])
    let counts = result.summary.ledger.entries.map(\.counts)
    expectEqual(counts[0][.rejected], counts[1][.rejected])
  }

  @Test func a12ASplitThatFailsLeavesTheFileBeforeWhole() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.limits.fileBytes = 400
    sink.refusesIndex = 2
    let result = try run(
      asker, [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10), sinks: [sink])
    sink.files.withLock { expectTrue($0.allSatisfy { $0.isFinished || $0.isAbandoned }) }
    expectEqual(result.records.first?.counts[.delivered], 4)
  }

  @Test func a4ManyRequestsTogetherAreRefused() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let refused = Locked<RunError?>(nil)
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<1) + [
        .call {
          let all = [Request](repeating: .stop(asker.ids[0]), count: 17)
          do throws(RunError) {
            _ = try asker.engine?.ask(all)
          } catch {
            refused.withLock { $0 = error }
          }
        }
      ] + .frames(1..<4), sinks: [sink])
    expectEqual(refused.withLock { $0?.description }, "at most 16 requests can be asked together")
    expectEqual(sink.contents, [Array(0..<4)])
  }

  @Test func a11AFileThatWasLeftHasOneRecord() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let hold = Hold()
    sink.finishing = {
      while hold.isHeld.load(ordering: .relaxed) { usleep(1000) }
      hold.isReached.store(true, ordering: .relaxed)
    }
    let source = ScriptedSource(
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10), isLive: false)
    let engine = try Engine(
      source: source, stages: [], sinks: [sink],
      options: RunOptions(workers: 1, drainLimit: .milliseconds(500))
    ) { GreyUnpacker() }
    asker.engine = engine
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    asker.engine = nil
    let first = engine.recordingRecords
    expectEqual(first.first?.counts, engine.summary.ledger.entries.first?.counts)
    hold.isHeld.store(false, ordering: .relaxed)
    expectTrue(waitUntil { hold.isReached.load(ordering: .relaxed) })
    // Time for the finisher to tell of it.
    usleep(100_000)
    let later = engine.recordingRecords
    expectEqual(later.count, 1)
  }

  @Test func a1TheReasonOfTheWholeRecordingIsTold() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.finishDelay = 400_000
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<5) + [
        .call { asker.ask(.next(asker.ids[0])) }
      ] + .frames(5..<10)
        + [.call { asker.stop(0) }] + .frames(10..<12) + [
          .call {
            _ = waitUntil { asker.engine?.recordingRecords.contains { $0.reason != nil } == true }
            asker.stop(0)
          }
        ] + .frames(12..<14), sinks: [sink])
    expectUnequal(asker.errors.first?.description.contains("next file"), true)
  }

  @Test func aSinkThatCannotBeConfiguredAgainEndsItsRecordings() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.refusesWidth = 16
    let other = RecordingSink()
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<5) + [.epoch(width: 16)]
        + .frames(0..<5)
        + [
          .call {
            asker.stop(0)
            asker.ask(.record(sink: "movie", frames: 2))
          }
        ] + .frames(5..<10)
        + [.epoch(width: 8)] + .frames(0..<10), sinks: [sink, other])
    expectEqual(result.records.first?.reason, .error)
    expectEqual(
      result.records.first?.counts[.delivered],
      result.summary.ledger.entries.first?.counts[.delivered])
  }

  @Test func a6APlaceThatAnotherTakesDoesNotEndTheRecording() throws {
    var failures = 0
    for _ in 0..<1 {
      let (asker, sink) = (Asker(), MemoryRecorder())
      let photo = MemoryRecorder("photo", packs: false)
      sink.limits.fileBytes = 100
      sink.finishDelay = 50
      photo.finishDelay = 50
      let source = ScriptedSource(
        [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<300))
      let engine = try Engine(
        source: source, stages: [], sinks: [sink, photo], options: RunOptions(workers: 1)
      ) { GreyUnpacker() }
      asker.engine = engine
      try engine.start()
      while !engine.wait(for: .zero) {
        do throws(RunError) { try engine.ask([.record(sink: "photo", frames: 1)]) } catch {}
      }
      asker.engine = nil
      let bad = engine.recordingRecords.filter { $0.sink == "movie" && $0.reason == .error }
      // The last photographs may be asked for when no frame comes any more.
      let errors = engine.summary.errors.filter { !$0.description.contains("the run ended when") }
      if !bad.isEmpty || !errors.isEmpty { failures += 1 }
    }
    expectEqual(failures, 0)
  }

  @Test func a12ReturnsAreNotForgottenWhileAnotherIsAsked() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", frames: 4))
          asker.ask(.record(sink: "movie"), at: .frame(4))
          asker.stop(1, at: .frame(6))
        }
      ] + .frames(0..<5) + [.call { _ = waitUntil { asker.engine?.progress.lost[.rejected] == 4 } }]
        + .frames(5..<40),
      [SlowFirstFour.plugin], sinks: [sink])
    expectEqual(result.records.first { $0.id == asker.ids[0] }?.counts[.delivered], 4)
  }

  @Test func a3ARecordingMayFollowOneThatEndedInAStall() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let stall = ScriptedSource.Step.hold {
      asker.engine?.recordingRecords.contains { $0.reason == nil } == true
    }
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20)
        + [
          .call {
            asker.ask(.next(asker.ids[0]))
            asker.stop(0)
          }
        ]
        + [stall, .call { asker.ask(.record(sink: "movie")) }] + .frames(20..<40),
      [FourAhead.plugin], sinks: [sink], drain: .milliseconds(500))
    expectEmpty(asker.errors)
  }

  @Test func a5AStuckSinksRecordingHasARecord() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let hold = Hold()
    sink.writeDelay = { number in
      if number == 3 { hold.isReached.store(true, ordering: .relaxed) }
      while number == 3, hold.isHeld.load(ordering: .relaxed) { usleep(1000) }
      return 0
    }
    let source = ScriptedSource([.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<10))
    let engine = try Engine(
      source: source, stages: [], sinks: [sink],
      options: RunOptions(workers: 1, drainLimit: .milliseconds(300), traceLimit: 100)
    ) { GreyUnpacker() }
    asker.engine = engine
    try engine.start()
    expectTrue(waitUntil { hold.isReached.load(ordering: .relaxed) })
    engine.stop()
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    asker.engine = nil
    expectTrue(engine.recordingRecords.allSatisfy { $0.reason != nil })
    hold.isHeld.store(false, ordering: .relaxed)
    let threads = try #require(engine.trace).threads
    expectTrue(waitUntil { threads.allSatisfy { $0.slices != nil } })
  }

  @Test func aSplitOfAScheduledRecordingLeavesItsFirstFile() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"), at: .frame(5))
          asker.ask(.next(asker.ids[0], path: "b"))
        }
      ] + .frames(0..<10), sinks: [sink])
    expectEqual(result.records.last?.path, "a-1")
  }

  @Test func a12AnErrorOfTheSinksEndLeavesCompleteFiles() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.failsAtFinish = true
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<5) + [.call { asker.stop() }]
        + .frames(5..<10), sinks: [sink])
    expectEqual(
      result.records.first?.counts[.delivered],
      result.summary.ledger.entries.first?.counts[.delivered])
  }
}

@Suite(.serialized, .timeLimit(.minutes(5)))
struct MoreRequestAttackTests {
  @Test func a5RequestsKeepTheirOrderWhenRoomAppears() throws {
    for _ in 0..<5 {
      let (asker, sink) = (Asker(), MemoryRecorder())
      sink.writeDelay = { $0 == 0 ? 400_000 : 0 }
      var steps: [ScriptedSource.Step] =
        [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<1)
      for _ in 0..<5 {
        steps += [.call { for _ in 0..<220 { asker.stop(0) } }, .pause(nanoseconds: 1000)]
      }
      steps.append(
        .call {
          for _ in 0..<50 {
            asker.ask(.record(sink: "movie"))
            asker.stop()
          }
        })
      steps += [ScriptedSource.Step](repeating: .pause(nanoseconds: 20_000), count: 25_000)
      steps += .frames(1..<5)
      let result = try run(asker, steps, sinks: [sink])
      let odd = result.records.filter {
        $0.reason != .asked || $0.id != asker.ids[0] && $0.begin != $0.end
      }
      expectEqual(sink.contents, [[0]])
      expectEmpty(odd)
    }
  }
  @Test func numbersOfFramesDoNotOverflow() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", frames: .max))
          asker.ask(
            .record(sink: "movie", frames: 1 << 48), .record(sink: "movie", frames: 1 << 48))
        }
      ] + .frames(0..<5), sinks: [sink])
    expectEqual(asker.errors.map(\.description), ["a recording has 1 to 281474976710656 frames"])
    expectEqual(sink.contents, [Array(0..<5)])
  }

  @Test func a12OneErrorEndsOneRecording() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.failsAt = 2
    sink.failsToAccount = 2
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", frames: 5), .record(sink: "movie", frames: 5)) }]
        + .frames(0..<30), sinks: [sink])
    expectEqual(result.records.last?.reason, .asked)
  }
  @Test func a3AStallEndsAStopBehindASplit() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let stall = ScriptedSource.Step.hold {
      asker.engine?.recordingRecords.contains { $0.reason == nil } == true
    }
    let reasons = Locked<[RecordingEnd?]>([])
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie")) }] + .frames(0..<20)
        + [
          .call {
            asker.ask(.next(asker.ids[0]))
            asker.stop(0)
          }
        ]
        + [
          stall,
          .call {
            let r = asker.engine!.recordingRecords.map(\.reason)
            reasons.withLock { $0 = r }
          },
        ] + .frames(20..<40),
      [FourAhead.plugin], sinks: [sink], drain: .milliseconds(500))
    expectTrue(reasons.withLock { $0.allSatisfy { $0 != nil } })
  }
  @Test func requestsForTheFutureAreBounded() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    var steps: [ScriptedSource.Step] = [.call { asker.ask(.record(sink: "movie")) }]
    for number in UInt64(0)..<20 {
      steps.append(.frame(sequence: number))
      steps.append(.call { for _ in 0..<100 { asker.stop(0, at: .frame(1 << 40)) } })
    }
    try run(asker, steps, sinks: [sink])
    // 256 wait, some more are taken before the source's thread has counted them.
    expectAtLeast(asker.errors.count, 2000 - 2 * 256)
    expectEqual(asker.errors.first?.description.contains("too many requests wait"), true)
  }
}

private struct Slow: PlainStage {
  static let order = Order.sequence
  mutating func process(_ frame: inout FrameView) -> Verdict {
    usleep(70_000)
    return .keep
  }
  static let plugin = Plugin("slow", "waits", Slow.self)
}
private struct SlowThirds: PlainStage {
  static let order = Order.sequence
  mutating func process(_ frame: inout FrameView) -> Verdict {
    usleep(30_000)
    return frame.record.number % 3 == 2 ? .drop(.rejected) : .keep
  }
  static let plugin = Plugin("slowthirds", "waits", SlowThirds.self)
}
private struct SlowFirstFour: PlainStage {
  static let order = Order.sequence
  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard frame.record.number < 4 else { return .keep }
    usleep(50_000)
    return .drop(.rejected)
  }
  static let plugin = Plugin("slowfour", "waits", SlowFirstFour.self)
}
