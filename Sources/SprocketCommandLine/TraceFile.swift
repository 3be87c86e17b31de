internal import Glibc
internal import Sprocket
internal import SprocketPipelines

/// Writes `--trace`: the steps of each thread on each frame, in Chrome's trace-event format, which Perfetto
/// and chrome://tracing open. docs/measuring.md describes the contents.
struct TraceFile: ~Copyable {
  /// Slices kept per thread.
  static var limit: Int { RunMaker.traceLimit }
  /// Slices formatted at a time.
  private static let chunk = 4096

  private var file: OutputFile

  /// `nil` without a name.
  init?(_ name: OutputName, overwrite: Bool) throws(RunError) {
    if name.isEmpty { return nil }
    file = try OutputFile(path: name.path, purpose: "trace", overwrite: overwrite)
  }

  /// Writes the traces of all sources; labels name them, where there are several.
  consuming func write(_ traces: [(label: String?, trace: Trace)]) throws(RunError) {
    do throws(RunError) {
      try write(all: traces)
      try file.complete()
    } catch  where error.code == .readerGone {
      // The reader of standard output closed it, which is no error.
    }
  }

  private mutating func write(all traces: [(label: String?, trace: Trace)]) throws(RunError) {
    func name(_ thread: TraceThread, of label: String?) -> String {
      Self.json((label.map { "\($0)/" } ?? "") + thread.name)
    }
    let stuck = traces.flatMap { label, trace in
      trace.threads.filter { $0.slices == nil }.map { name($0, of: label) }
    }
    let missing = traces.reduce(0) { $0 + $1.trace.missing }
    try file.append(
      """
      {"displayTimeUnit": "ms",
      "otherData": {"program": \(Self.json("\(programName) \(sprocketVersion)")), \
      "clock": "CLOCK_MONOTONIC", "kept_per_thread": \(traces.first?.trace.limit ?? 0), \
      "missing": \(missing), "stuck_threads": [\(stuck.joined(separator: ", "))]},
      "traceEvents": [
      {"ph": "M", "pid": \(getpid()), "name": "process_name", \
      "args": {"name": \(Self.json(programName))}}
      """)
    var number = 0
    for (label, trace) in traces {
      let steps = trace.steps.map(Self.json)
      for thread in trace.threads {
        number += 1
        let place = "\"pid\": \(getpid()), \"tid\": \(number)"
        try file.append(
          """
          ,
          {"ph": "M", \(place), "name": "thread_name", \
          "args": {"name": \(name(thread, of: label)), "missing": \(thread.missing)}},
          {"ph": "M", \(place), "name": "thread_sort_index", "args": {"sort_index": \(number)}}
          """)
        try write(thread.slices ?? [], place, steps)
      }
    }
    try file.append("\n]}\n")
  }

  private mutating func write(
    _ slices: [TraceSlice], _ place: String, _ steps: [String]
  ) throws(RunError) {
    for first in stride(from: 0, to: slices.count, by: Self.chunk) {
      var text = ""
      for slice in slices[first..<min(first + Self.chunk, slices.count)] {
        let fate = slice.fate.map { ", \"fate\": \"\($0.name)\"" } ?? ""
        text += ",\n{\"ph\": \"X\", \(place), \"ts\": \(Self.microseconds(slice.start))"
        text += ", \"dur\": \(Self.microseconds(slice.end - slice.start))"
        text += ", \"name\": \(steps[Int(slice.step)])"
        text += ", \"args\": {\"frame\": \(slice.frame)\(fate)}}"
      }
      try file.append(text)
    }
  }

  /// Nanoseconds as microseconds with three decimals.
  private static func microseconds(_ nanoseconds: Int64) -> String {
    let rest = String(nanoseconds % 1000)
    return "\(nanoseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// A name as a JSON string.
  private static func json(_ name: String) -> String { (try? jsonText(name)) ?? "\"\"" }
}

extension Trace {
  /// Slices of all threads that were overwritten.
  var missing: Int { threads.reduce(0) { $0 + $1.missing } }
}
