import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Requests by identity: each has its own file, can be withdrawn, and leaves nothing when it is refused.
@Suite(.timeLimit(.minutes(10)))
struct WithdrawTests {
  @Test func aRefusedNextDoesNotEndTheRecording() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.limits.fileBytes = 1000
    let result = try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", path: "a")) }] + .frames(0..<5)
        + [.call { if let id = asker.ids.first { asker.ask(.next(id, path: "refused")) } }]
        + .frames(5..<30), sinks: [sink])
    expectEqual(asker.errors.map(\.description), ["that name cannot be used; give another"])
    expectEqual(sink.contents.joined().map { $0 }, Array(0..<30))
    expectEqual(sink.contents.map(\.count), [10, 10, 10])
    expectTrue(result.records.allSatisfy { $0.reason != .error && $0.path.hasPrefix("a-") })
  }

  @Test func eachRequestFindsItsOwnFile() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"))
          guard let id = asker.ids.first else { return }
          asker.ask(.next(id, path: "late"), at: .frame(20))
          asker.ask(.next(id, path: "soon"), at: .frame(10))
        }
      ] + .frames(0..<30), sinks: [sink])
    expectEmpty(asker.errors)
    let files = sink.files.withLock { $0.map { [$0.path: $0.numbers] } }
    expectEqual(
      files,
      [["a-1": Array(0..<10)], ["late-1": Array(20..<30)], ["soon-1": Array(10..<20)]])
  }

  @Test func anAcceptedNextNamesNoSplitBeforeItsFrame() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    sink.limits.fileBytes = 1000
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"))
          if let id = asker.ids.first { asker.ask(.next(id, path: "b"), at: .frame(25)) }
        }
      ] + .frames(0..<40), sinks: [sink])
    expectEqual(result.records.map(\.path), ["a-1", "a-2", "a-3", "b-1", "b-2"])
    expectEqual(sink.contents.map(\.count), [10, 10, 10, 5, 5])
  }

  @Test func whatWaitsCanBeWithdrawn() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let result = try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"))
          guard let id = asker.ids.first else { return }
          asker.wait(.next(id, path: "b"), at: .frame(10))
          asker.wait(.stop(id), at: .frame(15))
          asker.wait(.record(sink: "movie", path: "c", frames: 2), at: .frame(1 << 60))
          asker.set(2, at: .frame(12))
          for place in 0..<4 { asker.withdraw(place) }
          asker.withdraw(0)
        }
      ] + .frames(0..<30), [AddValue.plugin], sinks: [sink])
    expectEqual(asker.errors.map { $0.description.contains("no request 2 waits") }, [true])
    expectEqual(sink.contents, [Array(0..<30)])
    expectEqual(Set(sink.files.withLock { $0.first?.added ?? [] }), [0])
    expectTrue(sink.files.withLock { $0.dropFirst().allSatisfy(\.isAbandoned) })
    // A recording that was withdrawn, and a file that was, have records without a frame.
    let empty = result.records.filter { $0.counts.sum == 0 }
    expectEqual(empty.map(\.reason), [RecordingEnd.asked, .asked])
  }

  @Test func whatHasTakenEffectCannotBeWithdrawn() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"))
          if let id = asker.ids.first { asker.wait(.next(id), at: .frame(5)) }
        }
      ] + .frames(0..<10) + [.call { asker.withdraw(0) }] + .frames(10..<20), sinks: [sink])
    expectEqual(sink.contents, [Array(0..<5), Array(5..<20)])
    expectEqual(asker.errors.map { $0.description.contains("has taken effect") }, [true])
  }

  /// What is asked for the next frame is on its way.
  @Test func aStopAtTheNextFrameIsNotWithdrawn() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [.call { asker.ask(.record(sink: "movie", path: "a")) }] + .frames(0..<10)
        + [
          .call {
            guard let id = asker.ids.first else { return }
            asker.wait(.stop(id), at: .now)
            asker.withdraw(0)
          }
        ] + .frames(10..<20), sinks: [sink])
    expectEqual(asker.errors.count, 1)
    expectEqual(sink.contents, [Array(0..<10)])
  }

  /// Stops of recordings that have ended take no place until their frame.
  @Test func whatWaitsForAnEndedRecordingIsForgotten() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    var steps: [ScriptedSource.Step] = []
    for take in 0..<300 {
      steps += [
        .call {
          asker.ask(.record(sink: "movie", frames: 1))
          guard asker.ids.count == take + 1 else { return }
          asker.wait(.stop(asker.ids[take]), at: .frame(1 << 60))
        }
      ]
      steps += .frames(UInt64(take)..<UInt64(take + 1))
    }
    try run(asker, steps, sinks: [sink])
    expectEmpty(asker.errors.filter { $0.description.contains("wait") })
  }

  @Test func aStopIsNeverRefused() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          asker.ask(.record(sink: "movie", path: "a"))
          for _ in 0..<300 { asker.set(2, at: .frame(1 << 63), by: .program) }
        }
      ] + .frames(0..<10) + [.call { asker.stop(at: .frame(15)) }] + .frames(10..<14)
        + [.call { asker.stop() }, .call { asker.stop() }] + .frames(14..<30), [AddValue.plugin],
      sinks: [sink])
    expectEqual(asker.waiting.count, 255)
    expectEqual(asker.errors.count, 45)
    expectEqual(sink.contents, [Array(0..<14)])
  }

  @Test func aClientHoldsAQuarterOfThePort() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    try run(
      asker,
      [
        .call {
          for client in 1...2 {
            for _ in 0..<100 {
              asker.set(2, at: .frame(1 << 63), by: .client(UInt64(client)))
            }
          }
          for _ in 0..<10 { asker.withdraw(0) }
          asker.set(2, at: .frame(1 << 63))
        }
      ] + .frames(0..<10), [AddValue.plugin], sinks: [sink])
    // Ten calls withdraw the same request: nine of them come too late.
    expectEqual(asker.waiting.count, 64 + 64 + 1)
    expectEqual(asker.errors.count, 36 + 36 + 9)
  }

  @Test func aMarkOfAnotherRunIsTheEndOfThisOne() throws {
    let (first, second) = (Asker(), Asker())
    let mark = Locked(NewsMark())
    let counts = Locked<[Int]>([])
    @Sendable func read(_ asker: Asker) {
      let count = mark.withLock { mark in asker.engine?.news(since: &mark).count ?? -1 }
      counts.withLock { $0.append(count) }
    }
    try run(
      first,
      [
        .call {
          for path in ["a", "b", "c"] {
            first.ask(.record(sink: "movie", path: path, frames: 1), at: .frame(1 << 40))
          }
        }
      ] + .frames(0..<5), sinks: [MemoryRecorder()], after: { read(first) })
    try run(
      second,
      [.call { read(second) }] + .frames(0..<1)
        + [.call { second.ask(.record(sink: "movie")) }] + .frames(1..<2)
        + [
          .call {
            expectTrue(
              waitUntil { mark.withLock { second.engine?.hasNews(since: $0) ?? false } })
            read(second)
          }
        ], sinks: [MemoryRecorder()])
    expectEqual(counts.withLock { $0 }, [3, 0, 1])
  }

  /// A thread asks for frame 10 only after the source has reached it. The source is offline: the frame waits.
  @Test func aFrameThatIsHeldWaitsForItsRequests() throws {
    let (asker, sink) = (Asker(), MemoryRecorder())
    let asking = Locked<BackgroundWork<Void>?>(nil)
    let hold = ScriptedSource.Step.call {
      guard let engine = asker.engine else { return }
      engine.hold(at: .frame(10))
      let work = try? BackgroundWork("asking") {
        expectTrue(waitUntil { engine.isHoldReached })
        try engine.ask([.record(sink: "movie", frames: 3)], at: .frame(10))
        engine.hold(at: nil)
      }
      asking.withLock { $0 = work }
    }
    try run(asker, [hold] + .frames(0..<20), sinks: [sink])
    expectTrue(asking.withLock { $0?.wait(for: .seconds(60)) ?? false })
    expectEqual(sink.contents, [Array(10..<13)])
  }
}
