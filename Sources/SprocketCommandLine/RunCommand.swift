internal import ArgumentParser
internal import Sprocket

/// `sprocket run`: the main job.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Takes frames from a source, past stages, into sinks.",
    discussion: """
      Without --source, the first camera is the source, or the built-in scene where there is none. \
      Without a sink, frames are counted and \
      dropped. Ctrl-C ends the run cleanly; twice, at once. \
      Durations are numbers with a unit: ns, us, ms, s, m or h.
      """)

  @Option(
    help: ArgumentHelp(
      "Where frames come from; `\(programName) stages` lists every source.",
      valueName: "camera[:NAME] | file:PATH | replay:PATH | scene | none"))
  var source: String?

  @Option(
    help: ArgumentHelp(
      "A setting of the source; `\(programName) stages scene` lists them.", valueName: "key=value"))
  var sourceSet: [String] = []

  @Option(help: ArgumentHelp("Pixel format of the source, as a fourcc.", valueName: "fourcc"))
  var format: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Size of the source's frames in pixels: 1280x720.", valueName: "WxH"),
    transform: FrameSize.parse)
  var size: FrameSize?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Frames per second of the source: 30, 29.97, 30000/1001.", valueName: "fps"),
    transform: FrameRate.parse)
  var rate: FrameRate?

  @Option(help: ArgumentHelp("A control of the source, set at the start.", valueName: "name=value"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "When the camera is unplugged: waits for it, stops, or waits for so long. Recordings wait, all else "
        + "stops, where it is not given.", valueName: "wait | stop | duration"),
    transform: Duration.parseUnplug)
  var onUnplug: Duration?

  @Option(
    help: ArgumentHelp(
      "A stage of the chain; the order given is the chain's order.",
      valueName: "name[:key=value,...]"))
  var stage: [String] = []

  @OptionGroup(title: "Controllers")
  var controllers: ControllerOptions

  @OptionGroup(title: "Recording")
  var recording: RecordingOptions

  @OptionGroup(title: "Sound")
  var sound: SoundOptions

  @OptionGroup(title: "Asking a run")
  var asking: AskingOptions

  @Option(
    help: ArgumentHelp(
      "A sink by name, one of your own among them; `\(programName) stages` lists them.",
      valueName: "name[:argument][,key=value,...]"))
  var sink: [String] = []

  @Option(
    help: ArgumentHelp(
      "Writes JSON Lines: one per produced frame. `-` is standard output.", valueName: "path"),
    completion: .file())
  var reports: String?

  @Option(
    help: ArgumentHelp(
      "Writes how the run went as one JSON object. `-` is standard output.", valueName: "path"),
    completion: .file())
  var summary: String?

  @Flag(help: "Puts the whole distributions of durations into the summary.")
  var histograms = false

  @Option(
    help: ArgumentHelp(
      "Writes what each thread did to each frame, to be opened in Perfetto or chrome://tracing.",
      valueName: "path"), completion: .file())
  var trace: String?

  @Option(
    help: ArgumentHelp(
      "Writes frames to standard output. The settings are those of the sink `pipe`.",
      valueName: "y4m | gray | rgb | bgr | tensor[:key=value,...]"))
  var pipe: String?

  @Flag(help: "With --pipe: precedes each frame by a header with its number, times and shape.")
  var pipeHeader = false

  @Option(
    help: ArgumentHelp(
      "Hands frames to other programs in shared memory. The settings are those of the sink `share`.",
      valueName: "name[:layout][,key=value...]"))
  var share: [String] = []

  @Flag(help: "Makes a digest of every frame, and of the run.")
  var checksum = false

  @Option(
    help: ArgumentHelp(
      "As --checksum, and writes a line per frame. `-` is standard output.", valueName: "path"),
    completion: .file())
  var checksums: String?

  @Flag(help: "Counts frames and drops them: the default where no other sink is named.")
  var null = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Ends after so many produced frames, gaps counted; the scene then makes them as fast as it can.",
      valueName: "n"),
    transform: wholeNumber(1...UInt64.max, example: 300))
  var frames: UInt64?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Ends after so long: 10s, 500ms, 5m. Of a file, and wherever frames wait, it is the time of the "
        + "frames that counts; live, the clock's.", valueName: "duration"),
    transform: Duration.parsePositive)
  var duration: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Begins with the first frame at or after this time, from the first frame: for file: and replay:.",
      valueName: "duration"),
    transform: Duration.parse)
  var from: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Threads of each parallel lane; default one per core.", valueName: "n"),
    transform: wholeNumber(1...64, example: 4))
  var workers: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Memory that frames may take, such as 4G or 512M; default three quarters of what is free.",
      valueName: "size"), transform: byteCount)
  var memory: Int?

  @Option(help: ArgumentHelp("How threads wait for work.", valueName: "park | spin-park | spin"))
  var wait: WaitStrategy = .park

  @Flag(
    help: "Decodes every frame, also where it is passed on encoded, so that all damage is found.")
  var verify = false

  @Flag(help: "Replaces files that exist; of a folder of stills, all of the earlier run.")
  var overwrite = false

  @Flag(help: "Prints errors alone.")
  var quiet = false

  @Flag(help: "Prints how lanes, ring and memory are laid out.")
  var verbose = false

  func validate() throws {
    if quiet, verbose { throw ValidationError("choose --quiet or --verbose, not both") }
    if histograms, summary == nil {
      throw ValidationError("--histograms is for --summary; add --summary PATH")
    }
    // Sinks of others may take sound, too, and a movie may be asked for later.
    if recording.movie == nil, sink.isEmpty, asking.controlSocket == nil, asking.script == nil {
      if let option = sound.formatting(ofMoviesAlone: sound.sound != nil) {
        throw ValidationError(
          "\(option) says how \(sound.sound == nil ? "files hold sound" : "movies hold sound"); add --movie "
            + "PATH\(sound.sound == nil ? ", or --sound PATH" : "")")
      }
    }
    if recording.sync != nil, recording.movie == nil, recording.dump == nil, sound.sound == nil,
      reports == nil
    {
      throw ValidationError("--sync is for --movie, --dump, --sound and --reports; add one of them")
    }
  }

  /// Executes the run. Returns true if the user stopped it by a signal or a key.
  @discardableResult
  func execute(
    _ registry: Registry, _ invocation: Invocation, _ signals: inout StopSignals,
    mustBeWhole: Bool = false
  ) throws -> Bool {
    let voice = Voice(isQuiet: quiet, isVerbose: verbose)
    let run = try open(registry, invocation, voice, &signals)
    let engine = run.engine
    voice.tell(plan: engine.summary)
    let runner = Runner(
      desk: run.desk, voice: voice, frameLimit: frames ?? knownFrames(engine),
      usesKeys: recording.onDemand && !quiet, endsWithRecording: recording.recordsAtOnce,
      folder: recording.movieFolder, mustBeWhole: mustBeWhole)
    try run.controlSocket?.start()
    defer { run.controlSocket?.finish() }
    let stops = try runner.run(&signals)
    let result = engine.summary
    voice.tell(end: result, digest: run.digest?.runDigest)
    var others = [controllers.missingStills(result)].compactMap(\.self)
    if let trace, let missing = engine.trace?.missing, missing > 0 {
      voice.tell(
        notice:
          "\(trace) has the latest \(TraceFile.limit) steps of each thread; \(missing) earlier "
          + "ones are not in it")
    }
    let digest = run.digest?.runDigest
    let files: [(what: String, path: String?, write: () throws -> Void)] = [
      (
        "summary", summary,
        {
          try run.summaryFile.take()?.write(
            result, recordings: engine.recordingRecords, digest: digest, histograms: histograms)
            ?? ()
        }
      ),
      (
        "trace", trace,
        { if let trace = engine.trace { try run.traceFile.take()?.write(trace) ?? () } }
      ),
    ]
    for file in files {
      guard let path = file.path else { continue }
      do {
        try write(file.what, to: path, file.write, isHurried: stops > 1, &signals)
      } catch let error as RunError {
        others.append(error)
      }
    }
    try judge(result, others + (run.trigger?.errors ?? []))
    return stops > 0
  }

  private func knownFrames(_ engine: Engine) -> UInt64? {
    guard duration == nil || engine.description.frameCount == 0 else { return nil }
    return engine.description.frameCount.map { UInt64($0) }
  }

  /// Writes a file on another thread, and checks for signals meanwhile: a pipe or a network disk may
  /// block.
  private func write(
    _ what: String, to path: String, _ write: @escaping () throws -> Void, isHurried: Bool,
    _ signals: inout StopSignals
  ) throws {
    let limit = Duration.seconds(2)
    guard let work = try? BackgroundWork(what, write) else { return try write() }
    do {
      try work.value(&signals, limit: isHurried ? limit : nil) { limit }
    } catch is Abandoned {
      throw RunError(.failed, "stopped before the \(what) was written to \(path)")
    }
  }

  /// Errors are told once; the first decides the exit code. An unbalanced ledger is one.
  private func judge(_ result: RunSummary, _ others: [RunError]) throws {
    for entry in result.ledger.unbalanced {
      tellError(
        "the ledger of \(entry.sink) does not add up: \(result.ledger.produced) produced,"
          + " \(entry.counts.sum) accounted for; please report this")
    }
    let errors = result.errors + others
    guard let first = errors.first else {
      if !result.ledger.isBalanced { throw ExitCode(1) }
      return
    }
    for error in errors.dropFirst() { tellError(error.told) }
    throw RunError(.failed, first.description, first.remedies)
  }
}
