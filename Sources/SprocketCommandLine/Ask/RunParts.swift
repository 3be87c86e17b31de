internal import Sprocket

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

  private let registry: Registry
  private let outputs: OutputRequests
  private struct State {
    var source: SourceText
    /// Files that the run reads or writes, by the sink's name; those of the run's start have none.
    var paths: [(sink: String?, path: String)]
    /// A change is under way.
    var isBusy = false
  }
  private let state: Locked<State>

  /// `paths` are files that the run writes, beside those of its source.
  init(_ registry: Registry, outputs: OutputRequests, source: SourceText, paths: [String]) {
    self.registry = registry
    self.outputs = outputs
    let own = Self.files(of: source).map { (Self.sourceKey, $0) }
    state = Locked(State(source: source, paths: paths.map { (nil, $0) } + own))
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
    change.source = try source?.make(registry)
    // Another source, and settings that are given, have values of their own.
    let names = engine.description.controls?.controls.map(\.name) ?? []
    change.keepsControls =
      texts.source == nil && !names.contains { texts.sourceSettings?[$0] != nil }
    if let stages = texts.stages {
      var choices: [StageChoice] = []
      for text in stages { choices.append(try registry.choice(text)) }
      change.stages = choices
    }
    guard
      change.source != nil || change.stages != nil || !texts.attached.isEmpty
        || !texts.detached.isEmpty
    else {
      throw RunError(.usage, "nothing is to change; name a source, its format, stages or sinks")
    }
    var paths: [(sink: String?, path: String)] = []
    for path in source.map({ Self.files(of: $0) }) ?? [] {
      if texts.source != nil || texts.sourceSettings != nil {
        try RunCommand.refuseDescriptor(path, "source")
      }
      guard texts.source != nil else { continue }
      try refuse(path, "source", among: [], isSource: true)
    }
    for text in texts.attached {
      let choice = try registry.sink(text)
      try check(choice, beside: paths.map(\.path))
      change.attached.append(try choice.make(outputs))
      if let path = choice.path { paths.append((choice.kind.name, path)) }
    }
    change.detached = texts.detached
    if let source { paths += Self.files(of: source).map { (Self.sourceKey, $0) } }
    try engine.reconfigure(change)
    state.withLock { [paths] state in
      if let source { state.source = source }
      state.paths.removeAll { path in
        path.sink.map { texts.detached.contains($0) || source != nil && $0 == Self.sourceKey }
          ?? false
      }
      state.paths += paths
    }
  }

  /// In place of a sink's name: the files of the source.
  private static let sourceKey = "source"

  /// Files that a source reads or writes.
  private static func files(of source: SourceText) -> [String] {
    [RunCommand.path(ofSource: source.name), source.values["truth"]].compactMap(\.self)
  }

  /// The source after the change; `nil` if it stays.
  private func source(_ texts: Texts) throws(RunError) -> SourceText? {
    let isFormat = texts.format != nil || texts.size != nil || texts.rate != nil
    guard texts.source != nil || texts.sourceSettings != nil || isFormat else { return nil }
    var source = state.withLock(\.source)
    if let name = texts.source {
      // Another source begins with its own defaults.
      source = SourceText(name: name, values: [:], request: FormatRequest())
      if let path = RunCommand.path(ofSource: name) {
        try RunCommand.refuseDevice(asSource: path)
      }
    }
    source.values.merge(texts.sourceSettings ?? [:]) { $1 }
    if let format = texts.format { source.request.format = try PixelFormat(option: format) }
    if let size = texts.size {
      guard let found = try? FrameSize.parse(size) else {
        throw RunError(.usage, "size: give WIDTHxHEIGHT, such as 1280x720")
      }
      source.request.size = (found.width, found.height)
    }
    if let rate = texts.rate {
      guard rate > 0, rate <= 1000 else {
        throw RunError(.usage, "rate: give frames/s, above 0 and at most 1000")
      }
      source.request.rate = FrameRate(framesPerSecond: rate)
    }
    return source
  }

  /// Throws if the sink would write to standard output, or into a file that the run reads or writes.
  private func check(_ choice: SinkChoice, beside new: [String]) throws(RunError) {
    let isPipe = choice.kind.name == PipeSink.kind.name
    if isPipe || choice.path.map(RunCommand.isStandardOutput) == true {
      throw RunError(
        .usage, "\(choice.kind.name) cannot take standard output of a run that goes on; give a file"
      )
    }
    if choice.kind.name == ChecksumSink.kind.name, choice.path == nil {
      throw RunError(
        .usage,
        "checksum: give a file for the frames' digests, checksum:PATH; the digest of a whole run "
          + "is of all its frames")
    }
    guard let path = choice.path else { return }
    try RunCommand.refuseDescriptor(path, choice.kind.name)
    try refuse(path, choice.kind.name, among: new)
  }

  /// A source may read what the source before it read.
  private func refuse(
    _ path: String, _ what: String, among new: [String], isSource: Bool = false
  ) throws(RunError) {
    let paths = state.withLock(\.paths).filter { !isSource || $0.sink != Self.sourceKey }
    let known = paths.map(\.path) + new
    guard known.contains(where: { RunCommand.isSame($0, path) }) else { return }
    throw RunError(.usage, "\(what): this run reads or writes \(path) already; give another file")
  }
}
