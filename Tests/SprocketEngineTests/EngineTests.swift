import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import Testing

@Suite struct LedgerTests {
  @Test(arguments: [1, 2, 4, 8], [false, true])
  func r1DeliversEveryFrameOnceAndInOrderOffline(workers: Int, lends: Bool) throws {
    let sink = RecordingSink(packs: true)
    let summary = try run(
      ScriptedSource(frames: 500, lends: lends), [Jitter.plugin], sinks: [sink], workers: workers)
    #expect(sink.lines.map(\.number) == Array(0..<500))
    #expect(sink.lines.allSatisfy { $0.byte == UInt8(truncatingIfNeeded: $0.number) })
    #expect(!sink.isTorn)
    #expect(sink.finishes == 1)
    #expect(summary.ledger.produced == 500)
    #expect(summary.ledger.entries[0].counts[.delivered] == 500)
  }

  @Test func r10CountsGapsCorruptAndStartupFramesAsTheSourceSaidThem() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 7, startup: true), .frame(sequence: 8), .frame(sequence: 11),
      .frame(sequence: 12, corrupt: true), .frame(sequence: 13),
    ])
    let summary = try run(source, sinks: [sink])
    #expect(
      sink.lines.map(\.fate) == [
        .startup, .delivered, .missing, .missing, .delivered, .corrupt, .delivered,
      ])
    #expect(sink.lines.map(\.sequence) == [7, 8, 9, 10, 11, 12, 13])
    #expect(summary.ledger.produced == 7)
  }

  @Test func countsWhatStagesDropForEverySink() throws {
    let sinks = [RecordingSink("a"), RecordingSink("b")]
    let summary = try run(ScriptedSource(frames: 300), [RejectThirds.plugin], sinks: sinks)
    for entry in summary.ledger.entries {
      #expect(entry.counts[.rejected] == 100)
      #expect(entry.counts[.delivered] == 200)
    }
    #expect(summary.stages[0].rejected == 100)
    // Offline no sink is lapped: each can read what was rejected.
    for sink in sinks {
      #expect(sink.lines.allSatisfy { $0.droppedBy == ($0.fate == .rejected ? 0 : nil) })
    }
  }

  @Test func r3DropsTheNewestWhenTheChainIsFullAndTheSourceIsLive() throws {
    let sink = RecordingSink()
    let summary = try run(
      ScriptedSource(frames: 3_000, isLive: true), [Jitter.plugin], sinks: [sink], workers: 1)
    let counts = summary.ledger.entries[0].counts
    #expect(counts[.overrun] > 0)
    #expect(counts[.overrun] + counts[.delivered] + counts[.behind] == 3_000)
    #expect(sink.lines.map(\.number) == Array(0..<3_000))
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
    #expect(summary.ledger.entries[0].counts[.behind] > 0)
    #expect(!slow.isTorn && !fast.isTorn)
    #expect(slow.lines.map(\.number) == Array(0..<4_000))
    for line in slow.lines where line.fate == .delivered {
      #expect(line.byte == UInt8(truncatingIfNeeded: line.number))
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
    #expect(summary.ledger.produced == 400_000)
    // What source and chain decided is the same for both, whether it was seen or not.
    #expect(counts[.corrupt] == awake[.corrupt])
    #expect(counts[.overrun] == awake[.overrun])
    #expect(counts[.rejected] == awake[.rejected])
    #expect(counts[.rejected] > 0)
    #expect(sink.lines.count == 400_000)
  }

  @Test func r5TheNewestIsWhatALatestSinkTakes() throws {
    let sink = RecordingSink()
    sink.takesLatest = true
    sink.delay = { _ in 1_000_000 }
    let summary = try run(ScriptedSource(frames: 2_000), [Jitter.plugin], sinks: [sink])
    let counts = summary.ledger.entries[0].counts
    #expect(counts[.skipped] > 0)
    #expect(counts[.delivered] > 0)
    #expect(counts[.skipped] + counts[.delivered] + counts[.behind] == 2_000)
  }

  @Test func r5ASelectingSinkLeavesTheRestUnselectedAndUnpacked() throws {
    let sink = RecordingSink(packs: true)
    sink.selectsEvery = 10
    let other = RecordingSink("other")
    let summary = try run(ScriptedSource(frames: 200), sinks: [sink, other])
    #expect(summary.ledger.entries[0].counts[.unselected] == 180)
    #expect(summary.ledger.entries[0].counts[.delivered] == 20)
    #expect(summary.ledger.entries[1].counts[.delivered] == 200)
  }

  @Test func endsAfterTheAskedNumberOfProducedFramesGapsCounted() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 0), .frame(sequence: 1), .frame(sequence: 9), .frame(sequence: 10),
    ])
    let summary = try run(source, sinks: [sink], frames: 5)
    #expect(sink.lines.map(\.fate) == [.delivered, .delivered, .missing, .missing, .missing])
    #expect(summary.ledger.produced == 5)
  }
}

@Suite struct FailureTests {
  @Test func aFailedSinksFramesAreFailedAndTheOthersFinish() throws {
    let broken = RecordingSink("broken")
    broken.failsAt = 40
    let whole = RecordingSink("whole")
    let summary = try run(ScriptedSource(frames: 100), sinks: [broken, whole])
    #expect(summary.ledger.entries[0].counts[.delivered] == 40)
    #expect(summary.ledger.entries[0].counts[.failed] == 60)
    #expect(summary.ledger.entries[1].counts[.delivered] == 100)
    #expect(summary.errors.map(\.description) == ["the disk is full; free some space"])
  }

  @Test func theRunEndsWhenNoSinkIsLeft() throws {
    let broken = RecordingSink()
    broken.failsAt = 10
    let summary = try run(ScriptedSource([.frame(sequence: 0)], repeats: true), sinks: [broken])
    #expect(summary.ledger.entries[0].counts[.delivered] == 10)
  }

  @Test func aReaderThatGoesAwayEndsTheRunWithoutAnError() throws {
    let pipe = RecordingSink()
    pipe.failsAt = 10
    pipe.failure = RunError(.readerGone, "nobody reads")
    let summary = try run(ScriptedSource([.frame(sequence: 0)], repeats: true), sinks: [pipe])
    #expect(summary.errors.isEmpty)
    #expect(summary.ledger.entries[0].counts[.delivered] == 10)
  }

  @Test func r10NothingIsVouchedForWhenASinkCannotFinish() throws {
    let sink = RecordingSink()
    sink.failsToFinish = true
    let summary = try run(ScriptedSource(frames: 50), sinks: [sink])
    #expect(summary.ledger.entries[0].counts[.failed] == 50)
    #expect(summary.ledger.entries[0].counts[.delivered] == 0)
    #expect(summary.errors.count == 1)
  }

  @Test func aSourceThatFailsEndsTheRunAndWhatItGaveIsDelivered() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([.frame(sequence: 0), .frame(sequence: 1), .fail])
    let summary = try run(source, sinks: [sink])
    #expect(summary.ledger.entries[0].counts[.delivered] == 2)
    #expect(summary.errors.count == 1)
    #expect(sink.finishes == 1)
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
      #expect(sink.lines.map(\.number) == Array(0..<summary.ledger.produced))
      #expect(sink.finishes == 1)
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
    #expect(summary.epochs == 2)
    #expect(summary.ledger.produced == 100)
    #expect(sink.lines.map(\.sequence) == Array(0..<50) + Array(0..<50))
    #expect(sink.lines.allSatisfy { $0.fate == .delivered && $0.byte == UInt8($0.sequence + 1) })
    #expect(!sink.isTorn)
    #expect(sink.finishes == 1)
  }

  @Test func r9ASequenceThatJumpsBackOrTooFarBeginsAnEpoch() throws {
    let sink = RecordingSink()
    let source = ScriptedSource([
      .frame(sequence: 5), .frame(sequence: 6), .frame(sequence: 2), .frame(sequence: 3),
      .frame(sequence: 1_000_000),
    ])
    let summary = try run(source, sinks: [sink])
    #expect(summary.epochs == 3)
    #expect(sink.lines.map(\.sequence) == [5, 6, 2, 3, 1_000_000])
    #expect(summary.ledger.produced == 5)
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
    #expect(summary.epochs == 2)
    #expect(summary.ledger.produced == 105)
    #expect(summary.ledger.entries[0].counts[.overrun] > 5)
    #expect(sink.lines.map(\.sequence) == Array(10..<15) + Array(0..<100))
  }

  @Test func r9ASinkThatCannotGoOnEndsAndTheOthersGoOn() throws {
    let pipe = RecordingSink("pipe")
    pipe.refusesWidth = 24
    let other = RecordingSink("other")
    let steps: [ScriptedSource.Step] =
      (0..<20).map { .frame(sequence: UInt64($0)) } + [.epoch(width: 24)]
      + (0..<20).map { .frame(sequence: UInt64($0)) }
    let summary = try run(ScriptedSource(steps), sinks: [pipe, other])
    #expect(summary.ledger.entries[0].counts[.delivered] == 20)
    #expect(summary.ledger.entries[0].counts[.failed] == 20)
    #expect(summary.ledger.entries[1].counts[.delivered] == 40)
    #expect(summary.errors.count == 1)
  }
}
