internal import Sprocket

/// The run of one source, ready to start, and what is needed at its end.
final class PreparedRun {
  /// Names the source in messages; `nil` in a run of one source.
  let label: String?
  let engine: Engine
  let digest: ChecksumSink?
  let desk: RequestDesk
  let controlSocket: ControlSocket?
  let trigger: TriggeredRecording?
  let voice: Voice
  /// Frames that the run will have, where that is known.
  let frameLimit: UInt64?
  /// Whether the run ends with the recording that began at its first frame.
  let endsWithRecording: Bool
  /// The status line shows the free space of this folder's disk; `nil` for none.
  let folder: String?

  init(
    label: String?, _ command: RunCommand, _ desk: RequestDesk, digest: ChecksumSink?,
    controlSocket: ControlSocket?, trigger: TriggeredRecording?, voice: Voice
  ) {
    self.label = label
    engine = desk.engine
    self.digest = digest
    self.desk = desk
    self.controlSocket = controlSocket
    self.trigger = trigger
    self.voice = voice
    frameLimit = command.knownFrames(desk.engine)
    endsWithRecording = command.recording.recordsAtOnce
    folder = command.recording.movieFolder
  }

  var isOver: Bool { engine.wait(for: .zero) }

  /// A sentence with the source's label before it.
  func named(_ sentence: String) -> String { label.map { "\($0): \(sentence)" } ?? sentence }
}

/// What a run of one source came to.
struct RunResult {
  let label: String?
  let summary: RunSummary
  let recordings: [RecordingRecord]
  let digest: String?
}

/// The runs of all sources, and the files that they share.
final class PreparedRuns {
  let runs: [PreparedRun]
  private let pairing: FramePairing?
  private var summaryFile: SummaryFile?
  private var traceFile: TraceFile?

  init(
    _ runs: [PreparedRun], _ pairing: FramePairing?, summaryFile: consuming SummaryFile,
    traceFile: consuming TraceFile?
  ) {
    self.runs = runs
    self.pairing = pairing
    self.summaryFile = consume summaryFile
    self.traceFile = consume traceFile
  }

  var results: [RunResult] {
    runs.map { run in
      RunResult(
        label: run.label, summary: run.engine.summary, recordings: run.engine.recordingRecords,
        digest: run.digest?.runDigest)
    }
  }

  func writeSummary(_ results: [RunResult], histograms: Bool) throws(RunError) {
    try summaryFile.take()?.write(
      results, pairs: pairing?.statistics ?? [], histograms: histograms)
  }

  func writeTrace() throws(RunError) {
    let traces = runs.compactMap { run in run.engine.trace.map { (run.label, $0) } }
    try traceFile.take()?.write(traces)
  }

  /// Slices of all threads that were overwritten.
  var missingSlices: Int { runs.reduce(0) { $0 + ($1.engine.trace?.missing ?? 0) } }

  /// What is said of pairs at the end.
  var pairLines: [String] {
    (pairing?.statistics ?? []).map { pairs in
      let names = pairs.sources
      var line = "\(names[0]) and \(names[1]): \(pairs.pairs) pairs"
      if pairs.pairs > 0 {
        line +=
          ", \(names[1]) \(fixed(pairs.quantile(0.5) / 1000, 3)) ms later (median; "
          + "\(fixed(pairs.least / 1000, 3)) to \(fixed(pairs.most / 1000, 3)))"
      }
      return line
        + "; without a partner: \(pairs.alone[0]) of \(names[0]), \(pairs.alone[1]) of \(names[1])"
    }
  }
}
