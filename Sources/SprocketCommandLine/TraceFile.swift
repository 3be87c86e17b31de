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
    var order = 0
    for (label, trace) in traces {
      let steps = trace.steps.map(Self.json)
      var stops: [FlowStop] = []
      for (index, thread) in trace.threads.enumerated() {
        order += 1
        for part in thread.parts ?? [] {
          let place = Self.place(part.number)
          try file.append(
            """
            ,
            {"ph": "M", \(place), "name": "thread_name", \
            "args": {"name": \(name(thread, of: label)), "missing": \(thread.missing)}},
            {"ph": "M", \(place), "name": "thread_sort_index", "args": {"sort_index": \(order)}}
            """)
          try write(part.slices, place, steps)
          stops += FlowStop.all(of: part.slices, number: part.number, thread: index, in: trace)
        }
      }
      try write(flows: stops, trace.threads.map { name($0, of: label) }, of: label)
      try write(ringOf: trace, label)
    }
    try file.append("\n]}\n")
  }

  private static func place(_ number: Int32) -> String {
    "\"pid\": \(getpid()), \"tid\": \(number)"
  }

  private mutating func write(
    _ slices: ArraySlice<TraceSlice>, _ place: String, _ steps: [String]
  ) throws(RunError) {
    for first in stride(from: slices.startIndex, to: slices.endIndex, by: Self.chunk) {
      var text = ""
      for slice in slices[first..<min(first + Self.chunk, slices.endIndex)] {
        let fate = slice.fate.map { ", \"fate\": \"\($0.name)\"" } ?? ""
        text += ",\n{\"ph\": \"X\", \(place), \"ts\": \(Self.microseconds(slice.start))"
        text += ", \"dur\": \(Self.microseconds(slice.end - slice.start))"
        text += ", \"name\": \(steps[Int(slice.step)])"
        text += ", \"args\": {\"frame\": \(slice.frame)\(fate)}}"
      }
      try file.append(text)
    }
  }

  /// Writes arrows that follow each frame: one from the source through the lanes, and one to each sink.
  private mutating func write(
    flows stops: [FlowStop], _ threads: [String], of label: String?
  ) throws(RunError) {
    var text = ""
    func add(_ phase: String, _ stop: FlowStop, _ category: String) {
      let id = label.map { Self.json("\($0)/\(stop.frame)") } ?? "\(stop.frame)"
      text +=
        ",\n{\"ph\": \"\(phase)\", \(Self.place(stop.number)), \"ts\": \(Self.microseconds(stop.time))"
      text += ", \"name\": \"frame\", \"cat\": \(category), \"id\": \(id)"
      text += phase == "f" ? ", \"bp\": \"e\"}" : "}"
    }
    var rest = stops.sorted()[...]
    while let frame = rest.first?.frame {
      let way = rest.prefix { $0.frame == frame }
      rest = rest.dropFirst(way.count)
      let lanes = way.prefix { !$0.isSink }
      guard let last = lanes.last else { continue }
      for (index, stop) in lanes.enumerated() where lanes.count > 1 {
        add(index == 0 ? "s" : index + 1 < lanes.count ? "t" : "f", stop, "\"frame\"")
      }
      for stop in way.dropFirst(lanes.count) {
        add("s", last, threads[stop.thread])
        add("f", stop, threads[stop.thread])
      }
      guard text.utf8.count > 1 << 16 || rest.isEmpty else { continue }
      try file.append(text)
      text = ""
    }
  }

  /// Writes how many positions of the ring were in use when the source delivered a frame.
  private mutating func write(ringOf trace: Trace, _ label: String?) throws(RunError) {
    let name = Self.json((label.map { "\($0)/" } ?? "") + "ring")
    for part in trace.threads.flatMap({ $0.parts ?? [] }) {
      var text = ""
      for slice in part.slices {
        guard let used = slice.used else { continue }
        text +=
          ",\n{\"ph\": \"C\", \(Self.place(part.number)), \"ts\": \(Self.microseconds(slice.end))"
        text += ", \"name\": \(name), \"args\": {\"used\": \(used)}}"
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

/// Where a frame comes to a thread: its first slice there, of the source that which delivers it.
private struct FlowStop: Comparable {
  let frame: UInt64
  let isSink: Bool
  let time: Int64
  /// The kernel's number of the thread, and its place among the trace's.
  let number: Int32
  let thread: Int

  static func < (one: FlowStop, other: FlowStop) -> Bool {
    (one.frame, one.isSink ? 1 : 0, one.time, one.thread)
      < (other.frame, other.isSink ? 1 : 0, other.time, other.thread)
  }

  static func all(
    of slices: ArraySlice<TraceSlice>, number: Int32, thread: Int, in trace: Trace
  ) -> [FlowStop] {
    let isSource = thread == 0
    let isSink = trace.threads[thread].name.hasPrefix("sink ")
    var latest: UInt64?
    return slices.compactMap { slice in
      guard isSource ? slice.used != nil : slice.frame != latest else { return nil }
      latest = slice.frame
      return FlowStop(
        frame: slice.frame, isSink: isSink, time: slice.start, number: number, thread: thread)
    }
  }
}

extension Trace {
  /// Slices of all threads that were overwritten.
  var missing: Int { threads.reduce(0) { $0 + $1.missing } }
}
