import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct HardwareCountersTests {
  /// The kernel counts CPU time on every machine, in the way in which the processor counts instructions.
  @Test func threadsThatAreStartedLaterAreCounted() throws {
    let counters: HardwareCounters
    do throws(RunError) {
      counters = try HardwareCounters([.taskClock, .taskClock])
    } catch {
      // A container may forbid perf_event_open.
      expectTrue(error.description.hasPrefix("instructions and cache misses are not counted: "))
      return
    }
    let before = try #require(counters.read())
    let used = Locked<Int64>(0)
    let thread = try EngineThread("counted") {
      let start = threadCPUTime()
      while threadCPUTime() - start < 20_000_000 {}
      used.withLock { $0 = threadCPUTime() - start }
    }
    expectTrue(thread.join(until: deadline(in: 60_000_000_000)))
    let after = try #require(counters.read())
    expectEqual(after.count, 2)
    for (first, last) in zip(before, after) {
      expectAtLeast(last - first, Double(used.withLock { $0 }) * 0.9)
    }
  }

  /// This kernel has no event of that number.
  @Test func anEventThatIsNotCountedIsRefused() {
    let none = HardwareCounters.Event(type: 1, config: 1 << 40)
    let refused = RunError.thrown { () throws(RunError) in
      _ = try HardwareCounters([.taskClock, none])
    }
    expectEqual(refused.count, 1)
  }

  @Test func aCoreThatIsNotThereIsRefused() {
    let refused = RunError.thrown { () throws(RunError) in try pinThreads(to: [1023]) }
    expectTrue(refused.first?.description.contains("1023") ?? false)
  }
}
