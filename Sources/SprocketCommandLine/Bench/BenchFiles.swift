internal import Sprocket

/// The files of a benchmark, opened before anything is measured.
struct BenchFiles: ~Copyable {
  private var json, csv, frames: OutputFile?

  init(json: String?, csv: String?, frames: String?, overwrite: Bool) throws(RunError) {
    func file(_ path: String?, _ purpose: String) throws(RunError) -> OutputFile? {
      guard let path else { return nil }
      return try OutputFile(path: path, purpose: purpose, overwrite: overwrite)
    }
    self.json = try file(json, "result")
    self.csv = try file(csv, "result")
    self.frames = try file(frames, "times of frames")
    try self.frames?.append(Self.row(["case", "round", "frame", "step", "start_us", "us"]))
  }

  /// Writes what each thread did on the measured frames of a round; the source's, if it is measured.
  mutating func add(_ trace: Trace, of measured: BenchCase, round: Int) throws(RunError) {
    let (steps, name) = (trace.steps, measured.name)
    for thread in trace.threads.dropFirst(measured.isFromSource ? 0 : 1) {
      var text = ""
      for slice in thread.slices ?? [] where slice.frame >= BenchCase.warmUp {
        text += Self.row([
          Self.quoted(name), "\(round)", "\(slice.frame - BenchCase.warmUp)",
          Self.quoted(steps[Int(slice.step)]), fixed(Double(slice.start) / 1000, 3),
          fixed(Double(slice.end - slice.start) / 1000, 3),
        ])
      }
      try frames?.append(text)
    }
  }

  consuming func write(_ result: BenchResult) throws(RunError) {
    guard let text = try? jsonText(result) else {
      throw RunError(.failed, "the result cannot be put into JSON; please report this")
    }
    try json.take()?.write(text + "\n")
    try csv.take()?.write(Self.table(result))
    try frames.take()?.complete()
  }

  /// A row for each step of each case.
  private static func table(_ result: BenchResult) -> String {
    let names = [
      "case", "format", "width", "height", "workers", "frames", "frames_per_second", "cpu_us",
      "allocations_per_frame", "peak_memory", "instructions", "cycles", "cache_misses", "step",
      "fastest_us", "low_us", "step_cpu_us", "p50_us", "p90_us", "p99_us", "p999_us", "bytes_read",
      "bytes_written",
    ]
    func text(_ number: Double?) -> String { number.map { "\($0)" } ?? "" }
    return row(names)
      + result.cases.flatMap { found in
        found.steps.map { step in
          let whole = [
            quoted(found.name), found.format, "\(found.width)", "\(found.height)",
            "\(found.workers)", "\(found.frames)", text(found.framesPerSecond.median),
            text(found.cpuMicroseconds.median), text(found.allocationsPerFrame),
            found.peakMemory.map { "\($0)" } ?? "", text(found.instructions?.median),
            text(found.cycles?.median), text(found.cacheMisses?.median),
          ]
          let own = [
            quoted(step.name), text(step.fastMicroseconds.least),
            text(step.lowMicroseconds?.typical), text(step.cpuMicroseconds.median),
            text(step.p50), text(step.p90), text(step.p99), text(step.p999),
            "\(step.bytesRead)", "\(step.bytesWritten)",
          ]
          return row(whole + own)
        }
      }.joined()
  }

  private static func row(_ fields: [String]) -> String { fields.joined(separator: ",") + "\n" }

  /// A text as a field; see RFC 4180.
  private static func quoted(_ text: String) -> String {
    "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}
