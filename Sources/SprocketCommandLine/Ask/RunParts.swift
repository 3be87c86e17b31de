internal import Sprocket
internal import SprocketPipelines

/// Makes sources, stages and sinks for a change of a run, from texts as on the command line.
final class RunParts: Sendable {
  /// A change as texts; `nil` and empty lists change nothing.
  struct Texts {
    var source: String?
    var sourceSettings: [String: String]?
    var format, size: String?
    var rate: Double?
    var stages: [String]?
    var attached: [String] = []
    var detached: [String] = []
  }

  private let kinds: Kinds
  private let request: OutputRequest
  /// The label of the source, for which `{source}` in names stands.
  private let label: String
  private struct State {
    var source: Part
    var format: SourceFormat
    /// Files that the run reads or writes, by the sink's name; those of the run's start have none.
    var paths: [(sink: String?, path: String)]
    /// A change is under way.
    var isBusy = false
  }
  private let state: Locked<State>

  init(_ kinds: Kinds, _ made: MadePipeline, of run: Run) {
    self.kinds = kinds
    (request, label) = (made.request, made.label)
    let source = made.pipeline.source ?? Pipeline.usualSource
    let own = source.settings.files.map { (Optional(Self.sourceKey), $0.path) }
    let others = run.fileNames.filter { name in !own.contains { $0.1 == name } }
    state = Locked(
      State(
        source: source, format: made.pipeline.format, paths: others.map { (nil, $0) } + own))
  }

  /// Changes the run; throws if it stays as it was.
  func change(_ engine: Engine, _ texts: Texts) throws(RunError) {
    let isFree = state.withLock { state in
      defer { state.isBusy = true }
      return !state.isBusy
    }
    guard isFree else {
      throw RunError(.failed, "the run is being changed already; ask again when that is done")
    }
    defer { state.withLock { $0.isBusy = false } }
    var change = Reconfiguration()
    let source = try source(texts)
    change.source = try source.map { (part, format) throws(RunError) in
      try kinds.make(part, format)
    }
    // Another source, and settings that are given, have values of their own.
    let names = engine.description.controls?.controls.map(\.name) ?? []
    change.keepsControls =
      texts.source == nil && !names.contains { texts.sourceSettings?[$0] != nil }
    change.stages = try texts.stages?.map { (text) throws(RunError) in
      try kinds.choice(kinds.stage(text))
    }
    guard
      change.source != nil || change.stages != nil || !texts.attached.isEmpty
        || !texts.detached.isEmpty
    else {
      throw RunError(.usage, "nothing is to change; name a source, its format, stages or sinks")
    }
    let read = source?.part.settings.files.map(\.path) ?? []
    for path in read {
      if texts.source != nil || texts.sourceSettings != nil {
        try FileIdentity.refuseDescriptor(path, "source")
      }
      if texts.source != nil { try refuse(path, "source", among: [], isSource: true) }
    }
    var paths: [(sink: String?, path: String)] = []
    for text in texts.attached {
      var part = try kinds.sink(text)
      part.settings.fill("source", with: label)
      try check(part, beside: paths.map(\.path))
      change.attached.append(try kinds.make(part, request))
      paths += part.settings.files.map { (part.kind, $0.path) }
    }
    change.detached = texts.detached
    paths += read.map { (Self.sourceKey, $0) }
    try engine.reconfigure(change)
    state.withLock { [paths] state in
      if let source { (state.source, state.format) = source }
      state.paths.removeAll { path in
        path.sink.map { texts.detached.contains($0) || source != nil && $0 == Self.sourceKey }
          ?? false
      }
      state.paths += paths
    }
  }

  /// In place of a sink's name: the files of the source.
  private static let sourceKey = "source"

  /// The source after the change; `nil` if it stays.
  private func source(_ texts: Texts) throws(RunError) -> (part: Part, format: SourceFormat)? {
    let isFormat = texts.format != nil || texts.size != nil || texts.rate != nil
    guard texts.source != nil || texts.sourceSettings != nil || isFormat else { return nil }
    var (part, format) = state.withLock { ($0.source, $0.format) }
    if let name = texts.source {
      // Another source begins with its own defaults.
      (part, format) = (try kinds.source(name), SourceFormat())
      for file in part.settings.files where file.use == .read {
        try FileIdentity.refuseDevice(file.path)
      }
    }
    part.settings = try kinds.kind(part.kind, .source).settings(
      texts.sourceSettings ?? [:], from: part.settings)
    if let text = texts.format { format.format = try PixelFormat(option: text) }
    if let size = texts.size {
      guard let found = FrameSize(settingText: size) else {
        throw RunError(.usage, "size: give WIDTHxHEIGHT, such as 1280x720")
      }
      format.size = found
    }
    if let rate = texts.rate {
      guard rate > 0, rate <= 1000 else {
        throw RunError(.usage, "rate: give frames/s, above 0 and at most 1000")
      }
      format.rate = FrameRate(framesPerSecond: rate)
    }
    return (part, format)
  }

  /// Throws if the sink would write to standard output, or into a file that the run reads or writes.
  private func check(_ part: Part, beside new: [String]) throws(RunError) {
    let files = part.settings.files.map(\.path)
    if part.kind == PipeSink.kind.name || files.contains(where: FileIdentity.isStandardOutput) {
      throw RunError(
        .usage, "\(part.kind) cannot take standard output of a run that goes on; give a file")
    }
    if part.kind == ChecksumSink.kind.name, files.isEmpty {
      throw RunError(
        .usage,
        "checksum: give a file for the frames' digests, checksum:PATH; the digest of a whole run "
          + "is of all its frames")
    }
    for path in files {
      try FileIdentity.refuseDescriptor(path, part.kind)
      try refuse(path, part.kind, among: new)
    }
  }

  /// A source may read what the source before it read.
  private func refuse(
    _ path: String, _ what: String, among new: [String], isSource: Bool = false
  ) throws(RunError) {
    let paths = state.withLock(\.paths).filter { !isSource || $0.sink != Self.sourceKey }
    let known = paths.map(\.path) + new
    guard known.contains(where: { FileIdentity.isSame($0, path) }) else { return }
    throw RunError(.usage, "\(what): this run reads or writes \(path) already; give another file")
  }
}
