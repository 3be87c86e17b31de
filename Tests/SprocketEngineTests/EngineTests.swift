import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

@Suite struct LedgerTests {
  @Test(arguments: [1, 2, 4, 8], [false, true])
  func r1DeliversEveryFrameOnceAndInOrderOffline(workers: Int, lends: Bool) throws {
    let sink = RecordingSink(packs: true)
    let summary = try run(
      ScriptedSource(frames: 500, lends: lends), [Jitter.plugin], sinks: [sink], workers: workers)
    expectEqual(sink.lines.map(\.number), Array(0..<500))
    expectTrue(sink.lines.allSatisfy { $0.byte == UInt8(truncatingIfNeeded: $0.number) })
    expectFalse(sink.isTorn)
    expectEqual(sink.finishes, 1)
    expectEqual(summary.ledger.produced, 500)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 500)
  }

  @Test func r10CountsGapsCorruptAndStartupFramesAsTheSourceSaidThem() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 7, startup: true), .frame(sequence: 8), .frame(sequence: 11),
      .frame(sequence: 12, corrupt: true), .frame(sequence: 13),
    ])
    let summary = try run(source, sinks: [sink])
    expectEqual(
      sink.lines.map(\.fate),
      [
        .startup, .delivered, .missing, .missing, .delivered, .corrupt, .delivered,
      ])
    expectEqual(sink.lines.map(\.sequence), [7, 8, 9, 10, 11, 12, 13])
    expectEqual(summary.ledger.produced, 7)
  }

  @Test func countsWhatStagesDropForEverySink() throws {
    let sinks = [RecordingSink("a"), RecordingSink("b")]
    let summary = try run(ScriptedSource(frames: 300), [RejectThirds.plugin], sinks: sinks)
    for entry in summary.ledger.entries {
      expectEqual(entry.counts[.rejected], 100)
      expectEqual(entry.counts[.delivered], 200)
    }
    expectEqual(summary.stages[0].rejected, 100)
    // Offline no sink is lapped: each can read what was rejected.
    for sink in sinks {
      expectTrue(sink.lines.allSatisfy { $0.droppedBy == ($0.fate == .rejected ? 0 : nil) })
    }
  }

  @Test func r3DropsTheNewestWhenTheChainIsFullAndTheSourceIsLive() throws {
    let sink = RecordingSink()
    let summary = try run(
      ScriptedSource(frames: 3_000, isLive: true), [Jitter.plugin], sinks: [sink], workers: 1)
    let counts = summary.ledger.entries[0].counts
    expectGreater(counts[.overrun], 0)
    expectEqual(counts[.overrun] + counts[.delivered] + counts[.behind], 3_000)
    expectEqual(sink.lines.map(\.number), Array(0..<3_000))
  }

  @Test func r5ASleepingSinkLosesTheOldestFramesItAloneAndSeesNoneTorn() throws {
    let slow = RecordingSink("slow")
    let fast = RecordingSink("fast")
    let steps = (0..<4_000).flatMap { number -> [ScriptedSource.Step] in
      [.frame(sequence: UInt64(number)), .pause(nanoseconds: 20_000)]
    }
    let source = ScriptedSource(steps, isLive: true)
    slow.delay = { number in
      // Until the ring has gone round more than once, or the frames are at an end.
      let goal = min(number + 64, 4_000)
      while number % 50 == 0, source.served.load(ordering: .relaxed) < goal { usleep(100) }
      return 0
    }
    let summary = try run(source, sinks: [slow, fast])
    expectGreater(summary.ledger.entries[0].counts[.behind], 0)
    expectFalse(slow.isTorn)
    expectFalse(fast.isTorn)
    expectEqual(slow.lines.map(\.number), Array(0..<4_000))
    for line in slow.lines where line.fate == .delivered {
      expectEqual(line.byte, UInt8(truncatingIfNeeded: line.number))
    }
  }

  @Test func r10ASinkThatSleepsLongerThanTheTapeStillBalances() throws {
    let sink = RecordingSink()
    let source = ScriptedSource(
      [.frame(sequence: 0), .frame(sequence: 0, corrupt: true)],
      isLive: true, repeats: true)
    sink.delay = { number in
      // Until the tape has gone round three times; a run that stops there fails below.
      while number == 3, source.served.load(ordering: .relaxed) < 200_000 { usleep(1000) }
      return 0
    }
    let summary = try run(
      source, [RejectThirds.plugin], sinks: [sink, RecordingSink("awake")], frames: 400_000)
    let counts = summary.ledger.entries[0].counts
    let awake = summary.ledger.entries[1].counts
    expectEqual(summary.ledger.produced, 400_000)
    // What source and chain decided is the same for both, whether it was seen or not.
    expectEqual(counts[.corrupt], awake[.corrupt])
    expectEqual(counts[.overrun], awake[.overrun])
    expectEqual(counts[.rejected], awake[.rejected])
    expectGreater(counts[.rejected], 0)
    expectEqual(sink.lines.count, 400_000)
  }

  @Test func r5TheNewestIsWhatALatestSinkTakes() throws {
    let sink = RecordingSink()
    sink.takesLatest = true
    sink.delay = { _ in 1_000_000 }
    let summary = try run(ScriptedSource(frames: 2_000), [Jitter.plugin], sinks: [sink])
    let counts = summary.ledger.entries[0].counts
    expectGreater(counts[.skipped], 0)
    expectGreater(counts[.delivered], 0)
    expectEqual(counts[.skipped] + counts[.delivered] + counts[.behind], 2_000)
  }

  @Test func r5ASelectingSinkLeavesTheRestUnselectedAndUnpacked() throws {
    let sink = RecordingSink(packs: true)
    sink.selectsEvery = 10
    let other = RecordingSink("other")
    let summary = try run(ScriptedSource(frames: 200), sinks: [sink, other])
    expectEqual(summary.ledger.entries[0].counts[.unselected], 180)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 20)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 200)
  }

  @Test func endsAfterTheAskedNumberOfProducedFramesGapsCounted() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 0), .frame(sequence: 1), .frame(sequence: 9), .frame(sequence: 10),
    ])
    let summary = try run(source, sinks: [sink], frames: 5)
    expectEqual(sink.lines.map(\.fate), [.delivered, .delivered, .missing, .missing, .missing])
    expectEqual(summary.ledger.produced, 5)
  }
}

@Suite struct FailureTests {
  @Test func aFailedSinksFramesAreFailedAndTheOthersFinish() throws {
    let broken = RecordingSink("broken")
    broken.failsAt = 40
    // Its sentence is the same; each is told with its sink.
    let other = RecordingSink("other")
    other.failsAt = 60
    let whole = RecordingSink("whole")
    let summary = try run(ScriptedSource(frames: 100), sinks: [broken, whole, other])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 40)
    expectEqual(summary.ledger.entries[0].counts[.failed], 60)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 100)
    expectEqual(
      Set(summary.errors.map(\.description)),
      ["broken: the disk is full; free some space", "other: the disk is full; free some space"])
  }

  @Test func theRunEndsWhenNoSinkIsLeft() throws {
    let broken = RecordingSink()
    broken.failsAt = 10
    let summary = try run(ScriptedSource([.frame(sequence: 0)], repeats: true), sinks: [broken])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 10)
  }

  @Test func aReaderThatGoesAwayEndsTheRunWithoutAnError() throws {
    let pipe = RecordingSink()
    pipe.failsAt = 10
    pipe.failure = RunError(.readerGone, "nobody reads")
    let summary = try run(ScriptedSource([.frame(sequence: 0)], repeats: true), sinks: [pipe])
    expectEmpty(summary.errors)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 10)
  }

  @Test func r10NothingIsVouchedForWhenASinkCannotFinish() throws {
    let sink = RecordingSink()
    sink.failsToFinish = true
    let summary = try run(ScriptedSource(frames: 50), sinks: [sink])
    expectEqual(summary.ledger.entries[0].counts[.failed], 50)
    expectEqual(summary.ledger.entries[0].counts[.delivered], 0)
    expectEqual(summary.errors.count, 1)
  }

  @Test func aSourceThatFailsEndsTheRunAndWhatItGaveIsDelivered() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([.frame(sequence: 0), .frame(sequence: 1), .fail])
    let summary = try run(source, sinks: [sink])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 2)
    expectEqual(summary.errors.count, 1)
    expectEqual(sink.finishes, 1)
  }

  @Test func r8StopsAtAnyMomentWithEveryFrameAccountedFor() throws {
    for round in 0..<60 {
      let sink = RecordingSink(packs: round % 2 == 0)
      let source = ScriptedSource(
        [.frame(sequence: 0)], isLive: round % 3 == 0, repeats: true)
      let summary = try run(
        source, [Jitter.plugin], sinks: [sink], workers: 1 + round % 4,
        wait: WaitStrategy.allCases[round % 3]
      ) { engine in
        _ = engine.wait(for: .microseconds(37 * round * round % 20_000))
        engine.stop()
        if round % 5 == 0 { engine.stop() }
      }
      expectEqual(sink.lines.map(\.number), Array(0..<summary.ledger.produced))
      expectEqual(sink.finishes, 1)
    }
  }
}

@Suite struct EpochTests {
  @Test func r9AFormatChangeBeginsAnEpochAndNothingIsLostOffline() throws {
    let sink = RecordingSink(packs: true)
    let steps: [ScriptedSource.Step] =
      (0..<50).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 24)]
      + (0..<50).map { .frame(sequence: UInt64($0)) }
    let summary = try run(ScriptedSource(steps), [Jitter.plugin, AddOne.plugin], sinks: [sink])
    expectEqual(summary.epochs, 2)
    expectEqual(summary.ledger.produced, 100)
    expectEqual(sink.lines.map(\.sequence), Array(0..<50) + Array(0..<50))
    expectTrue(sink.lines.allSatisfy { $0.fate == .delivered && $0.byte == UInt8($0.sequence + 1) })
    expectFalse(sink.isTorn)
    expectEqual(sink.finishes, 1)
  }

  @Test func r9ASequenceThatJumpsBackOrTooFarBeginsAnEpoch() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 5), .frame(sequence: 6), .frame(sequence: 2), .frame(sequence: 3),
      .frame(sequence: 1_000_000),
    ])
    let summary = try run(source, sinks: [sink])
    expectEqual(summary.epochs, 3)
    expectEqual(sink.lines.map(\.sequence), [5, 6, 2, 3, 1_000_000])
    expectEqual(summary.ledger.produced, 5)
  }

  @Test func r9WhatArrivesLiveWhileAnEpochDrainsIsOverrun() throws {
    let sink = RecordingSink()
    let steps: [ScriptedSource.Step] =
      (10..<15).map { .frame(sequence: $0) }
      + (0..<100).flatMap { number -> [ScriptedSource.Step] in
        [.frame(sequence: UInt64(number)), .pause(nanoseconds: 1_000_000)]
      }
    let source = ScriptedSource(steps, isLive: true)
    sink.delay = { number in
      // The old epoch is not drained before ten frames of the new one have come.
      while number == 4, source.served.load(ordering: .relaxed) < 15 { usleep(200) }
      return 0
    }
    let summary = try run(source, sinks: [sink])
    expectEqual(summary.epochs, 2)
    expectEqual(summary.ledger.produced, 105)
    expectGreater(summary.ledger.entries[0].counts[.overrun], 5)
    expectEqual(sink.lines.map(\.sequence), Array(10..<15) + Array(0..<100))
  }

  @Test func r9ASinkThatCannotGoOnEndsAndTheOthersGoOn() throws {
    let pipe = RecordingSink("pipe")
    pipe.refusesWidth = 24
    let other = RecordingSink("other")
    let steps: [ScriptedSource.Step] =
      (0..<20).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 24)]
      + (0..<20).map { .frame(sequence: UInt64($0)) }
    let summary = try run(ScriptedSource(steps), sinks: [pipe, other])
    expectEqual(summary.ledger.entries[0].counts[.delivered], 20)
    expectEqual(summary.ledger.entries[0].counts[.failed], 20)
    expectEqual(summary.ledger.entries[1].counts[.delivered], 40)
    expectEqual(summary.errors.count, 1)
  }
}
