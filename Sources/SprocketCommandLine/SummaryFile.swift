internal import FoundationEssentials
internal import Sprocket
internal import SprocketPipelines

/// `--summary`: one JSON object per run; of several sources, one with an object for each in `sources`. Keys
/// only ever get more.
struct SummaryFile: ~Copyable {
  private let file: OutputFile?

  /// Writes nothing without a name.
  init(_ name: OutputName, overwrite: Bool) throws(RunError) {
    guard !name.isEmpty else {
      file = nil
      return
    }
    file = try OutputFile(path: name.path, purpose: "summary", overwrite: overwrite)
  }

  /// `run` is what was asked for.
  consuming func write(
    _ results: [RunResult], of run: Run, pairs: [PairStatistics]
  ) throws(RunError) {
    guard let file else { return }
    var run = run
    run.moveFiles(to: workingFolder())
    let histograms = run.settings.histograms
    let documents = results.map { result in
      SummaryDocument(
        result.summary, recordings: result.recordings, digests: result.digests,
        hasHistograms: histograms)
    }
    let text: String?
    if documents.count == 1 {
      text = try? jsonText(documents[0])
    } else {
      let labels = results.map { $0.label ?? "" }
      text = try? jsonText(
        SummariesDocument(
          sources: Dictionary(zip(labels, documents)) { $1 },
          pairs: pairs.map { PairsDocument($0) }))
    }
    // Numbers alone can be refused, and none of these is infinite.
    let end = "\n}"
    guard let text, text.hasSuffix(end) else {
      throw RunError(.failed, "the summary cannot be put into JSON; please report this")
    }
    // All other keys are sorted; in the description their order has a meaning.
    let described = "\(text.dropLast(2)),\n  \"pipeline\" : \(Tree(run.stored).json(within: "  "))"
    do throws(RunError) {
      try file.write(described + end + "\n")
    } catch  where error.code == .readerGone {
      // Whoever reads standard output has read enough.
    }
  }
}

/// The summary's keys; durations end in their unit.
struct SummaryDocument: Encodable {
  struct Durations: Encodable {
    let p50, p90, p99, max, mean: Double
    let count: UInt64
    let histogram: [[Double]]?

    init(_ summary: DurationSummary, histogram: Bool) {
      self.histogram = histogram ? summary.histogram : nil
      p50 = summary.p50
      p90 = summary.p90
      p99 = summary.p99
      max = summary.max
      mean = summary.mean
      count = summary.count
    }
  }

  struct StageLine: Encodable {
    enum CodingKeys: String, CodingKey {
      case p50 = "p50_us"
      case p90 = "p90_us"
      case p99 = "p99_us"
      case max = "max_us"
      case mean = "mean_us"
      case cpu = "cpu_us"
      case histogram = "histogram_us"
      case count, late, rejected
    }
    let p50, p90, p99, max, mean, cpu: Double
    let count, late, rejected: UInt64
    let histogram: [[Double]]?

    init(_ stage: RunSummary.Stage, histogram: Bool) {
      self.histogram = histogram ? stage.duration.histogram : nil
      p50 = stage.duration.p50
      p90 = stage.duration.p90
      p99 = stage.duration.p99
      max = stage.duration.max
      mean = stage.duration.mean
      cpu = stage.duration.cpu
      count = stage.duration.count
      late = stage.late
      rejected = stage.rejected
    }
  }

  struct SourceLine: Encodable {
    enum CodingKeys: String, CodingKey {
      case name, format, width, height, live, counts
      case framesPerSecond = "frames_per_second"
      case delays = "control_delays"
    }
    struct Delay: Encodable {
      let frames: Int
      /// The shortest, where it varies or was not measured to a frame.
      let shortest: Int?
      let origin: String

      init(_ delay: ControlDelayTime) {
        frames = delay.frames
        shortest = delay.shortest < delay.frames ? delay.shortest : nil
        origin = delay.origin.rawValue
      }
    }
    let name, format: String
    let width, height: Int
    let framesPerSecond: Double
    let live: Bool
    let counts: [String: UInt64]
    let delays: [String: Delay]?

    init(_ source: SourceDescription, _ counts: [(name: String, value: UInt64)]) {
      name = source.name
      format = source.format.pixelFormat.settingText
      width = source.format.width
      height = source.format.height
      framesPerSecond = source.format.rate.framesPerSecond
      live = source.isLive
      self.counts = counts.byName
      let known = source.controls?.isSteered == true ? source.controls?.delays : nil
      delays = known.map { known in
        Dictionary(
          known.map { ($0.control, Delay($0.delay)) }, uniquingKeysWith: { $1 })
      }
    }
  }

  struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }

  let summary: RunSummary
  let recordings: [RecordingRecord]
  let digests: [String: String]
  let hasHistograms: Bool

  init(
    _ summary: RunSummary, recordings: [RecordingRecord] = [], digests: [String: String],
    hasHistograms: Bool = false
  ) {
    self.summary = summary
    self.recordings = recordings
    self.digests = digests
    self.hasHistograms = hasHistograms
  }

  func encode(to encoder: any Encoder) throws {
    var root = encoder.container(keyedBy: Key.self)
    try root.encode(summary.ledger.produced, forKey: Key("produced"))
    try root.encode(summary.epochs, forKey: Key("epochs"))
    try root.encode(seconds(summary.elapsed), forKey: Key("elapsed_s"))
    try root.encode(seconds(summary.producing), forKey: Key("produced_s"))
    try root.encode(seconds(summary.cpuTime), forKey: Key("run_cpu_s"))
    try root.encode(seconds(summary.processCPUTime), forKey: Key("cpu_s"))
    try root.encode(summary.processPeakResidentBytes, forKey: Key("peak_resident_bytes"))
    try root.encode(summary.lookahead, forKey: Key("lookahead_frames"))
    try root.encode(summary.droppedEvents, forKey: Key("dropped_events"))
    try root.encode(summary.errors.map(\.told), forKey: Key("errors"))
    try root.encode(summary.notes, forKey: Key("notes"))
    try root.encode(
      Durations(summary.latency, histogram: hasHistograms), forKey: Key("latency_us"))
    try root.encode(SourceLine(summary.source, summary.sourceCounts), forKey: Key("source"))
    var sinks = root.nestedContainer(keyedBy: Key.self, forKey: Key("sinks"))
    for sink in summary.sinks {
      var line = sinks.nestedContainer(keyedBy: Key.self, forKey: Key(sink.name))
      try encode(sink, to: &line)
      if let frames = sink.frames { try line.encode(frames.lowerBound, forKey: Key("attached_at")) }
      try line.encodeIfPresent(digests[sink.name], forKey: Key("digest"))
    }
    if !summary.detached.isEmpty {
      var detached = root.nestedUnkeyedContainer(forKey: Key("detached"))
      for sink in summary.detached {
        var line = detached.nestedContainer(keyedBy: Key.self)
        try line.encode(sink.name, forKey: Key("name"))
        try line.encode(sink.frames?.lowerBound ?? 0, forKey: Key("attached_at"))
        try line.encode(sink.frames?.upperBound, forKey: Key("detached_at"))
        try encode(sink, to: &line)
      }
    }
    if !recordings.isEmpty {
      try root.encode(recordings.map { RecordingDocument($0) }, forKey: Key("recordings"))
    }
    if !summary.audio.isEmpty {
      try root.encode(summary.audio.map { SoundDocument($0) }, forKey: Key("sound"))
    }
    var stages = root.nestedContainer(keyedBy: Key.self, forKey: Key("stages"))
    for stage in summary.timedStages {
      try stages.encode(StageLine(stage, histogram: hasHistograms), forKey: Key(stage.name))
    }
  }

  private func encode(
    _ sink: RunSummary.SinkLine, to line: inout KeyedEncodingContainer<Key>
  ) throws {
    for fate in Fate.allCases { try line.encode(sink.counts[fate], forKey: Key(fate.name)) }
    try line.encode(Durations(sink.latency, histogram: hasHistograms), forKey: Key("latency_us"))
    guard !sink.others.isEmpty else { return }
    try line.encode(sink.others.byName, forKey: Key("counts"))
  }

  private func seconds(_ duration: Duration) -> Double { Double(duration.nanosecondCount) / 1e9 }
}

extension [(name: String, value: UInt64)] {
  var byName: [String: UInt64] { Dictionary(map { ($0.name, $0.value) }) { $1 } }
}

extension DurationSummary {
  /// Pairs: a bucket's longest duration in microseconds, and the number of durations in it.
  fileprivate var histogram: [[Double]] { buckets.map { [$0.longest, Double($0.count)] } }
}

/// JSON as people read it, keys in order.
func jsonText(_ value: some Encodable, isOneLine: Bool = false) throws -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  if !isOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
  return String(decoding: try encoder.encode(value), as: UTF8.self)
}
