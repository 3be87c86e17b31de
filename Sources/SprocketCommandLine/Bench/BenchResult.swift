internal import FoundationEssentials
internal import Sprocket

/// What `bench --json` writes and `--against` reads. docs/measuring.md lists the keys; later versions only
/// add keys.
struct BenchResult: Codable {
  let machine: BenchMachine
  let source: String
  /// Load averages over one and five minutes, at the start.
  let loadAverage: [Double]
  /// Why instructions and cache misses are not counted.
  let notCounted: String?
  let cases: [Case]
  /// What has changed against an earlier result, if one was given.
  var comparison: BenchComparison?

  /// A chain over one format, size and number of workers.
  struct Case: Codable {
    let chain: [String]
    let format: String
    let width, height, workers: Int
    /// Measured frames in each round.
    let frames: UInt64
    /// Frames until the clip's pictures come again.
    let pictures: UInt64?
    let framesPerSecond: Rounds
    /// CPU time of all threads, per frame.
    let cpuMicroseconds: Rounds
    /// Time of the yardstick per frame, before each round; `nil` in a debug build.
    let yardstick: Rounds?
    /// Most memory that the process had in a round, in bytes; `nil` if the kernel does not tell.
    let peakMemory: Int?
    /// Per frame, outside of the kernel; `nil` if they are not counted.
    let instructions, cycles, cacheMisses: Rounds?
    /// `nil` if allocations cannot be counted.
    let allocationsPerFrame: Double?
    let steps: [Step]
    let disturbance: [BenchDisturbance]

    enum CodingKeys: String, CodingKey {
      case chain, format, width, height, workers, frames, pictures, steps, disturbance
      case framesPerSecond = "frames_per_second"
      case cpuMicroseconds = "cpu_us"
      case yardstick = "yardstick_us"
      case peakMemory = "peak_memory"
      case instructions, cycles
      case cacheMisses = "cache_misses"
      case allocationsPerFrame = "allocations_per_frame"
    }

    var instructionsPerCycle: Double? {
      guard let instructions, let cycles, cycles.median > 0 else { return nil }
      return instructions.median / cycles.median
    }

    /// Figures that have a value in each round.
    var measured: [Rounds] {
      [framesPerSecond, cpuMicroseconds]
        + [yardstick, instructions, cycles, cacheMisses].compactMap(\.self)
        + steps.flatMap { step in
          [step.wallMicroseconds, step.cpuMicroseconds, step.fastMicroseconds]
            + [step.lowMicroseconds].compactMap(\.self)
        }
    }

    /// Tells the cases of a result apart.
    var name: String { Self.name(chain, format, width, height, workers) }

    static func name(
      _ chain: [String], _ format: String, _ width: Int, _ height: Int, _ workers: Int
    ) -> String {
      "\(chain.joined(separator: ", ")); \(format) \(width)x\(height), \(workers) "
        + (workers == 1 ? "worker" : "workers")
    }
  }

  /// Unpacking, or a stage.
  struct Step: Codable {
    let name: String
    /// The median duration and the CPU time per frame.
    let wallMicroseconds, cpuMicroseconds: Rounds
    /// The duration that 1 % of a round's frames do not exceed.
    let fastMicroseconds: Rounds
    /// The duration that 10 % of a round's frames do not exceed, by which results are compared. Unlike the
    /// fastest, it hardly depends on the number of frames. `nil` in results of older versions.
    let lowMicroseconds: Rounds?
    let p50, p90, p99, p999: Double
    let bytesRead, bytesWritten: Int

    enum CodingKeys: String, CodingKey {
      case name
      case wallMicroseconds = "wall_us"
      case cpuMicroseconds = "cpu_us"
      case fastMicroseconds = "fast_us"
      case lowMicroseconds = "low_us"
      case p50 = "p50_us"
      case p90 = "p90_us"
      case p99 = "p99_us"
      case p999 = "p999_us"
      case bytesRead = "bytes_read"
      case bytesWritten = "bytes_written"
    }
  }

  enum CodingKeys: String, CodingKey {
    case machine, source, cases, comparison
    case loadAverage = "load_average"
    case notCounted = "not_counted"
  }

  /// Largest file that is read, in bytes. No result is larger.
  private static let mostBytes = 64 << 20

  /// Throws if the file is not a result.
  static func read(_ path: String) throws(RunError) -> BenchResult {
    func refusal(_ reason: String) -> RunError {
      RunError(.usage, "--against \(path): \(reason); give what `bench --json` wrote")
    }
    guard let bytes = fileBytes(path, atMost: mostBytes) else {
      throw refusal("it cannot be read")
    }
    guard let result = try? JSONDecoder().decode(BenchResult.self, from: Data(bytes)) else {
      throw refusal("it is no result of a benchmark")
    }
    for found in result.cases {
      guard (1...BenchCommand.mostFrames).contains(found.frames) else {
        throw refusal("\(found.name) has \(found.frames) frames in a round")
      }
      let count = found.framesPerSecond.rounds.count
      guard count > 0, found.measured.allSatisfy({ $0.rounds.count == count }) else {
        throw refusal("\(found.name) has no rounds, or not as many of each figure")
      }
      guard found.yardstick?.rounds.allSatisfy({ $0 > 0 }) ?? true else {
        throw refusal("\(found.name) has a yardstick that takes no time")
      }
    }
    var rounds = result.cases.compactMap(\.yardstick)
    for step in result.cases.flatMap(\.steps) {
      rounds += [step.cpuMicroseconds, step.wallMicroseconds, step.fastMicroseconds]
      if let low = step.lowMicroseconds { rounds.append(low) }
    }
    guard rounds.flatMap(\.rounds).allSatisfy({ $0 == 0 || (1e-6...1e12).contains($0) }) else {
      throw refusal("a step takes no time in it, or more than there is")
    }
    return result
  }
}
