internal import SprocketCore
internal import Synchronization

// What any thread may read of lanes and sinks while they work. Each gauge has one thread that writes to it: a
// load and a store instead of a locked instruction, relaxed unless something follows from the value.

/// A step on one thread, over all epochs.
final class StepGauge: Sendable {
  private let work = Atomic<Int64>(0)
  private let wait = Atomic<Int64>(0)
  private let frames = Atomic<UInt64>(0)
  private let cpu = Atomic<Int64>(0)
  private let cpuFrames = Atomic<UInt64>(0)
  private let late = Atomic<UInt64>(0)
  private let rejected = Atomic<UInt64>(0)
  private let corrupt = Atomic<UInt64>(0)

  /// Counts a frame, and nanoseconds spent on it. `fate` is set if the frame was dropped in this step.
  func add(work nanoseconds: Int64, fate: Fate?) {
    work.addAlone(nanoseconds)
    frames.addAlone(1)
    switch fate {
    case .late: late.addAlone(1)
    case .rejected: rejected.addAlone(1)
    case .corrupt: corrupt.addAlone(1)
    default: break
    }
  }

  func addWait(_ nanoseconds: Int64) { wait.addAlone(max(0, nanoseconds)) }

  func add(cpu nanoseconds: Int64) {
    cpu.addAlone(nanoseconds)
    cpuFrames.addAlone(1)
  }

  /// Adds what it shows to `load`.
  func add(to load: inout RunLoad.Step) {
    load.work += .nanoseconds(work.load(ordering: .relaxed))
    load.wait += .nanoseconds(wait.load(ordering: .relaxed))
    load.frames += frames.load(ordering: .relaxed)
    load.cpu += .nanoseconds(cpu.load(ordering: .relaxed))
    load.cpuFrames += cpuFrames.load(ordering: .relaxed)
    load.late += late.load(ordering: .relaxed)
    load.rejected += rejected.load(ordering: .relaxed)
    load.corrupt += corrupt.load(ordering: .relaxed)
  }
}

/// The steps of all threads of a run's lanes. A later epoch goes on with the gauges of an earlier one.
final class StepGauges: Sendable {
  private struct Line: Sendable {
    let thread: String
    let steps: [String]
    let gauges: [StepGauge]
  }

  private let lines = Locked<[Line]>([])

  /// Finds or makes the gauges of the thread with that name. Allocates if it is new.
  func thread(_ name: String, steps: [String]) -> [StepGauge] {
    lines.withLock { lines in
      if let found = lines.first(where: { $0.thread == name && $0.steps == steps }) {
        return found.gauges
      }
      let line = Line(thread: name, steps: steps, gauges: steps.map { _ in StepGauge() })
      lines.append(line)
      return line.gauges
    }
  }

  /// The sum of a step over all threads.
  func step(_ name: String) -> RunLoad.Step {
    lines.withLock { lines in
      var load = RunLoad.Step(name: name)
      for line in lines {
        for (step, gauge) in zip(line.steps, line.gauges) where step == name {
          gauge.add(to: &load)
        }
      }
      return load
    }
  }
}

/// A sink, over all epochs.
final class SinkGauge: Sendable {
  /// Fates that a sink's own thread decides.
  static let fates: [Fate] = [.behind, .skipped, .unselected, .failed, .flushed]

  private let work = Atomic<Int64>(0)
  private let wait = Atomic<Int64>(0)
  private let frames = Atomic<UInt64>(0)
  /// In the order of `fates`.
  private let lost: [LiveCounters.Cell] = SinkGauge.fates.map { _ in LiveCounters.Cell() }

  /// Counts a frame that was written.
  func add(work nanoseconds: Int64, wait waited: Int64) {
    work.addAlone(nanoseconds)
    wait.addAlone(max(0, waited))
    frames.addAlone(1)
  }

  /// Shows the counts of the sink's thread.
  func show(_ counts: FateCounts) {
    for index in Self.fates.indices {
      // Releases: when a sink fails, `delivered` has been lowered before.
      lost[index].value.store(counts[Self.fates[index]], ordering: .releasing)
    }
  }

  /// The counts that were shown last, of `fates` alone.
  var counts: FateCounts {
    var counts = FateCounts()
    for (fate, cell) in zip(Self.fates, lost) {
      counts[fate] = cell.value.load(ordering: .acquiring)
    }
    return counts
  }

  func load(_ name: String, behind: UInt64) -> RunLoad.Sink {
    RunLoad.Sink(
      name: name, work: .nanoseconds(work.load(ordering: .relaxed)),
      wait: .nanoseconds(wait.load(ordering: .relaxed)), frames: frames.load(ordering: .relaxed),
      behind: behind)
  }
}

extension Atomic where Value == Int64 {
  /// Adds where no other thread writes.
  fileprivate func addAlone(_ value: Int64) {
    store(load(ordering: .relaxed) &+ value, ordering: .relaxed)
  }
}

extension Atomic where Value == UInt64 {
  /// Adds where no other thread writes.
  fileprivate func addAlone(_ value: UInt64) {
    store(load(ordering: .relaxed) &+ value, ordering: .relaxed)
  }
}
