internal import Sprocket
internal import SprocketPipelines

/// The pipeline of a run as it is now, and its changes.
final class RunParts: Sendable {
  let kinds: Kinds
  private let request: OutputRequest
  /// The run as it was made, and which of its sources this one is.
  private let run: Run
  private let index: Int
  private var label: String { run.sources[index].label }
  private struct State {
    var pipeline: Pipeline
    /// Files that the run has read or written since its start, without those of the source.
    var files: [String]
    /// A change is under way.
    var isBusy = false
  }
  private let state: Locked<State>

  init(_ kinds: Kinds, _ made: MadePipeline, of run: Run) {
    self.kinds = kinds
    (request, self.run) = (made.request, run)
    index = run.sources.firstIndex { $0.label == made.label } ?? 0
    note =
      run.sources.count == 1
      ? nil
      : "this socket is \(made.label)'s; what the description says of other sources was not looked at"
    let own = made.pipeline.source?.settings.files.map(\.path) ?? []
    state = Locked(
      State(
        pipeline: made.pipeline.withOutput,
        files: run.fileNames.filter { !own.contains($0) }))
  }

  /// What a client should know of a description that it gave: `nil` where the run has one source.
  let note: String?

  /// The pipeline that the run has now. Its stages may have other live settings.
  var pipeline: Pipeline { state.withLock(\.pipeline) }

  /// The pipeline of a description that is to replace this one.
  func pipeline(of description: Run) throws(RunError) -> Pipeline {
    try description.check()
    let new = description.resolved
    var settings = run.settings
    settings.moveFiles(to: workingFolder())
    // What nobody chose may follow from the number of sources.
    let chosen = description.settings.chosen.map(\.name)
    let other = new.settings.change(of: "run", since: settings).names.first {
      $0 != "overwrite" && (chosen.contains($0) || !["workers", "memory"].contains($0))
    }
    if let other {
      throw RunError(
        .usage, "cannot change while the run goes on; leave it as it is, or start another run",
        change: SettingPath(other))
    }
    let mine = new.sources.count == 1 ? new.sources.first : new.sources.first { $0.label == label }
    guard let mine else {
      throw RunError(.usage, "the description has no source \(label); name the source so")
    }
    return mine.pipeline
  }

  /// Changes the run; throws if it stays as it was. Returns controls of the source that are to be written.
  func change(
    _ engine: Engine, _ wish: PipelineWish, by client: RequestHolder
  ) throws(RunError) -> [ControlWish] {
    let isFree = state.withLock { state in
      defer { state.isBusy = true }
      return !state.isBusy
    }
    guard isFree else {
      throw RunError(.failed, "the run is being changed already; ask again when that is done")
    }
    defer { state.withLock { $0.isBusy = false } }
    var now = pipeline
    now.stages = engine.chain.map { Part($0.plugin.name, $0.settings) }
    now = now.placed(in: workingFolder(), label: label)
    let new = try wish.applied(to: now).placed(in: workingFolder(), label: label).withOutput
    let change = try PipelineChange(
      from: now, to: new, anew: Set(wish.detached), isNewSource: wish.source != nil)
    try check(change, beside: now, isOtherSource: wish.source != nil)
    try check(new)
    let controls = wish.whole == nil ? [] : new.controls
    if change.source == nil { try engine.check(controls: controls) }
    var shape = Reconfiguration()
    if let source = change.source { shape.source = try kinds.make(source, new.format) }
    shape.keepsControls = keepsControls(from: now, to: new, wish, engine)
    shape.stages = try change.stages?.map { (part) throws(RunError) in try kinds.choice(part) }
    shape.attached = try change.attached.map { (part) throws(RunError) in
      try kinds.make(part, request)
    }
    shape.detached = change.detached
    for settings in change.settings { _ = try engine.set(settings, at: .now, by: client) }
    if change.isOfShape { try engine.reconfigure(shape) }
    state.withLock { state in
      state.pipeline = new
      state.files += change.attached.flatMap { $0.settings.files.map(\.path) }
    }
    // A movie that is not on demand begins its recording at once, which it also does at the run's start.
    for part in change.attached where part[MovieSettings.self]?.recordsAtOnce ?? false {
      try engine.ask([.record(sink: part.id)])
    }
    return controls
  }

  /// Whether controls keep the values that they have now: those of the same kind of source, where no setting
  /// that is a control is given.
  private func keepsControls(
    from now: Pipeline, to new: Pipeline, _ wish: PipelineWish, _ engine: Engine
  ) -> Bool {
    guard wish.source == nil, let before = now.source, let after = new.source,
      before.kind == after.kind
    else { return false }
    let given =
      after.settings.change(of: after.kind, since: before.settings).names
      + (wish.sourceSettings?.names ?? [])
    let names = engine.description.controls?.controls.map(\.name) ?? []
    return !names.contains(where: given.contains)
  }

  /// Throws for what `sprocket check` would find in the run that a change comes to.
  private func check(_ new: Pipeline) throws(RunError) {
    var run = run
    run.sources[index].pipeline = new
    if let error = run.errors(kinds).first?.error { throw error }
  }

  /// Throws if an output would write to standard output, or into a file that the run reads or writes.
  private func check(
    _ change: PipelineChange, beside now: Pipeline, isOtherSource: Bool
  ) throws(RunError) {
    var known = state.withLock(\.files)
    // Files that are numbered go on being so, in the same folder, too.
    for part in now.outputs where change.detached.contains(part.id) {
      for file in part.settings.files where file.use == .folder || part.isNumbered {
        known.removeAll { $0 == file.path }
      }
    }
    let read = now.source?.settings.files.map(\.path) ?? []
    for file in change.source?.settings.files ?? []
    where isOtherSource || !read.contains(file.path) {
      if file.use == .read { try FileIdentity.refuseDevice(file.path) }
      try FileIdentity.refuseDescriptor(file.path, "source")
      try refuse(file.path, "source", among: known)
      known.append(file.path)
    }
    known += read
    for part in change.attached {
      if let movie = part[MovieSettings.self], !movie.when.isEmpty {
        throw RunError(
          .usage,
          "\(part.id): a condition is watched from the run's start on; start a run with it, or leave out "
            + "record-when and ask for recordings")
      }
      let paths = part.settings.files.map(\.path)
      if part.kind == PipeSink.kind.name || paths.contains(where: FileIdentity.isStandardOutput) {
        throw RunError(
          .usage, "\(part.kind) cannot take standard output of a run that goes on; give a file")
      }
      if part.kind == ChecksumSink.kind.name, paths.isEmpty {
        throw RunError(
          .usage,
          "checksum: give a file for the frames' digests, checksum:PATH; the digest of a whole run "
            + "is of all its frames")
      }
      for path in paths {
        try FileIdentity.refuseDescriptor(path, part.kind)
        try refuse(path, part.kind, among: known)
      }
      known += paths
    }
  }

  private func refuse(_ path: String, _ what: String, among known: [String]) throws(RunError) {
    guard known.contains(where: { FileIdentity.isSame($0, path) }) else { return }
    throw RunError(
      .usage,
      "\(what): this run reads or writes \(path) already; give another file"
        + (what == MovieSink.kind.name ? ", or a name with {n}" : ""))
  }
}

extension Pipeline {
  /// A run without an output counts its frames.
  fileprivate var withOutput: Pipeline {
    var pipeline = self
    if outputs.isEmpty { pipeline.outputs = [Part(NullSink.kind)] }
    return pipeline
  }
}

extension Part {
  /// Whether its files have numbers, so that none takes the place of another.
  fileprivate var isNumbered: Bool {
    self[MovieSettings.self]?.path.places.contains("n") ?? false
  }
}
