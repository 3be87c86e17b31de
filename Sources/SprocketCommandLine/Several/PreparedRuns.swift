internal import Sprocket
internal import SprocketPage
internal import SprocketPipelines

/// The run of one source, ready to start, and what is needed at its end.
final class PreparedRun {
  /// Names the source in messages; `nil` in a run of one source.
  let label: String?
  let engine: Engine
  let pipeline: Pipeline
  let digests: [ChecksumSink]
  private let stills: [StillSink]
  let desk: RequestDesk
  let controlSocket: ControlSocket?
  private let pages: [PageServer]
  let trigger: TriggeredRecording?
  let script: RequestScript?
  let voice: Voice
  /// Frames that the run will have, where that is known.
  let frameLimit: UInt64?
  /// The movie that began at the run's first frame, and with which the run ends.
  private let firstMovie: String?
  /// What the options set for all sources.
  let limits: (frames: UInt64?, duration: Duration?)
  /// Free space for the status line; `nil` if no movie is recorded.
  let freeSpace: FreeSpace?
  /// A request of a key or signal that makes a file.
  private var request: BackgroundWork<Void>?
  /// Whether a recording is being made, and is to be stopped once it is.
  private let pending = PendingRecording()

  /// Connects what asks a run with what was made of its description.
  init(
    _ made: MadePipeline, _ run: Run, _ label: String?, _ kinds: Kinds, _ voice: Voice
  ) throws(RunError) {
    let (engine, pipeline) = (made.engine, made.pipeline)
    try engine.setControls(pipeline.controls, voice)
    let desk = RequestDesk(engine, RunParts(kinds, made, of: run))
    firstMovie = pipeline.outputs.first { $0[MovieSettings.self]?.recordsAtOnce ?? false }?.id
    if firstMovie != nil { try desk.make(.record()) }
    let trigger = made.condition.map { TriggeredRecording(keep: $0.keep, voice) }
    if let trigger {
      trigger.connect(desk)
      made.condition?.connect { trigger.note(holds: $0, $1) }
    }
    let asking = pipeline.asking
    script =
      asking.script.path.isEmpty ? nil : try RequestScript(asking.script.path, desk, voice)
    controlSocket =
      asking.controlSocket.isEmpty
      ? nil : try ControlSocket(path: asking.controlSocket.path, desk)
    pages = try made.pages.map { (sink) throws(RunError) in
      try RunPage(desk, sink).server(sink.settings)
    }
    (self.label, self.engine, self.pipeline, self.desk) = (label, engine, pipeline, desk)
    (digests, self.trigger, self.voice) = (made.digests, trigger, voice)
    stills = made.stills
    limits = (run.settings.frames, run.settings.duration)
    frameLimit = Self.knownFrames(run.settings, engine)
    freeSpace = pipeline.recordingFolder.map { FreeSpace($0) }
  }

  /// Frames that the run will have, where that is known: for the progress.
  private static func knownFrames(_ settings: RunSettings, _ engine: Engine) -> UInt64? {
    if let frames = settings.frames { return frames }
    guard settings.duration == nil || engine.description.frameCount == 0 else { return nil }
    return engine.description.frameCount.map { UInt64($0) }
  }

  func start() throws(RunError) {
    try engine.start()
    do throws(RunError) {
      try script?.start()
    } catch {
      end()
      throw error
    }
  }

  /// Lets other programs and browsers ask the run, and tells where its pages are.
  func open() throws(RunError) {
    try controlSocket?.start()
    let showsToken = Console.errors.isTerminal
    for page in pages { voice.tell("page: \(try page.start(showsToken: showsToken))") }
  }

  func close() {
    controlSocket?.finish()
    for page in pages { page.stop() }
  }

  /// Ends a run that was started, and waits 10 s at most, because another part of the program did not start.
  func end() {
    engine.stop()
    _ = engine.wait(for: .seconds(10))
  }

  /// Errors of requests that the condition and the script of the run made.
  var requestErrors: [RunError] { (trigger?.errors ?? []) + (script?.errors ?? []) }

  /// Longest wait for a file that a key asks for. Larger: on slow disks the next key finds it made, and
  /// signals wait longer.
  private static let patience = Duration.milliseconds(200)

  /// Whether a recording is under way, or being made.
  var isRecording: Bool { desk.current != nil || pending.goesOn }

  /// Starts a recording, for a key or signal.
  func record() {
    guard pending.begin() else { return }
    let isAsked = makeFile { [desk, pending] () throws(RunError) in
      defer { pending.end() }
      let id = try desk.make(.record()).recording
      if !pending.goesOn, let id { try desk.make(.stop(id)) }
    }
    if !isAsked { pending.end() }
  }

  /// Stops the recording that is under way, or being made.
  func stopRecording() {
    let isPending = pending.stop()
    guard let current = desk.current else { return }
    do throws(RunError) { try desk.make(.stop(current)) } catch {
      if !isPending { voice.tell(refusal: error) }
    }
  }

  /// Makes a request that makes a file, on a thread of its own: a disk that hangs must not stop the thread
  /// that takes signals. One at a time: false if the one before still waits.
  @discardableResult
  func makeFile(_ ask: @escaping () throws(RunError) -> Void) -> Bool {
    if let request, !request.wait(for: .zero) {
      voice.tell(
        refusal: RunError(.failed, "the disk has not answered to the request before; look at it"))
      return false
    }
    do throws(RunError) {
      let work = try BackgroundWork("request") { [voice] in
        do throws(RunError) { try ask() } catch { voice.tell(refusal: error) }
      }
      request = work
      _ = work.wait(for: Self.patience)
      return true
    } catch {
      voice.tell(refusal: error)
      return false
    }
  }

  /// Whether the run ends with its recording: that of the run's start, unless its movie was detached.
  var endsWithRecording: Bool { firstMovie.map(engine.onDemandSinks.contains) ?? false }

  /// Path of the latest still, when the run is over; `nil` where there is none.
  var photo: String? {
    let path = stills.lazy.compactMap(\.latestPath).first
    return path.map { $0.hasPrefix("./") ? String($0.dropFirst(2)) : $0 }
  }

  var isOver: Bool { engine.wait(for: .zero) }

  /// Whether it came to the end that `--frames` or `--duration` sets for all sources.
  var hasReachedLimit: Bool {
    let summary = engine.summary
    return limits.frames.map { summary.ledger.produced >= $0 } ?? false
      || limits.duration.map { summary.producing >= $0 - .seconds(1) } ?? false
  }

  /// A sentence with the source's label before it.
  func named(_ sentence: String) -> String { label.map { "\($0): \(sentence)" } ?? sentence }
}

extension Pipeline {
  /// Folder of the movies that are asked for or have limits, or of the stills that are asked for: the status
  /// line shows the free space of its disk.
  fileprivate var recordingFolder: String? {
    if let movie = askedMovie {
      guard movie.isAsked || movie.recordsAtOnce else { return nil }
      let path = movie.path.path
      return path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        ?? "."
    }
    let stills = outputs.lazy.compactMap { $0[StillSettings.self] }.first(where: \.isOnDemand)
    return stills.map { StillSink.folder(of: $0.path.settingText) }
  }
}

extension Engine {
  /// Writes the controls of a run's start, in their order.
  fileprivate func setControls(_ controls: [ControlWish], _ voice: Voice) throws(RunError) {
    do throws(RunError) {
      if let note = try write(controls: controls).note { voice.tell(notice: note) }
    } catch {
      throw RunError(
        error.code, error.description, error.settings + [SettingPath("source", "control")])
    }
  }
}

/// A recording that a key or signal asks for, until its file is made.
private final class PendingRecording: Sendable {
  private let state = Locked<(isMade: Bool, isStopped: Bool)>((false, false))

  /// Whether one is being made that nobody has stopped.
  var goesOn: Bool { state.withLock { $0.isMade && !$0.isStopped } }

  /// Begins a recording. Returns false if another recording is being made already: then a stop of that one
  /// is taken back.
  func begin() -> Bool {
    state.withLock { state in
      state.isStopped = false
      guard !state.isMade else { return false }
      state = (true, false)
      return true
    }
  }

  /// Marks the recording that is being made: it ends as soon as its file is made. Returns false if there is
  /// none.
  func stop() -> Bool {
    state.withLock { state in
      state.isStopped = state.isMade
      return state.isMade
    }
  }

  func end() { state.withLock { $0 = (false, false) } }
}

/// What a run of one source came to.
struct RunResult {
  let label: String?
  /// The engine's summary, with the errors of requests that the run made by itself.
  var summary: RunSummary
  let recordings: [RecordingRecord]
  /// Digests by the names of the sinks that made them.
  let digests: [String: String]
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
      var summary = run.engine.summary
      summary.errors += run.requestErrors
      return RunResult(
        label: run.label, summary: summary, recordings: run.engine.recordingRecords,
        digests: Dictionary(run.digests.map { ($0.name, $0.runDigest) }) { $1 })
    }
  }

  /// `run` is what was asked for.
  func writeSummary(_ results: [RunResult], of run: Run) throws(RunError) {
    try summaryFile.take()?.write(results, of: run, pairs: pairing?.statistics ?? [])
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
          ", \(names[1]) \(Self.offset(pairs.quantile(0.5))) (median; "
          + "\(Self.offset(pairs.least)) to \(Self.offset(pairs.most)))"
      } else if let nearest = pairs.nearest {
        line += ", the nearest frames are \(fixed(nearest / 1000, 3)) ms apart"
      }
      return line
        + "; without a partner: \(pairs.alone[0]) of \(names[0]), \(pairs.alone[1]) of \(names[1])"
    }
  }
  /// As in `0.035 ms earlier`.
  private static func offset(_ microseconds: Double) -> String {
    let text = fixed(abs(microseconds) / 1000, 3)
    return "\(text) ms \(microseconds < 0 ? "earlier" : "later")"
  }
}
