internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

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
      "Describes the run by a file of YAML or JSON; other options win over it. `-` is standard input.",
      valueName: "path"), completion: .file())
  var pipeline: String?

  @Option(
    help: ArgumentHelp(
      "Repeats the run that wrote a dump or a summary, without its outputs' names: give those that are "
        + "wanted.", valueName: "path.mcap | summary.json"), completion: .file())
  var like: String?

  @Flag(
    help: "Prints the run that the options mean as a file for --pipeline, and does nothing else.")
  var printPipeline = false

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
      valueName: "size"), transform: ByteCount.parse)
  var memory: ByteCount?

  @Option(help: ArgumentHelp("How threads wait for work.", valueName: "park | spin-park | spin"))
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
  }

  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    let run = try makeRun(kinds)
    do {
      try execute(run, kinds, invocation, &signals)
    } catch let error as RunError {
      throw error.byKinds(of: run)
    }
  }

  private func execute(
    _ run: Run, _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
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
    (job.isQuiet, job.isVerbose) = (quiet, verbose)
    job.usesKeys = job.run.sources.contains { $0.pipeline.waitsForRequests }
    try job.execute(kinds, invocation, &signals)
  }
}

extension RunError {
  /// The same with the kinds of outputs in place of their names: options are called as kinds are.
  fileprivate func byKinds(of run: Run) -> RunError {
    let outputs = run.sources.flatMap(\.pipeline.outputs)
    let paths = settings.map { path in
      let steps = path.steps
      guard steps.count > 1, steps[0] == "outputs", let part = outputs[steps[1]] else {
        return path
      }
      return SinkKind.path(part.kind, steps.dropFirst(2).first)
    }
    return RunError(code, description, paths, device: device)
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
