public import Sprocket

extension Run.Source {
  /// Does something for the source. Its label stands before errors, where there are several sources.
  public func naming<Result>(
    in run: Run, _ body: () throws(RunError) -> Result
  ) throws(RunError) -> Result {
    do throws(RunError) {
      return try body()
    } catch {
      if run.sources.count == 1 { throw error }
      throw RunError(error.code, "\(label): \(error.description)", error.settings)
    }
  }
}

extension Run {
  /// The run with all that was left open: what `auto` stands for on this machine and beside other settings,
  /// and labels in the names of files that are written.
  public var resolved: Run {
    var run = self
    let count = sources.count
    for index in run.sources.indices {
      let label = run.sources[index].label
      run.sources[index].pipeline.resolve(run.settings)
      run.sources[index].pipeline.changeSettings { $0.fill("source", with: label) }
    }
    if count > 1 {
      run.settings.workers = settings.workers ?? max(1, processorCount() / count)
      run.settings.memory = settings.memory.map { ByteCount($0.bytes / count) }
    }
    return run
  }

  /// The dumps that several sources share: by their paths, the numbers of their sources.
  var sharedDumps: [String: [Int]] {
    var owners: [String: [Int]] = [:]
    for (index, source) in sources.enumerated() {
      let paths = source.pipeline.outputs.compactMap { $0[DumpSettings.self]?.path.path }
      for path in Set(paths) { owners[path, default: []].append(index) }
    }
    return owners.filter { $0.value.count > 1 }
  }
}

extension Pipeline {
  /// The source of a run that names none: the first camera. A machine without one refuses the run.
  public static let usualSource = Part(CameraSource.kind)

  /// The settings of the movie that is recorded while a condition holds.
  var conditionalMovie: MovieSettings? { askedMovie.flatMap { $0.when.isEmpty ? nil : $0 } }

  /// The settings of the movie that is recorded on request, on a condition, or with limits; else the first.
  public var askedMovie: MovieSettings? {
    let movies = outputs.filter { $0.kind == MovieSink.kind.name }
    return (movies.first(where: \.isAsked) ?? movies.first)?[MovieSettings.self]
  }

  fileprivate mutating func resolve(_ settings: RunSettings) {
    var source = source ?? Self.usualSource
    // A scene that is asked for a number of frames has no reason to take its time; a camera has, and who
    // watches.
    let isCamera = outputs.contains {
      [VirtualSink.kind.name, PageSink.kind.name].contains($0.kind)
    }
    if source.settings.text(of: "pace") == "auto" {
      let isFast = source.kind == SceneSource.kind.name && settings.frames != nil
      let pace: SourcePace? = isCamera ? .real : isFast ? .fast : nil
      if let pace { try? source.settings.set("pace", to: pace.settingText) }
    }
    let records = outputs.contains {
      [MovieSink.kind.name, StillSink.kind.name, DumpSink.kind.name].contains($0.kind)
    }
    if var camera = source[CameraSettings.self], camera.replug == nil,
      records || !sound.files.path.isEmpty
    {
      camera.replug = CameraSettings.longestReplug
      source[CameraSettings.self] = camera
    }
    self.source = source
  }
}
