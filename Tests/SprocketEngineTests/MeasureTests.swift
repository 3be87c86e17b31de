import Glibc
import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct MeasureTests {
  /// Sleeps, which is time and no work.
  struct Sleepy: PlainStage {
    static let order = Order.sequence
    mutating func process(_ frame: inout FrameView) -> Verdict {
      usleep(10_000)
      return .keep
    }
    static let plugin = Plugin("sleepy", "sleeps", Sleepy.self)
  }

  @Test func aStagesCPUTimeIsWhatItWorkedAndNotWhatItWaited() throws {
    let summary = try run(
      ScriptedSource(frames: 20), [Sleepy.plugin], sinks: [RecordingSink()], workers: 1)
    let stage = try #require(summary.stages.first)
    expectAtLeast(stage.duration.p50, 10_000)
    expectGreater(stage.duration.cpu, 0)
    expectLess(stage.duration.cpu, stage.duration.mean / 2)
    expectGreater(summary.cpuTime, .zero)
    expectAtMost(summary.cpuTime, summary.processCPUTime)
  }

  @Test func aTraceKeepsTheLatestSlicesOfEachThreadAcrossEpochs() throws {
    let steps = (0..<30).map { ScriptedSource.Step.frame(sequence: UInt64($0)) }
    let engine = try Engine(
      source: ScriptedSource(steps + [.epoch(width: 16)] + steps),
      stages: [StageChoice(Sleepy.plugin)], sinks: [RecordingSink()],
      options: RunOptions(workers: 1, traceLimit: 40)
    ) { GreyUnpacker() }
    expectNil(engine.trace)
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    let trace = try #require(engine.trace)
    expectEqual(trace.threads.map(\.name), ["source", "sleepy+unpack", "sink record"])
    expectEqual(trace.threads.dropFirst().map(\.missing), [80, 20])
    expectEqual(trace.threads[2].slices?.map(\.frame), (20..<60).map { UInt64($0) })
    let worked = try #require(trace.threads[1].slices)
    expectEqual(worked.map(\.frame), (40..<60).flatMap { [UInt64($0), UInt64($0)] })
    expectTrue(zip(worked, worked.dropFirst()).allSatisfy { $0.end <= $1.start })
    let slept = worked.filter { trace.steps[Int($0.step)] == "sleepy" }
    expectEqual(slept.count, 20)
    expectTrue(slept.allSatisfy { $0.end - $0.start >= 10_000_000 && $0.fate == nil })
    expectEqual(trace.threads[2].slices?.allSatisfy { $0.fate == .delivered }, true)
  }

  @Test func slicesCountAsMemoryOfTheRun() {
    let error = #expect(throws: RunError.self) {
      _ = try Engine(
        source: ScriptedSource(frames: 1), stages: [StageChoice(Sleepy.plugin)],
        sinks: [RecordingSink()],
        options: RunOptions(workers: 1, memoryLimit: 1 << 20, traceLimit: 1 << 15)
      ) { GreyUnpacker() }
    }
    expectEqual(error?.settings.contains(.memory), true)
  }

  @Test func producingEndsWithTheLastFrameAndDrainingComesAfter() throws {
    let sink = RecordingSink()
    sink.delay = { $0 == 2 ? 500_000_000 : 0 }
    let summary = try run(ScriptedSource(frames: 3), sinks: [sink])
    expectGreater(summary.producing, .zero)
    expectGreater(summary.elapsed - summary.producing, .milliseconds(400))
  }

  /// The pause after the last frame counts too. Otherwise the rate of a short run would be too
  /// high.
  @Test func producingLastsAsLongAsTheSourceIsAsked() throws {
    let steps: [ScriptedSource.Step] = [
      .frame(sequence: 0), .pause(nanoseconds: 100_000_000), .frame(sequence: 1),
      .pause(nanoseconds: 200_000_000),
    ]
    let summary = try run(ScriptedSource(steps), sinks: [RecordingSink()])
    expectAtLeast(summary.producing, .milliseconds(300))
  }

  @Test func framesThatNeedMoreMemoryThanAllowedAreRefusedBeforeAnyIsTaken() throws {
    let options = RunOptions(workers: 1, memoryLimit: 1 << 20)
    let source = ScriptedSource([.frame(sequence: 0)], width: 1 << 19)
    let error = #expect(throws: RunError.self) {
      _ = try Engine(source: source, stages: [], sinks: [RecordingSink()], options: options) {
        GreyUnpacker()
      }
    }
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("524288x4"), true)
    expectEqual(error?.description.contains("1024 kB are allowed"), true)
    expectEqual(error?.settings.contains(.memory), true)
    expectTrue(source.isClosed)
  }

  @Test func sizesBeyondReasonAreRefusedBeforeAnybodyCountsWithThem() {
    let source = ScriptedSource([.frame(sequence: 0)], width: 1 << 40)
    #expect(throws: RunError.self) {
      _ = try Engine(source: source, stages: [], sinks: [], options: RunOptions()) {
        GreyUnpacker()
      }
    }
  }

  @Test func aPlanThatOverflowsIsRefused() {
    let format = FrameFormat(pixelFormat: .grey, width: 8, height: 4, color: .jpeg, rate: .unknown)
    let plan = MemoryPlan(
      format: format, slots: 1 << 20, slotBytes: 1 << 20, slotReserve: 1 << 50, workerBytes: 0)
    let limit = MemoryLimit(asked: .max, system: SystemMemory())
    #expect(throws: RunError.self) {
      try plan.check(MemoryLimit(asked: 1 << 30, system: SystemMemory()))
    }
    var small = SystemMemory()
    small.addressSpace = 1 << 40
    #expect(throws: RunError.self) { try plan.check(MemoryLimit(asked: nil, system: small)) }
    expectEqual(limit.memory, .max)
    expectEqual(limit.addressSpace, .max)
  }

  @Test func controlGroupsLimitsHoldWithTheirAncestors() {
    expectEqual(
      SystemMemory.groups("0::/a.slice/b.scope\n"),
      [
        "/sys/fs/cgroup", "/sys/fs/cgroup/a.slice", "/sys/fs/cgroup/a.slice/b.scope",
      ])
    expectEqual(
      SystemMemory.groups("5:cpu,memory:/docker\n3:pids:/docker\n"),
      [
        "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/docker",
      ])
    // Cached files can be given up, shared memory cannot.
    expectEqual(
      SystemMemory.left(limit: 100, used: 90, statistics: "anon 30\nfile 60\nshmem 10\n"), 60)
    expectEqual(SystemMemory.left(limit: 100, used: 130, statistics: ""), 0)
  }

  @Test func thisMachinesMemoryIsKnown() {
    let memory = SystemMemory.now()
    expectGreater(memory.available, 0)
    expectLess(memory.available, .max)
  }
}
