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
      "Where frames come from; `\(programName) stages` lists every source. May be given several times: a "
        + "label names each in options and in `{source}`, which stands for it in names of files.",
      valueName: "[label=]camera[:NAME] | file:PATH | replay:PATH | pipe:FD | scene | none"))
  var source: [String] = []

  @Option(
    help: ArgumentHelp(
      "A setting of the source; `\(programName) stages scene` lists them.",
      valueName: "[label.]key=value"))
  var sourceSet: [String] = []

  @Option(
    help: ArgumentHelp(
      "Pixel format of the source, as a fourcc.", valueName: "[label=]fourcc"),
    transform: Labelled.parser { $0 })
  var format: [Labelled<String>] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Size of the source's frames in pixels: 1280x720.", valueName: "[label=]WxH"),
    transform: Labelled.parser(FrameSize.parse))
  var size: [Labelled<FrameSize>] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Frames per second of the source: 30, 29.97, 30000/1001.", valueName: "[label=]fps"),
    transform: Labelled.parser(FrameRate.parse))
  var rate: [Labelled<FrameRate>] = []

  @Option(
    help: ArgumentHelp(
      "A control of the source, set at the start.", valueName: "[label.]name=value"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "A file of a camera's controls, set at the start, before --control; `\(programName) devices NAME "
        + "--save` makes it.", valueName: "path"), completion: .file())
  var controls: String?

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

  @OptionGroup(title: "Several sources")
  var pairing: PairingOptions

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

  @Option(
    help: ArgumentHelp(
      "Is a camera for other programs, by a v4l2loopback device. The settings are those of the sink "
        + "`virtual`.", valueName: "device[,key=value...]"), completion: .file())
  var virtual: String?

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

  // `BatchExport` alone sets this flag.
  @Flag(help: .private)
  var brief = false

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
    let voice = Voice(isQuiet: quiet, isVerbose: verbose, isBrief: brief)
    let group = try open(registry, invocation, voice, &signals)
    for run in group.runs { run.voice.tell(plan: run.engine.summary) }
    let runner = Runner(
      runs: group.runs, voice: voice, usesKeys: recording.onDemand && !quiet,
      mustBeWhole: mustBeWhole)
    for run in group.runs { try run.controlSocket?.start() }
    defer { for run in group.runs { run.controlSocket?.finish() } }
    let stops = try runner.run(&signals)
    let results = group.results.map { result in
      var result = result
      let errors = [controllers.missingStills(result.summary)].compactMap(\.self)
      result.summary.errors += errors + missingPictures(result.summary)
      return result
    }
    for (run, result) in zip(group.runs, results) {
      run.voice.tell(end: result.summary, digest: result.digest)
    }
    for line in group.pairLines { voice.tell(line) }
    var others: [RunError] = []
    if let trace, case let missing = group.missingSlices, missing > 0 {
      voice.tell(
        notice:
          "\(trace) has the latest \(TraceFile.limit) steps of each thread; \(missing) earlier "
          + "ones are not in it")
    }
    let files: [(what: String, path: String?, write: () throws -> Void)] = [
      ("summary", summary, { try group.writeSummary(results, histograms: histograms) }),
      ("trace", trace, { try group.writeTrace() }),
    ]
    for file in files {
      guard let path = file.path else { continue }
      do {
        try write(file.what, to: path, file.write, isHurried: stops > 1, &signals)
      } catch let error as RunError {
        others.append(error)
      }
    }
    try judge(group, results, others)
    return stops > 0
  }

  /// Frames that the run will have, where that is known: for the progress.
  func knownFrames(_ engine: Engine) -> UInt64? {
    if let frames { return frames }
    guard duration == nil || engine.description.frameCount == 0 else { return nil }
    return engine.description.frameCount.map { UInt64($0) }
  }
}
