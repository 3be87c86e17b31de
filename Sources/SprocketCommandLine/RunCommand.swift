internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `sprocket run`: the main job.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Takes frames from a source, past stages, into sinks.",
    discussion: """
      EXAMPLES:
        \(programName) run --duration 10s --movie clip.mov
        \(programName) run --source file:clip.mov --stage meter --reports -
        \(programName) run --source scene --frames 100 --stills shots --every 1s
      """)

  /// Options on the first page of the help.
  static let firstOptions = [
    "source", "format", "size", "rate", "stage", "movie", "stills", "dump", "pipe", "share", "null",
    "frames", "duration", "overwrite",
  ]

  @OptionGroup(title: "Source: where frames come from, and in which shape")
  var input: SourceOptions

  @OptionGroup(title: "Stages: what becomes of frames, and what drives the camera")
  var controllers: ControllerOptions

  @OptionGroup(title: "Recording: movies, stills and dumps, and when they are written")
  var recording: RecordingOptions

  @OptionGroup(title: "Sound: microphones, and how files hold what they hear")
  var sound: SoundOptions

  @OptionGroup(title: "Outputs: other programs, reports, checksums, figures")
  var outputs: OutputOptions

  @OptionGroup(title: "Asking: what a run does when it is asked to")
  var asking: AskingOptions

  @OptionGroup(title: "Pairing: frames of several sources that belong together")
  var pairing: PairingOptions

  @Option(
    "Describes the run by a file of YAML or JSON; other options win over it. `-` is standard input.",
    takes: "path", completion: .file())
  var pipeline: String?

  @Option(
    "Repeats the run that wrote a dump or a summary, without its outputs' names: give those that are "
      + "wanted.", takes: "path.mcap | summary.json", completion: .file())
  var like: String?

  @Flag(
    help: "Prints the run that the options mean as a file for --pipeline, and does nothing else.")
  var printPipeline = false

  @Option(
    "Ends after so many produced frames; gaps count. The scene then makes them as fast as it can.",
    takes: "n", as: wholeNumber(1...UInt64.max, example: 300))
  var frames: UInt64?

  @Option(
    "Ends after so long: 10s, 500ms, 5m. Units are ns, us, ms, s, m and h. Of a file, and wherever frames "
      + "wait, it is the time of the frames that counts; live, the clock's. Ctrl-C ends a run, too; twice, "
      + "at once.", takes: "duration", as: Duration.parsePositive)
  var duration: Duration?

  @Option(
    "Threads of each parallel lane; default one per core.", takes: "n",
    as: wholeNumber(1...64, example: 4))
  var workers: Int?

  @Option(
    "Memory that frames may take, such as 4G or 512M; default three quarters of what is free.",
    takes: "size", as: ByteCount.parse)
  var memory: ByteCount?

  @Option("How threads wait for work.", takes: "park | spin-park | spin")
  var wait: WaitStrategy?

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
    if controllers.bracket != nil, recording.every != nil || recording.stillsSharpest != nil {
      throw ValidationError(
        "--bracket, --every and --stills-sharpest each choose the stills; leave one out")
    }
  }

  /// `complete` adds to the run what no option says.
  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals,
    takesPhoto: Bool = false, complete: (inout Run) -> Void = { _ in }
  ) throws {
    var run = try makeRun(kinds)
    complete(&run)
    do {
      try execute(run, kinds, invocation, &signals, takesPhoto: takesPhoto)
    } catch let error as RunError {
      throw error.byKinds(of: run)
    }
  }

  private func execute(
    _ run: Run, _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals,
    takesPhoto: Bool
  ) throws {
    var job = RunJob(run)
    if printPipeline {
      job.run.moveFiles(to: workingFolder())
      if let (source, error) = job.run.errors(kinds).first {
        try source?.naming(in: job.run) { () throws(RunError) in throw error }
        throw error
      }
      return Console.output.say(json: Tree(job.run).yaml)
    }
    (job.isQuiet, job.isVerbose, job.takesPhoto) = (quiet, verbose, takesPhoto)
    job.usesKeys = job.run.sources.contains { $0.pipeline.waitsForRequests }
    try job.execute(kinds, invocation, &signals)
  }
}

extension RunError {
  /// Returns the error with kinds instead of names of outputs in its paths: options are called as kinds are.
  fileprivate func byKinds(of run: Run) -> RunError {
    let outputs = run.sources.flatMap(\.pipeline.outputs)
    let paths = settings.map { path in
      let steps = path.steps
      guard steps.count > 1, steps[0] == "outputs", let part = outputs[steps[1]] else {
        return path
      }
      return SinkKind.path(part.kind, steps.dropFirst(2).first)
    }
    return device.map { RunError($0, description, paths) } ?? RunError(code, description, paths)
  }
}

/// A name of a file that is written. Throws if it is empty, or has a brace that is no place.
func outputName(
  _ text: String, _ option: String, isShared: Bool = false
) throws(RunError) -> OutputName {
  guard !text.isEmpty else {
    throw RunError(.usage, "\(option) is given an empty name; give the name of a file or folder")
  }
  guard let name = OutputName(settingText: text) else {
    throw RunError(.usage, "\(option) \(text) is not allowed: give \(OutputName.allowed)")
  }
  if isShared, let place = name.places.first {
    throw RunError(
      .usage, "\(option) is one file of all sources; leave {\(place)} out of its name")
  }
  return name
}
