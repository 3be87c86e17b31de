internal import Sprocket

extension Run {
  /// Returns the names of all files that the run reads or writes. The run must be ``resolved``.
  public var fileNames: [String] { RunFiles(self).files.map(\.name) }

  /// Returns the names of all files that the run writes. The run must be ``resolved``.
  public var writtenNames: [String] { RunFiles(self).files.filter(\.isWritten).map(\.name) }
}

/// The files that a run reads and writes.
struct RunFiles {
  struct File {
    /// The source's number.
    let source: Int
    let path: SettingPath
    let use: FileUse
    let name: String
    /// The kind of the part, if it is one.
    let kind: String?

    var isWritten: Bool { use != .read }

    /// The folder into which stills of that name are written.
    var folder: String { StillSink.folder(of: name) }
  }

  /// Files of one name for all sources stand once.
  private(set) var files: [File] = []
  private let sources: [Run.Source]

  /// Collects the files of a run, which must be ``Run/resolved``.
  init(_ run: Run) {
    sources = run.sources
    let hasSharedDump = run.sharedDump != nil
    for (index, source) in run.sources.enumerated() {
      let pipeline = source.pipeline
      add(pipeline.source, .source, index)
      for part in pipeline.sound.microphones { add(part, .microphone, index) }
      for part in pipeline.stages { add(part, .stage, index) }
      for part in pipeline.outputs {
        let isShared = hasSharedDump && part.id == DumpSink.kind.name && index > 0
        if !isShared { add(part, .output, index) }
      }
      add(pipeline.sound.files, index) { SettingPath("sound", $0) }
      add(pipeline.asking, index) { SettingPath($0) }
    }
    add(run.settings, 0) { SettingPath($0) }
    for name in run.origins {
      let path = SettingPath("pipeline")
      files.append(File(source: 0, path: path, use: .read, name: name, kind: nil))
    }
  }

  private mutating func add(_ part: Part?, _ role: Kinds.Role, _ source: Int) {
    guard let part else { return }
    add(part.settings, source, of: part.kind) { role.path(part.id, $0) }
  }

  private mutating func add(
    _ settings: any KindSettings, _ source: Int, of kind: String? = nil,
    at path: (String) -> SettingPath
  ) {
    for (setting, use, name) in settings.files {
      // The sound of a film that is the source, and what several parts read.
      let file = File(source: source, path: path(setting), use: use, name: name, kind: kind)
      if use == .read, files.contains(where: { $0.use == .read && $0.name == name }) { continue }
      files.append(file)
    }
  }

  /// Throws if two parts of a run name the same file, or one names the partial file of the other: one would
  /// destroy what the other writes or reads. Throws where several write to standard output, or it is closed.
  func check(isOutputClosed: Bool) throws(RunError) {
    for source in sources {
      if let part = source.pipeline.source,
        [FileSource.kind.name, ReplaySource.kind.name].contains(part.kind),
        let path = part.settings.files.first(where: { $0.setting == "path" })?.path
      {
        try FileIdentity.refuseDevice(path)
      }
    }
    try checkStandardOutput(isOutputClosed)
    var known: [String: (index: Int, file: File)] = [:]
    for (index, file) in files.enumerated() where !FileIdentity.isStandardOutput(file.name) {
      if file.use == .folder {
        // Files of other names may lie in a folder.
        let identity = FileIdentity.folderIdentity(file.folder)
        let other = known.updateValue((index, file), forKey: identity)
        if let other { throw Self.clash(other.file, file, isPartial: false) }
        continue
      }
      guard let resolved = FileIdentity.resolved(file: file.name) else { continue }
      let partial = file.isWritten ? [(OutputFile.partialPath(of: resolved), true)] : []
      for (name, isPartial) in [(resolved, false)] + partial {
        let other = known.updateValue((index, file), forKey: FileIdentity.identity(name))
        guard let other, other.index != index, other.file.isWritten || file.isWritten else {
          continue
        }
        throw Self.clash(other.file, file, isPartial: isPartial)
      }
      try checkFolders(file, resolved)
    }
  }

  private static func clash(_ one: File, _ other: File, isPartial: Bool) -> RunError {
    guard
      one.name == other.name || one.use == .folder || other.use == .folder
        || !isPartial && FileIdentity.isSame(one.name, other.name)
    else {
      return RunError(
        .usage,
        "\(one.name) and \(other.name): one of them is the name of the partial file that the other writes "
          + "first; choose another name", [one.path, other.path])
    }
    if one.path == other.path {
      return RunError(
        .usage, "\(other.name) is of several sources; put {source} into its name", [one.path])
    }
    return RunError(
      .usage, "two parts of the run name the same file, \(other.name); give each its own",
      [one.path, other.path])
  }

  private func checkStandardOutput(_ isClosed: Bool) throws(RunError) {
    var writers = files.filter { $0.isWritten && FileIdentity.isStandardOutput($0.name) }
      .map(\.path)
    if let unfit = files.first(where: {
      $0.name == "-" && ($0.use == .folder || $0.kind == DumpSink.kind.name)
    }) {
      throw RunError(
        .usage, "cannot go to standard output; give a name (./- is a file of that name)",
        [unfit.path])
    }
    for source in sources {
      writers += source.pipeline.outputs.filter { $0.kind == PipeSink.kind.name }
        .map { Kinds.Role.output.path($0.id, nil) }
    }
    if writers.count > 1 {
      throw RunError(
        .usage, "two outputs write to standard output; give one of them a file", writers)
    }
    if isClosed, let writer = writers.first {
      throw RunError(
        .usage, "standard output is closed; send it to a file or pipe", [writer])
    }
  }

  /// Throws if a file's name is one that stills or a movie may choose for their own files.
  private func checkFolders(_ file: File, _ resolved: String) throws(RunError) {
    let (folder, name) = FileIdentity.parts(resolved)
    for part in sources.flatMap(\.pipeline.outputs) {
      if let stills = part[StillSettings.self]?.path.settingText, StillSink.isStill(name),
        FileIdentity.identity(StillSink.folder(of: stills)) == FileIdentity.identity(folder)
      {
        throw RunError(
          .usage,
          "\(file.name) is a still of the folder \(stills), which would be replaced; choose another folder",
          [file.path, Kinds.Role.output.path(part.id, nil)])
      }
      if let movie = part[MovieSettings.self]?.path.path, movie != file.name,
        let target = FileIdentity.resolved(file: movie), MovieSink.mayContinue(target, in: name),
        FileIdentity.identity(folder) == FileIdentity.identity(FileIdentity.parts(target).folder)
      {
        throw RunError(
          .usage,
          "\(file.name) has a name in which \(movie) goes on where the format changes; choose another name",
          [file.path, Kinds.Role.output.path(part.id, nil)])
      }
    }
  }
}
