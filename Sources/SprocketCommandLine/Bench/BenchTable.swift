internal import Sprocket

/// A result as text.
struct BenchTable {
  let result: BenchResult

  init(_ result: BenchResult) { self.result = result }

  var lines: [String] {
    let machine = result.machine
    return ["\(result.source); \(machine.cores) cores of \(machine.processor)"]
      + result.cases.flatMap(lines)
  }

  private func lines(_ found: BenchResult.Case) -> [String] {
    let allocations = found.allocationsPerFrame.map { fixed($0, 2) } ?? "not counted:"
    let head =
      "\(found.name): \(fixed(found.framesPerSecond.median, 1)) frames/s "
      + "(\(percent(found.framesPerSecond.spread))), CPU "
      + "\(fixed(found.cpuMicroseconds.median, 1)) us per frame "
      + "(\(percent(found.cpuMicroseconds.spread))), \(allocations) allocations per frame"
    let width = found.steps.reduce(12) { max($0, $1.name.count + 3) }
    let names = [
      "fastest us", "CPU us", "spread", "p50 us", "spread", "p90", "p99", "p99.9", "kB read",
      "written",
    ]
    return [
      "", head,
      "  " + pad("", width - 2) + names.map { padLeft($0, 10) }.joined(),
    ]
      + found.steps.map { step in
        let values = [
          fixed(step.fastMicroseconds.least, 1), fixed(step.cpuMicroseconds.median, 1),
          percent(step.cpuMicroseconds.spread), fixed(step.wallMicroseconds.median, 1),
          percent(step.wallMicroseconds.spread),
          fixed(step.p90, 1), fixed(step.p99, 1), fixed(step.p999, 1), kilobytes(step.bytesRead),
          kilobytes(step.bytesWritten),
        ]
        return "  " + pad(step.name, width - 2) + values.map { padLeft($0, 10) }.joined()
      }
  }

  private func percent(_ share: Double) -> String { "\(fixed(share * 100, 1)) %" }
  private func kilobytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1000, 1) }

  /// A warning if the machine was not idle; else empty.
  var disturbances: [String] {
    let all = result.cases.flatMap(\.disturbance)
    let told = all.filter(\.isTold)
    guard !told.isEmpty else { return [] }
    let others = Rounds(told.map(\.others)).median
    let stolen = Rounds(told.map(\.stolen)).median
    let switches = Rounds(all.map { Double($0.switches) }).median
    let loads = result.loadAverage.first.map { ", the load was \(fixed($0, 2)) at the start" } ?? ""
    return [
      "",
      "the machine was not idle: in \(told.count) of \(all.count) rounds others kept "
        + "\(fixed(others, 2)) cores busy and \(fixed(stolen, 2)) were taken away, as medians"
        + "\(loads), and threads were interrupted \(fixed(switches, 0)) times in a round: trust "
        + "the fastest frames rather than the medians, and measure again",
    ]
  }

  // MARK: Against an earlier result

  private struct Pair {
    let name: String
    let earlier, now: BenchResult.Step
  }

  func comparison(with earlier: BenchResult) -> [String] {
    var lines = [""]
    lines += result.machine.differences(from: earlier.machine)
    if earlier.source != result.source {
      lines.append("another source: \(result.source), before \(earlier.source)")
    }
    var pairs: [Pair] = []
    var told: [String] = []
    for found in result.cases {
      guard let before = earlier.cases.first(where: { $0.name == found.name }) else {
        lines.append("\(found.name): not in the earlier result")
        continue
      }
      let (most, fewest) = (max(before.frames, found.frames), min(before.frames, found.frames))
      guard most < 2 * fewest else {
        lines.append(
          "\(found.name): \(found.frames) frames in a round, before \(before.frames); give both the "
            + "same --frames to compare them")
        continue
      }
      if let line = allocations(before, found) { told.append(line) }
      pairs += found.steps.compactMap { step in
        before.steps.first { $0.name == step.name }.map {
          Pair(name: "\(found.name): \(step.name)", earlier: $0, now: step)
        }
      }
    }
    for before in earlier.cases where !result.cases.contains(where: { $0.name == before.name }) {
      lines.append("\(before.name): in the earlier result alone")
    }
    told += pairs.compactMap(line)
    if told.isEmpty, !pairs.isEmpty {
      lines.append("nothing has changed by more than noise, of \(pairs.count) compared")
    }
    return lines + told
  }

  /// Smallest change of allocations per frame that is reported. An allocation in each frame is 1 or more;
  /// larger misses allocations in some frames, smaller reports those that a run makes once.
  private static let leastAllocations = 0.5
  /// Smallest change of allocations in a round that is reported. Larger misses more in short rounds. Equal
  /// runs differ by up to a hundred.
  private static let leastAllocationsOfRound = 100.0

  /// The line for a case's allocations; `nil` if they have not changed or were not counted.
  private func allocations(_ earlier: BenchResult.Case, _ now: BenchResult.Case) -> String? {
    guard let before = earlier.allocationsPerFrame, let after = now.allocationsPerFrame,
      abs(after - before) >= Self.leastAllocations,
      abs(after - before) * Double(min(earlier.frames, now.frames)) > Self.leastAllocationsOfRound
    else { return nil }
    return "\(now.name): \(fixed(after, 2)) allocations per frame, before \(fixed(before, 2))"
  }

  /// Resolution of durations, in microseconds: the width of a histogram's narrowest buckets.
  private static let resolution = 0.064

  /// The line for one step; `nil` if it has not changed. The fastest frames decide, because other programs
  /// disturb them least.
  private func line(_ pair: Pair) -> String? {
    let (before, after) = (pair.earlier, pair.now)
    let fastest = Comparison(
      least: before.fastMicroseconds, after.fastMicroseconds, resolution: Self.resolution)
    switch fastest.verdict {
    case .tooFewRounds:
      return "\(pair.name): too few rounds to tell a change; take 10 both times"
    case .more, .less:
      return "\(pair.name): \(percent(abs(fastest.change))) "
        + (fastest.verdict == .more ? "slower" : "faster")
        + ", \(change(before.fastMicroseconds.least, after.fastMicroseconds.least)) in the fastest frames"
    case .same: break
    }
    let used = Comparison(before.cpuMicroseconds, after.cpuMicroseconds)
    guard used.verdict == .more || used.verdict == .less else { return nil }
    return "\(pair.name): the fastest frames have not changed, the median CPU time has, "
      + "\(change(before.cpuMicroseconds.median, after.cpuMicroseconds.median)): other programs "
      + "disturbed it, or only some frames have changed"
  }

  private func change(_ before: Double, _ after: Double) -> String {
    "\(fixed(before, 1)) to \(fixed(after, 1)) us"
  }
}
