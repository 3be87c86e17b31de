internal import Glibc
internal import Sprocket

/// `--trace`: what each thread did to each frame, in Chrome's trace-event format, which Perfetto and
/// chrome://tracing open. docs/measuring.md says what is in it.
struct TraceFile: ~Copyable {
  /// Steps that are kept of each thread. More covers more time, and costs 32 bytes of memory and some 140
  /// bytes of file each: 65,536 are 2 MB and 9 MB, and a minute of a lane of 36 steps at 30 frames/s.
  static let limit = 65_536
  /// Events that are made into text at a time.
  private static let chunk = 4096

  private var file: OutputFile

  /// `nil` where there is no path.
  init?(path: String?, overwrite: Bool) throws(RunError) {
    guard let path else { return nil }
    file = try OutputFile(path: path, purpose: "trace", overwrite: overwrite)
  }

  consuming func write(_ trace: Trace) throws(RunError) {
    do throws(RunError) {
      try write(all: trace)
      try file.complete()
    } catch  where error.code == .readerGone {
      // Whoever reads standard output has read enough.
    }
  }

  private mutating func write(all trace: Trace) throws(RunError) {
    let threads = trace.threads
    let stuck = threads.filter { $0.slices == nil }.map { Self.json($0.name) }
    try file.append(
      """
      {"displayTimeUnit": "ms",
      "otherData": {"program": \(Self.json("\(programName) \(sprocketVersion)")), \
      "clock": "CLOCK_MONOTONIC", "kept_per_thread": \(trace.limit), \
      "missing": \(trace.missing), "stuck_threads": [\(stuck.joined(separator: ", "))]},
      "traceEvents": [
      {"ph": "M", "pid": \(getpid()), "name": "process_name", \
      "args": {"name": \(Self.json(programName))}}
      """)
    let steps = trace.steps.map(Self.json)
    for (index, thread) in threads.enumerated() {
      let place = "\"pid\": \(getpid()), \"tid\": \(index + 1)"
      try file.append(
        """
        ,
        {"ph": "M", \(place), "name": "thread_name", \
        "args": {"name": \(Self.json(thread.name)), "missing": \(thread.missing)}},
        {"ph": "M", \(place), "name": "thread_sort_index", "args": {"sort_index": \(index + 1)}}
        """)
      try write(thread.slices ?? [], place, steps)
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

  /// With all digits, of nanoseconds.
  private static func microseconds(_ nanoseconds: Int64) -> String {
    let rest = String(nanoseconds % 1000)
    return "\(nanoseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// A name, in quotes.
  private static func json(_ name: String) -> String { (try? jsonText(name)) ?? "\"\"" }
}

extension Trace {
  /// Steps of all threads that came before those that are kept.
  var missing: Int { threads.reduce(0) { $0 + $1.missing } }
}
