internal import ArgumentParser
internal import Sprocket

/// `sprocket run`: the main job.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Takes frames from a source, past stages, into sinks.",
    discussion: """
      Without --source, the first camera is the source, or the built-in scene where there is none. \
      Without a sink, frames are counted and \
      dropped. Ctrl-C ends the run cleanly; twice, at once.
      """)

  @Option(
    help: ArgumentHelp(
      "Where frames come from.", valueName: "camera[:NAME] | file:PATH | replay:PATH | scene"))
  var source: String?

  @Option(
    help: ArgumentHelp(
      "A setting of the source; `sprocket stages scene` lists them.", valueName: "key=value"))
  var sourceSet: [String] = []

  @Option(help: ArgumentHelp("Pixel format of the source, as a fourcc.", valueName: "fourcc"))
  var format: String?

  @Option(help: ArgumentHelp("Size of the source's frames in pixels.", valueName: "WxH"))
  var size: FrameSize?

  @Option(help: ArgumentHelp("Frames per second of the source.", valueName: "fps"))
  var rate: FrameRate?

  @Option(help: ArgumentHelp("A control of the source, set at the start.", valueName: "name=value"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "A stage of the chain; the order given is the chain's order.",
      valueName: "name[:key=value,...]"))
  var stage: [String] = []

  @OptionGroup(title: "Controllers")
  var controllers: ControllerOptions

  @OptionGroup(title: "Recording")
  var recording: RecordingOptions

  @Option(help: ArgumentHelp("Writes JSON Lines: one per produced frame.", valueName: "path"))
  var reports: String?

  @Option(help: ArgumentHelp("Writes how the run went as one JSON object.", valueName: "path"))
  var summary: String?

  @Option(help: ArgumentHelp("Writes frames to standard output.", valueName: "y4m | gray"))
  var pipe: PipeSink.Layout?

  @Flag(help: "Makes a digest of every frame, and of the run.")
  var checksum = false

  @Option(help: ArgumentHelp("As --checksum, and writes a line per frame.", valueName: "path"))
  var checksums: String?

  @Flag(help: "Counts frames and drops them: the default where no other sink is named.")
  var null = false

  @Option(help: ArgumentHelp("Ends after so many produced frames, gaps counted.", valueName: "n"))
  var frames: UInt64?

  @Option(help: ArgumentHelp("Ends after so long: 10s, 500ms, 5m.", valueName: "duration"))
  var duration: TimeSpan?

  @Option(
    help: ArgumentHelp("Threads of each parallel lane; default one per core.", valueName: "n"))
  var workers: Int?

  @Option(help: ArgumentHelp("How threads wait for work.", valueName: "park | spin-park | spin"))
  var wait: WaitStrategy = .park

  @Flag(help: "Replaces files that exist.")
  var overwrite = false

  @Flag(help: "Prints errors alone.")
  var quiet = false

  @Flag(help: "Prints how lanes, ring and memory are laid out.")
  var verbose = false

  func validate() throws {
    if quiet, verbose { throw ValidationError("choose --quiet or --verbose, not both") }
    if let workers, !(1...64).contains(workers) {
      throw ValidationError("--workers is 1 to 64, not \(workers)")
    }
    if frames == 0 { throw ValidationError("--frames is 1 or more") }
    if let duration, duration.duration <= .zero { throw ValidationError("--duration is above 0") }
  }

  func execute(_ registry: Registry) throws {
    var signals = StopSignals()
    try checkPaths()
    let source = try makeSource(registry)
    let choices = try controllers.appended(to: stage.map { try registry.choice($0) }, registry)
    var sinks = recording.sinks(overwrite: overwrite)
    var digest: ChecksumSink?
    if let reports { sinks.append(ReportSink(path: reports, overwrite: overwrite)) }
    if checksum || checksums != nil {
      let sink = ChecksumSink(path: checksums, overwrite: overwrite)
      digest = sink
      sinks.append(sink)
    }
    if let pipe { sinks.append(PipeSink(pipe)) }
    if null || sinks.isEmpty { sinks.append(NullSink()) }

    let summaryFile = try SummaryFile(path: summary, overwrite: overwrite)
    let options = RunOptions(
      workers: workers ?? processorCount(), wait: wait, frameLimit: frames,
      durationLimit: duration?.duration)
    let engine = try Engine(
      source: source, stages: choices, sinks: sinks, options: options
    ) { FrameUnpacker() }
    try setControls(engine.description)
    let voice = Voice(isQuiet: quiet, isVerbose: verbose)
    voice.tell(plan: engine.summary)
    Runner(engine: engine, voice: voice, frameLimit: frames ?? knownFrames(engine)).run(&signals)
    let result = engine.summary
    voice.tell(end: result, digest: digest?.runDigest)
    var others: [String] = []
    do throws(RunError) {
      try summaryFile.write(result, digest: digest?.runDigest)
    } catch {
      others.append(error.description)
    }
    try judge(result, others)
  }

  private func knownFrames(_ engine: Engine) -> UInt64? {
    engine.description.frameCount.map { UInt64($0) }
  }

  private func makeSource(_ registry: Registry) throws -> any Source {
    var values = try keyValues(sourceSet, option: "--source-set")
    let name = source ?? (CameraSource.hasCamera ? "camera" : "scene")
    // A scene that is asked for a number of frames has no reason to take its time.
    if name == "scene", frames != nil, values["pace"] == nil { values["pace"] = "fast" }
    let pixelFormat = try format.map { text throws(RunError) in
      guard let known = PixelFormat(fourcc: text) else {
        throw RunError(.usage, "--format: there is no `\(text)`; give \(PixelFormat.allowed)")
      }
      return known
    }
    let request = FormatRequest(
      format: pixelFormat, size: size.map { ($0.width, $0.height) }, rate: rate)
    return try registry.source(name, values: values, request: request)
  }

  private func setControls(_ description: SourceDescription) throws {
    let values = try keyValues(control, option: "--control")
    // As given: automatic exposure has to be off before exposure can be set.
    let names = control.map { String($0.prefix { $0 != "=" }) }
    for name in names {
      guard let port = description.controls else {
        throw RunError(.usage, "--control: \(description.name) has no controls")
      }
      guard let index = port.control(name) else {
        let known = port.controls.map(\.name).joined(separator: ", ")
        throw RunError(.usage, "--control: there is no `\(name)`; there are: \(known)")
      }
      let control = port.controls[Int(index)]
      guard let text = values[name], let value = control.value(text) else {
        throw RunError(
          .usage,
          "--control: \(name)=\(values[name] ?? "") is not allowed: give \(control.allowed)")
      }
      guard port.write(index, value) != nil else {
        throw RunError(
          .usage, "--control: at most \(ControlPort.capacity) can be given; leave some out")
      }
    }
  }

  /// Errors are told once; the first decides the exit code. An unbalanced ledger is one.
  private func judge(_ result: RunSummary, _ others: [String]) throws {
    for entry in result.ledger.unbalanced {
      printError(
        "sprocket: the ledger of \(entry.sink) does not add up: \(result.ledger.produced) produced,"
          + " \(entry.counts.sum) accounted for; please report this")
    }
    let errors = result.errors.map(\.description) + others
    guard let first = errors.first else {
      if !result.ledger.isBalanced { throw ExitCode(1) }
      return
    }
    for error in errors.dropFirst() { printError("sprocket: \(error)") }
    throw RunError(.failed, first)
  }
}
