internal import Glibc
public import Sprocket

/// Makes what a run describes: sources at once, and then, one after the other, all that belongs to a source.
public final class RunMaker {
  /// The run with all that was left to choose, and with labels in the names of files.
  public let run: Run
  /// The pairs of several sources' frames; `nil` where none are made.
  public let pairing: FramePairing?
  private let kinds: Kinds
  private let sources: [any Source]
  /// The dumps that several sources share, by their paths, and the numbers of these sources.
  private let dumps: [String: (output: DumpOutput, sources: [Int])]
  /// Returns what was asked for, without folders, so that equal runs have equal descriptions.
  private let describe: @Sendable () -> String

  /// Checks the run and makes its sources, which are not opened. `watch` gets each of them, so that another
  /// thread can interrupt it. `isOutputClosed`: what is written to standard output is lost.
  public init(
    _ asked: Run, _ kinds: Kinds, isOutputClosed: Bool = false,
    watch: (any Source) -> Void = { _ in }
  ) throws(RunError) {
    try asked.check()
    let run = asked.resolved
    if let error = RunFiles(run).errors(isOutputClosed: isOutputClosed).first { throw error }
    (self.run, self.kinds) = (run, kinds)
    // Nor does it have the names of what is written: a dump's bytes do not depend on its own.
    describe = { Tree(asked.stored.withoutFolders.withoutOutputNames).json }
    var sources: [any Source] = []
    for source in run.sources {
      let made = try source.naming(in: run) { () throws(RunError) in
        try kinds.make(source.pipeline.source ?? Pipeline.usualSource, source.pipeline.format)
      }
      watch(made)
      sources.append(made)
    }
    try Self.checkDevices(run, sources)
    self.sources = sources
    let overwrite = run.settings.overwrite
    var dumps: [String: (output: DumpOutput, sources: [Int])] = [:]
    for (path, sources) in run.sharedDumps {
      let output = DumpOutput(
        path: path, overwrite: overwrite, sources: sources.count, description: describe())
      dumps[path] = (output, sources)
    }
    self.dumps = dumps
    pairing = try run.settings.pair.map { tolerance throws(RunError) in
      let path = run.settings.pairs.isEmpty ? nil : run.settings.pairs.path
      return try FramePairing(
        run.sources.map(\.label), within: tolerance, path: path, overwrite: overwrite)
    }
  }

  /// Throws where two sources are the same device.
  private static func checkDevices(
    _ run: Run, _ sources: [any Source]
  ) throws(RunError) {
    guard sources.count > 1 else { return }
    var known: [String: String] = [:]
    for (part, source) in zip(run.sources, sources) {
      guard let device = source.deviceIdentity,
        let other = known.updateValue(part.label, forKey: device)
      else { continue }
      throw RunError(
        .usage,
        "\(other) and \(part.label) are the same camera, \(device); name each, as `sprocket devices` lists "
          + "them", change: .source)
    }
  }

  /// Opens and configures all of one source.
  public func make(_ index: Int) throws(RunError) -> MadePipeline {
    try run.sources[index].naming(in: run) { () throws(RunError) in try makePipeline(index) }
  }

  private func makePipeline(_ index: Int) throws(RunError) -> MadePipeline {
    let (source, pipeline) = (sources[index], run.sources[index].pipeline)
    let audio = try SoundMaker(pipeline, run, kinds).engines(beside: source)
    let request = request(audio, pipeline.sound)
    var made = MadePipeline.Sinks()
    for part in pipeline.outputs { try add(part, request, index, to: &made) }
    if made.sinks.isEmpty { made.sinks.append(NullSink()) }
    if let movie = pipeline.conditionalMovie {
      let condition = MadePipeline.Condition(keep: movie.usedKeep)
      made.condition = condition
      made.sinks.append(try TriggerSink(movie.when) { condition.note($0, $1) })
    }
    if let pairing { made.sinks.append(pairing.sink(index)) }
    let end = MadePipeline.End()
    if !pipeline.asking.until.isEmpty {
      made.sinks.append(
        try TriggerSink(pipeline.asking.until, name: "until") { holds, _ in if holds { end.come() }
        })
    }
    if let empty = source as? EmptySource {
      guard !audio.isEmpty else {
        throw RunError(
          .usage, "a run without pictures is for sound alone; name a microphone", change: .source)
      }
      empty.isOver = { audio.allSatisfy(\.isOver) }
    }
    let engine = try Engine(
      source: source,
      stages: try pipeline.stages.map { (part) throws(RunError) in try kinds.choice(part) },
      sinks: made.sinks, audio: audio,
      options: options(run.sources[index].label))
    end.connect(engine)
    return MadePipeline(
      label: run.sources[index].label, pipeline: pipeline, engine: engine, request: request, made)
  }

  private func request(_ audio: [AudioEngine], _ sound: SoundParts) -> OutputRequest {
    var request = OutputRequest()
    request.sound = sound.files.recorded
    request.overwrite = run.settings.overwrite
    request.describe = describe
    request.frameLimit = run.settings.frames
    request.makeTaps = { (sink) throws(RunError) in
      try audio.map { (engine) throws(RunError) in try engine.makeTap(for: sink) }
    }
    return request
  }

  private func add(
    _ part: Part, _ request: OutputRequest, _ index: Int, to made: inout MadePipeline.Sinks
  ) throws(RunError) {
    if let settings = part[DumpSettings.self], let dump = dumps[settings.path.path],
      let place = dump.sources.firstIndex(of: index)
    {
      made.sinks.append(
        DumpSink(
          part.id, sharing: dump.output, source: run.sources[index].label, index: place,
          sound: try request.makeTaps(DumpSink.kind.name), sync: settings.sync))
      return
    }
    made.sinks.append(try kinds.make(part, request))
  }

  private func options(_ label: String) -> RunOptions {
    let settings = run.settings
    var options = RunOptions(
      workers: settings.workers ?? processorCount(), wait: settings.wait,
      frameLimit: settings.frames, durationLimit: settings.duration, verifies: settings.verify,
      memoryLimit: settings.memory?.bytes,
      traceLimit: settings.trace.isEmpty ? nil : Self.traceLimit)
    options.memorySharers = run.sources.count
    options.label = label
    return options
  }

  /// Slices kept per thread for a trace. Larger: covers more time; each costs 32 bytes of memory and some 140
  /// bytes of file. 65,536 take 2 MB and 9 MB, and cover a minute of a lane with 36 steps at 30 frames/s.
  public static let traceLimit = 65_536
}

/// All of one source, ready to start.
public final class MadePipeline {
  public let label: String
  public let pipeline: Pipeline
  public let engine: Engine
  /// What further sinks of the run are made with.
  public let request: OutputRequest
  /// Make digests of the run, if any are asked for.
  public let digests: [ChecksumSink]
  /// Write stills.
  public let stills: [StillSink]
  /// Show pictures to who watches.
  public let pages: [PageSink]
  /// The condition of a movie that is recorded while it holds.
  public let condition: Condition?

  struct Sinks {
    var sinks: [any Sink] = []
    var condition: Condition?
  }

  init(
    label: String, pipeline: Pipeline, engine: Engine, request: OutputRequest, _ made: Sinks
  ) {
    (self.label, self.pipeline, self.engine) = (label, pipeline, engine)
    self.request = request
    digests = made.sinks.compactMap { $0 as? ChecksumSink }
    stills = made.sinks.compactMap { $0 as? StillSink }
    pages = made.sinks.compactMap { $0 as? PageSink }
    condition = made.condition
  }

  /// Tells of each frame whether a condition holds.
  public final class Condition: Sendable {
    /// How long what it begins goes on after it.
    public let keep: Duration
    private let body = Locked<(@Sendable (Bool, FrameRecord) -> Void)?>(nil)

    init(keep: Duration) { self.keep = keep }

    /// Calls `body` for each frame from now on, on a thread of the run.
    public func connect(_ body: @escaping @Sendable (_ holds: Bool, FrameRecord) -> Void) {
      self.body.withLock { $0 = body }
    }

    func note(_ holds: Bool, _ record: FrameRecord) { body.withLock { $0 }?(holds, record) }
  }

  /// Ends a run when its condition holds.
  final class End: Sendable {
    private let action = Locked<(@Sendable () -> Void)?>(nil)

    func connect(_ engine: Engine) { action.withLock { $0 = { [weak engine] in engine?.end() } } }

    func come() { action.withLock { $0 }?() }
  }
}
