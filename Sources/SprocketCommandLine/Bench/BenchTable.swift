internal import Sprocket

/// A result as text.
struct BenchTable {
  let result: BenchResult

  init(_ result: BenchResult) { self.result = result }

  /// One table: a line for each case, and below it one for each of its steps.
  var lines: [String] {
    let machine = result.machine
    let load = result.loadAverage.first.map { fixed($0, 2) } ?? "not known"
    let pinned = machine.pinned.map(coreText)
    let head =
      "\(result.source); \(machine.cores) cores of \(machine.processor)"
      + (pinned.map { ", on \($0) alone" } ?? "")
      + "; governor \(machine.governor ?? "not known"), load \(load)"
    return [head, "", header]
      + result.cases.flatMap(lines)
  }

  private static let columns = [
    "fastest us", "CPU us", "spread", "p50 us", "spread", "p90", "p99", "p99.9", "kB read",
    "written",
  ]

  /// Width of the steps' names.
  private var width: Int {
    result.cases.flatMap(\.steps).reduce(12) { max($0, $1.name.count + 2) }
  }

  private var header: String {
    pad("", width) + Self.columns.map { padLeft($0, 10) }.joined()
  }

  private func lines(_ found: BenchResult.Case) -> [String] {
    let allocations = found.allocationsPerFrame.map { fixed($0, 2) } ?? "not counted:"
    let head =
      "\(found.name): \(fixed(found.framesPerSecond.median, 1)) frames/s "
      + "(\(percent(found.framesPerSecond.spread))), CPU "
      + "\(fixed(found.cpuMicroseconds.median, 1)) us per frame "
      + "(\(percent(found.cpuMicroseconds.spread))), \(allocations) allocations per frame"
      + counts(found)
    return [head]
      + found.steps.map { step in
        let values = [
          fixed(step.fastMicroseconds.least, 1), fixed(step.cpuMicroseconds.median, 1),
          percent(step.cpuMicroseconds.spread), fixed(step.wallMicroseconds.median, 1),
          percent(step.wallMicroseconds.spread),
          fixed(step.p90, 1), fixed(step.p99, 1), fixed(step.p999, 1), kilobytes(step.bytesRead),
          kilobytes(step.bytesWritten),
        ]
        return pad("  " + step.name, width) + values.map { padLeft($0, 10) }.joined()
      }
  }

  /// What only some machines tell.
  private func counts(_ found: BenchResult.Case) -> String {
    var text = found.peakMemory.map { ", \(fixed(Double($0) / 1e6, 1)) MB at most" } ?? ""
    if let instructions = found.instructions, let misses = found.cacheMisses,
      let rate = found.instructionsPerCycle
    {
      text +=
        ", \(fixed(instructions.median, 0)) instructions per frame, \(fixed(rate, 2)) per cycle, "
        + "\(fixed(misses.median, 1)) cache misses"
    }
    return text
  }

  private func percent(_ share: Double) -> String { "\(fixed(share * 100, 1)) %" }
  private func kilobytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1000, 1) }

  /// What is not measured, and a warning if the machine was not idle; else empty.
  var remarks: [String] {
    let all = result.cases.flatMap(\.disturbance)
    let told = all.filter(\.isTold)
    let missing = result.notCounted.map { ["", $0] } ?? []
    guard !told.isEmpty else { return missing }
    let others = Rounds(told.map(\.others)).median
    let stolen = Rounds(told.map(\.stolen)).median
    let switches = Rounds(all.map { Double($0.switches) }).median
    let loads = result.loadAverage.first.map { ", the load was \(fixed($0, 2)) at the start" } ?? ""
    return missing + [
      "",
      "the machine was not idle: in \(told.count) of \(all.count) rounds others kept "
        + "\(fixed(others, 2)) cores busy and \(fixed(stolen, 2)) were taken away, as medians"
        + "\(loads), and threads were interrupted \(fixed(switches, 0)) times in a round: trust "
        + "the fastest frames rather than the medians, and measure again",
    ]
  }

  // MARK: Against an earlier result

  func lines(_ comparison: BenchComparison) -> [String] {
    let judged = comparison.steps.compactMap(\.verdict)
    let counts = [BenchVerdict.slower, .undecided, .unchanged, .faster].map { verdict in
      "\(judged.count { $0 == verdict }) \(verdict)"
    }
    return [""] + comparison.notes + comparison.steps.map(line) + [
      "\(comparison.verdict), at a limit of \(percent(comparison.limit)): of \(judged.count) steps "
        + counts.joined(separator: ", ")
    ]
  }

  private func line(_ step: BenchComparison.Step) -> String {
    var words: [String] = []
    if let verdict = step.verdict {
      words.append("\(verdict)")
    }
    if let change = step.change, let low = step.low, let high = step.high {
      words.append("\(signed(change)) (\(signed(low)) to \(signed(high)))")
    }
    if step.nowMicroseconds > 0, step.beforeMicroseconds > 0 {
      words.append("\(fixed(step.beforeMicroseconds, 1)) to \(fixed(step.nowMicroseconds, 1)) us")
    }
    let reason = step.reason.map { (words.isEmpty ? "" : ": ") + $0 } ?? ""
    return "\(step.case): \(step.step): " + words.joined(separator: ", ") + reason
  }

  private func signed(_ share: Double) -> String { (share > 0 ? "+" : "") + percent(share) }
}
