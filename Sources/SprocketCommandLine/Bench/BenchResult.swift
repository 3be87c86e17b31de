internal import FoundationEssentials
internal import Sprocket

/// What `bench --json` writes and `--against` reads. docs/measuring.md lists the keys; later versions only
/// add keys.
struct BenchResult: Codable {
  let machine: BenchMachine
  let source: String
  /// Load averages over one and five minutes, at the start.
  let loadAverage: [Double]
  let cases: [Case]

  /// A chain over one format, size and number of workers.
  struct Case: Codable {
    let chain: [String]
    let format: String
    let width, height, workers: Int
    /// Measured frames in each round.
    let frames: UInt64
    let framesPerSecond: Rounds
    /// CPU time of all threads, per frame.
    let cpuMicroseconds: Rounds
    /// `nil` if allocations cannot be counted.
    let allocationsPerFrame: Double?
    let steps: [Step]
    let disturbance: [BenchDisturbance]

    enum CodingKeys: String, CodingKey {
      case chain, format, width, height, workers, frames, steps, disturbance
      case framesPerSecond = "frames_per_second"
      case cpuMicroseconds = "cpu_us"
      case allocationsPerFrame = "allocations_per_frame"
    }

    var name: String {
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
    let p50, p90, p99, p999: Double
    let bytesRead, bytesWritten: Int

    enum CodingKeys: String, CodingKey {
      case name
      case wallMicroseconds = "wall_us"
      case cpuMicroseconds = "cpu_us"
      case fastMicroseconds = "fast_us"
      case p50 = "p50_us"
      case p90 = "p90_us"
      case p99 = "p99_us"
      case p999 = "p999_us"
      case bytesRead = "bytes_read"
      case bytesWritten = "bytes_written"
    }
  }

  enum CodingKeys: String, CodingKey {
    case machine, source, cases
    case loadAverage = "load_average"
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
    let rounds = result.cases.flatMap(\.steps).flatMap {
      $0.cpuMicroseconds.rounds + $0.wallMicroseconds.rounds + $0.fastMicroseconds.rounds
    }
    guard rounds.allSatisfy({ $0 == 0 || (1e-6...1e12).contains($0) }) else {
      throw refusal("a step takes no time in it, or more than there is")
    }
    return result
  }
}
