internal import Glibc
internal import Sprocket

extension RunCommand {
  /// Throws if two options, or those of two sources, name the same file, or one names the partial file of the
  /// other: one would destroy what the other writes or reads. Throws where several write to standard output,
  /// or it is closed.
  static func checkFiles(
    _ parts: [RunPart], _ sinks: [[SinkChoice]], isClosed: Bool
  ) throws(RunError) {
    var files: [(part: Int, option: String, path: String)] = []
    for (index, (part, sinks)) in zip(parts, sinks).enumerated() {
      let command = part.command
      if let path = command.sourcePath { try refuseDevice(asSource: path) }
      // Sources may read the same file, and write one summary, trace and dump.
      files += command.paths(sinks).filter { option, path in
        !files.contains {
          $0.part != index && $0.option == option && $0.path == path
            && (!isWritten(option) || sharedFiles.contains(option))
        }
      }.map { (index, $0.option, $0.path) }
    }
    let pipes = sinks.joined().filter { $0.kind.name == PipeSink.kind.name }
    try checkStandardOutput(
      pipes.map { "\($0.option) \($0.argument)" }
        + files.filter { isWritten($0.option) && isStandardOutput($0.path) }
        .map { "\($0.option) \($0.path)" }, isClosed: isClosed)
    try checkPaths(files.map { ($0.option, $0.path) }, sinks)
  }

  /// Each of these options names one file for all sources of a run.
  private static let sharedFiles = ["--summary", "--trace", "--dump", "--pairs"]

  private static func checkPaths(
    _ files: [(option: String, path: String)], _ sinks: [[SinkChoice]]
  ) throws(RunError) {
    var options: [String: (index: Int, option: String, path: String)] = [:]
    for (index, (option, path)) in files.enumerated() where !isStandardOutput(path) {
      guard let file = resolved(file: path) else { continue }
      let partial = !isWritten(option) ? nil : OutputFile.partialPath(of: file)
      for (name, isPartial) in [(file, false)] + (partial.map { [($0, true)] } ?? []) {
        let other = options.updateValue((index, option, path), forKey: identity(name))
        guard let other, other.index != index, isWritten(other.option) || isWritten(option) else {
          continue
        }
        throw RunError(
          .usage,
          other.path == path || (!isPartial && isSame(other.path, path))
            ? (other.option == option
              ? "\(option) \(path) is of several sources; put \(Self.place) into its name"
              : "\(other.option) and \(option) name the same file, \(path); give each its own")
            : "\(other.option) \(other.path) and \(option) \(path): one of them is the name of the "
              + "partial file that the other writes first; choose another name")
      }
      for sinks in sinks { try checkFolders(option, path, file, sinks) }
    }
  }

  private static func checkStandardOutput(
    _ writers: [String], isClosed: Bool
  ) throws(RunError) {
    if writers.count > 1 {
      throw RunError(
        .usage,
        "\(writers[0]) and \(writers[1]) both write to standard output; give one of them a file")
    }
    if isClosed, let writer = writers.first {
      throw RunError(
        .usage, "\(writer) writes to standard output, which is closed; send it to a file or pipe")
    }
  }

  /// Whether a path names an open descriptor of this or another process, directly or through links.
  static func isDescriptor(_ path: String) -> Bool {
    var path = path
    // The kernel follows at most 40 links, too.
    for _ in 0..<40 {
      let slash = path.lastIndex(of: "/")
      let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
      let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
      let folder = PartialFile.target(of: parent)
      if folder == "/dev", ["fd", "stdin", "stdout", "stderr"].contains(name) { return true }
      if folder.hasPrefix("/proc/"), folder.split(separator: "/").contains("fd") { return true }
      guard let target = PartialFile.link(at: path) else { return false }
      path = target.hasPrefix("/") ? target : "\(folder)/\(target)"
    }
    return true
  }

  /// Throws where a client of a run names an open descriptor: it could write into a recording.
  static func refuseDescriptor(_ path: String, _ what: String) throws(RunError) {
    guard isDescriptor(path) else { return }
    throw RunError(
      .usage, "\(what): \(path) is an open descriptor of a process; give the path of a file")
  }

  static func isStandardOutput(_ path: String) -> Bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path)
  }

  /// Removes the empty partial files of a run that ends while its files are being opened: only those
  /// that this process has open.
  func removeEmptyFiles(_ registry: Registry) {
    let sinks = (try? sinkChoices(registry)) ?? []
    for (option, path) in paths(sinks) where Self.isWritten(option) && !Self.isStandardOutput(path)
    {
      guard let partial = Self.resolved(file: path).map({ OutputFile.partialPath(of: $0) }) else {
        continue
      }
      var status = stat()
      guard unsafe stat(partial, &status) == 0, status.st_size == 0 else { continue }
      // 1024 is the usual limit of open files (`ulimit -n`).
      let isOpenHere = (Int32(3)..<1024).contains { descriptor in
        var other = stat()
        return unsafe fstat(descriptor, &other) == 0 && other.st_dev == status.st_dev
          && other.st_ino == status.st_ino
      }
      if isOpenHere { _ = unsafe unlink(partial) }
    }
  }

  /// Refuses devices and pipes as a source file: opening a named pipe blocks until a writer opens
  /// it, and the readers of files need to seek.
  static func refuseDevice(asSource path: String) throws(RunError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return }
    if [S_IFIFO, S_IFCHR, S_IFSOCK].contains(status.st_mode & S_IFMT) {
      throw RunError(
        .usage, "--source: \(path) is a device or pipe; save what comes from it and give that file")
    }
  }

  /// Throws if a file's name is one that --stills or --movie may choose for its own files.
  private static func checkFolders(
    _ option: String, _ path: String, _ file: String, _ sinks: [SinkChoice]
  ) throws(RunError) {
    func argument(of kind: SinkKind) -> String? {
      sinks.first { $0.kind.name == kind.name }?.argument
    }
    let (folder, name) = parts(file)
    if let stills = argument(of: StillSink.kind), StillSink.isStill(name),
      identity(stills) == identity(folder)
    {
      throw RunError(
        .usage,
        "\(option) \(path) is a still of the folder of --stills, \(stills), which would be replaced; "
          + "choose another folder")
    }
    if let movie = argument(of: MovieSink.kind), movie != path,
      let target = resolved(file: movie),
      MovieSink.mayContinue(target, in: name),
      identity(folder) == identity(parts(target).folder)
    {
      throw RunError(
        .usage,
        "\(option) \(path) has a name in which --movie \(movie) goes on where the format changes; "
          + "choose another name")
    }
  }

  /// Whether the run writes the file of that option. The others are inputs.
  private static func isWritten(_ option: String) -> Bool {
    option != "--source" && option != "--microphone"
  }

  private var sourcePath: String? { source.first.flatMap(Self.path(ofSource:)) }

  /// Input files of `--microphone`, without the file of `--source`.
  private var soundPaths: [String] {
    sound.microphone.compactMap(Self.path(ofSource:))
      .map { text in
        // Settings follow the name after a comma. A name may contain commas, too.
        var name = text[...]
        while !PartialFile.isFile(String(name)), let comma = name.lastIndex(of: ",") {
          name = name[..<comma]
        }
        return String(name)
      }
      .filter { path in sourcePath.map { !Self.isSame($0, path) } ?? true }
  }

  /// The path in `file:PATH` and `replay:PATH`.
  static func path(ofSource source: String) -> String? {
    ["file:", "replay:"].lazy.compactMap { kind in
      source.hasPrefix(kind) ? String(source.dropFirst(kind.count)) : nil
    }.first
  }

  func paths(_ sinks: [SinkChoice]) -> [(option: String, path: String)] {
    let truth = sourceSet.last { $0.hasPrefix("truth=") }.map { String($0.dropFirst(6)) }
    let named = [
      ("--source", sourcePath), ("--source-set truth", truth),
    ]
    let heard = soundPaths.map { ("--microphone", Optional($0)) }
    let written =
      sinks.map { ($0.option, $0.path) } + [
        ("--summary", summary), ("--trace", trace), ("--pairs", pairing.path),
      ]
      + sound.paths
    return (named + heard + written).compactMap { option, path in path.map { (option, $0) } }
  }

  /// Whether `input` is an existing file with the partial name of `output`.
  static func isPartial(_ input: String, of output: String) -> Bool {
    guard PartialFile.isThere(input), let read = file(input) else { return false }
    return file(OutputFile.partialPath(of: PartialFile.target(of: output))) == read
  }

  /// Device and inode of an existing regular file, else its canonical path. `nil` for devices, pipes and
  /// folders.
  static func file(_ path: String) -> String? { resolved(file: path).map(identity) }

  static func isSame(_ one: String, _ other: String) -> Bool {
    file(one) == file(other)
  }

  /// The folder and the name within.
  private static func parts(_ file: String) -> (folder: String, name: String) {
    guard let slash = file.lastIndex(of: "/") else { return (".", file) }
    let folder = slash == file.startIndex ? "/" : String(file[..<slash])
    return (folder, String(file[file.index(after: slash)...]))
  }

  /// Device and inode of an existing file, else its path.
  /// The corresponding C function is `stat`.
  private static func identity(_ file: String) -> String {
    var status = stat()
    return unsafe stat(file, &status) == 0 ? "\(status.st_dev):\(status.st_ino)" : file
  }

  /// The canonical path of a regular file. `nil` for a device or named pipe, which several options
  /// may write to, and for a path that cannot be opened anyway.
  private static func resolved(file path: String) -> String? {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
      return status.st_mode & S_IFMT == S_IFREG ? resolved(path) : nil
    }
    let slash = path.lastIndex(of: "/")
    let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
    let folder = slash.map { path[...$0] } ?? "."
    return name.isEmpty ? nil : resolved(String(folder)).map { "\($0)/\(name)" }
  }

  /// The corresponding C function is `realpath`.
  private static func resolved(_ path: String) -> String? {
    guard let text = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
