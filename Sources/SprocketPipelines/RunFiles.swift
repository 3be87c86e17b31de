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
    let shared = run.sharedDumps
    for (index, source) in run.sources.enumerated() {
      let pipeline = source.pipeline
      add(pipeline.source, .source, index)
      for part in pipeline.sound.microphones { add(part, .microphone, index) }
      for part in pipeline.stages { add(part, .stage, index) }
      for part in pipeline.outputs {
        // A dump that sources share is the first one's.
        let owners = part[DumpSettings.self].flatMap { shared[$0.path.path] }
        if owners?.first ?? index == index { add(part, .output, index) }
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

  /// Errors where two parts of a run name the same file, or one names the partial file of the other: one
  /// would destroy what the other writes or reads; and where several write to standard output, or it is
  /// closed.
  func errors(isOutputClosed: Bool) -> [RunError] {
    var errors: [RunError] = []
    for part in sources.compactMap(\.pipeline.source)
    where [FileSource.kind.name, ReplaySource.kind.name].contains(part.kind) {
      guard let path = part.settings.files.first(where: { $0.setting == "path" })?.path else {
        continue
      }
      errors += RunError.thrown { () throws(RunError) in try FileIdentity.refuseDevice(path) }
    }
    errors += outputErrors(isOutputClosed)
    var known: [String: (index: Int, file: File)] = [:]
    for (index, file) in files.enumerated() where !FileIdentity.isStandardOutput(file.name) {
      /// Notes the name; an error if another part has it.
      func clash(_ identity: String, isPartial: Bool) -> RunError? {
        guard let other = known.updateValue((index, file), forKey: identity), other.index != index,
          other.file.isWritten || file.isWritten
        else { return nil }
        return Self.clash(other.file, file, isPartial: isPartial)
      }
      if file.use == .folder {
        // Files of other names may lie in a folder.
        let identity = FileIdentity.folderIdentity(file.folder)
        errors += [clash(identity, isPartial: false)].compactMap(\.self)
        continue
      }
      guard let resolved = FileIdentity.resolved(file: file.name) else { continue }
      let partial = file.isWritten ? OutputFile.partialPath(of: resolved) : nil
      errors += [
        clash(FileIdentity.identity(resolved), isPartial: false),
        partial.flatMap { clash(FileIdentity.identity($0), isPartial: true) },
      ].compactMap(\.self)
      errors += folderErrors(file, resolved)
    }
    return errors
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
    if one.use == .read || other.use == .read {
      return RunError(
        .usage,
        "\(other.name) is read and cannot be replaced by what is made of it; give the output another name",
        [one.path, other.path])
    }
    return RunError(
      .usage, "two parts of the run name the same file, \(other.name); give each its own",
      [one.path, other.path])
  }

  private func outputErrors(_ isClosed: Bool) -> [RunError] {
    var errors = files.filter {
      $0.name == "-" && ($0.use == .folder || $0.kind == DumpSink.kind.name)
    }.map {
      RunError(
        .usage, "cannot go to standard output; give a name (./- is a file of that name)", [$0.path])
    }
    var writers = files.filter { $0.isWritten && FileIdentity.isStandardOutput($0.name) }
      .map(\.path)
    for source in sources {
      writers += source.pipeline.outputs.filter { $0.kind == PipeSink.kind.name }
        .map { Kinds.Role.output.path($0.id, nil) }
    }
    if writers.count > 1 {
      errors.append(
        RunError(.usage, "two outputs write to standard output; give one of them a file", writers))
    } else if isClosed, let writer = writers.first {
      errors.append(
        RunError(.usage, "standard output is closed; send it to a file or pipe", [writer]))
    }
    return errors
  }

  /// Errors if a file's name is one that stills or a movie may choose for their own files.
  private func folderErrors(_ file: File, _ resolved: String) -> [RunError] {
    let (folder, name) = FileIdentity.parts(resolved)
    var errors: [RunError] = []
    for part in sources.flatMap(\.pipeline.outputs) {
      let output = Kinds.Role.output.path(part.id, nil)
      if let stills = part[StillSettings.self]?.path.settingText, StillSink.isStill(name),
        FileIdentity.identity(StillSink.folder(of: stills)) == FileIdentity.identity(folder)
      {
        errors.note(
          "\(file.name) is a still of the folder \(stills), which would be replaced; choose another folder",
          file.path, output)
      }
      if let movie = part[MovieSettings.self]?.path.path, movie != file.name,
        !FileIdentity.isStandardOutput(movie),
        let target = FileIdentity.resolved(file: movie), MovieSink.mayContinue(target, in: name),
        FileIdentity.identity(folder) == FileIdentity.identity(FileIdentity.parts(target).folder)
      {
        errors.note(
          "\(file.name) has a name in which \(movie) goes on where the format changes; choose another name",
          file.path, output)
      }
    }
    return errors
  }
}
