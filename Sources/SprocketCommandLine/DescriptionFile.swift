internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// A file that describes a run, as YAML or JSON.
struct DescriptionFile {
  /// `-` is standard input.
  let path: String

  /// Most bytes that are read: more than a description may have, so that a longer one is refused.
  private static let most = TreeBounds.description.bytes + 1

  /// The run that it describes. Tells all that is wrong in it, and throws the last error.
  func run(_ kinds: Kinds) throws(RunError) -> Run { try read(kinds).run }

  /// The run, and the tree that describes it.
  func read(_ kinds: Kinds) throws(RunError) -> (run: Run, tree: Tree) {
    do throws(DescriptionErrors) {
      let tree = try tree()
      return (try Run(tree, kinds, in: folder), tree)
    } catch {
      throw tell(error.errors)
    }
  }

  /// Tells of all errors but the last one, and returns that.
  func tell(_ errors: [DescriptionError]) -> RunError {
    let sentences = errors.map { "\(path)\($0.mark == nil ? ":" : ",") \($0)" }
    for sentence in sentences.dropLast() { tellError(sentence) }
    return RunError(.usage, sentences.last ?? "\(path) is no description of a run")
  }

  /// The run that wrote this dump or summary.
  func runBefore(_ kinds: Kinds) throws(RunError) -> Run {
    let text: [UInt8]?
    if path.lowercased().hasSuffix(".mcap") {
      text = try MCAPListing.runDescription(path).map { Array($0.utf8) }
    } else {
      text = fileBytes(path, atMost: TreeBounds.summary.bytes)
    }
    let none = RunError(
      .usage,
      "--like \(path): it has no description of a run; give a dump or a summary of Sprocket's")
    guard let text, let tree = try? Tree(json: text, within: .summary) else { throw none }
    // A summary has the description as a part of it.
    guard let described = tree["version"] == nil ? tree["pipeline"] : tree else { throw none }
    do throws(DescriptionErrors) {
      return try Run(described, kinds, in: workingFolder())
    } catch {
      throw RunError(.usage, "--like \(path): \(error.errors.first.map { "\($0)" } ?? "")")
    }
  }

  /// Names within the file begin at its folder.
  private var folder: String {
    // What another program hands over lies nowhere.
    if path == "-" || FileIdentity.isDescriptor(path) { return workingFolder() }
    let whole = absolutePath(path)
    return whole.lastIndex(of: "/").map { $0 == whole.startIndex ? "/" : String(whole[..<$0]) }
      ?? "."
  }

  private func tree() throws(DescriptionErrors) -> Tree {
    let name = path == "-" ? "/dev/stdin" : path
    guard let bytes = fileBytes(name, atMost: Self.most) else {
      let isThere = path == "-" || PartialFile.isThere(path)
      throw DescriptionErrors(
        RunError(
          .usage,
          isThere
            ? "it cannot be read, or is a pipe whose writer sends nothing"
            : "it does not exist; give a file that describes a run"))
    }
    do throws(TreeError) {
      return try isJSON(bytes) ? Tree(json: bytes) : Tree(yaml: bytes)
    } catch {
      throw DescriptionErrors(RunError(.usage, error.problem), error.mark)
    }
  }

  /// Whether the file is JSON: its ending says so, or else its first character.
  private func isJSON(_ bytes: [UInt8]) -> Bool {
    let name = path.lowercased()
    if name.hasSuffix(".json") { return true }
    if name.hasSuffix(".yaml") || name.hasSuffix(".yml") { return false }
    return bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
  }
}

extension DescriptionErrors {
  fileprivate init(_ error: RunError, _ mark: Mark? = nil) {
    self.init(errors: [DescriptionError(mark: mark, error: error)])
  }
}

extension Run {
  /// The run as another one begins with it: without names of outputs. Frames go to standard output only where
  /// that is asked for anew.
  var unnamed: Run {
    var run = withoutOutputNames
    for index in run.sources.indices {
      run.sources[index].pipeline.outputs.removeAll { $0.kind == PipeSink.kind.name }
    }
    return run
  }

  /// Leaves out the outputs of the run `before` that no option has named, and what is of use with them alone.
  /// Returns what of it is not repeated.
  mutating func leaveUnnamed(of before: Run) -> [String] {
    for (index, old) in zip(sources.indices, before.unnamed.sources) {
      var pipeline = sources[index].pipeline
      pipeline.outputs.removeAll(where: \.isUnnamed)
      if !pipeline.takesSound, pipeline.sound.files == old.pipeline.sound.files {
        pipeline.sound.files = SoundFiles()
      }
      sources[index].pipeline = pipeline
    }
    if settings.summary.isEmpty, before.settings.histograms { settings.histograms = false }
    var left: [String] = []
    for (source, old) in zip(sources, before.sources) {
      let (pipeline, old) = (source.pipeline, old.pipeline)
      left += old.outputs.filter { part in
        pipeline.outputs[part.id].map { !part.settings.written.isSubset(of: $0.settings.written) }
          ?? true
      }.map(\.id)
      left += old.sound.files.written.subtracting(pipeline.sound.files.written).sorted().map {
        $0 == "path" ? "sound" : $0
      }
      left += old.asking.written.subtracting(pipeline.asking.written)
    }
    left += before.settings.written.subtracting(settings.written).sorted()
    return left.indices.filter { !left[..<$0].contains(left[$0]) }.map { left[$0] }
  }
}

extension KindSettings {
  /// The settings that name a file that is written.
  fileprivate var written: Set<String> { Set(files.filter { $0.use != .read }.map(\.setting)) }
}

extension Part {
  /// Whether it lacks the name of what it writes.
  fileprivate var isUnnamed: Bool {
    let names = [
      self[MovieSettings.self]?.path, self[StillSettings.self]?.path, self[DumpSettings.self]?.path,
      self[ReportSettings.self]?.path, self[ShareSettings.self]?.name,
      self[VirtualSettings.self]?.device,
    ]
    return names.contains { $0?.isEmpty == true }
  }
}

/// `check`: says what is wrong in the description of a run, without opening a device.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Says what is wrong in the description of a run, with its line, and opens no device.",
    discussion: """
      The file is YAML or JSON, as `run --pipeline` takes it. What depends on the device or on the frames, \
      such as a size that the camera does not have, only a run can tell.
      """)

  @Argument(help: "The file; - is standard input.", completion: .file())
  var file: String

  @Flag(help: "Prints what is read as JSON, with all names in full, also where it cannot be run.")
  var json = false

  func execute(_ kinds: Kinds) throws {
    let description = DescriptionFile(path: file)
    var (run, tree) = try description.read(kinds)
    if file != "-" { run.origins = [file] }
    if json { Console.output.say(json: Tree(run).json) }
    let errors = run.errors(kinds, in: tree)
    guard errors.isEmpty else { throw description.tell(errors) }
    if json { return }
    for source in run.sources {
      let kind = source.pipeline.source?.kind ?? "the first camera"
      let outputs = source.pipeline.outputs.map(\.id).joined(separator: ", ")
      let stages = source.pipeline.stages.map(\.id).joined(separator: ", ")
      Console.output.say(
        "\(source.label): \(kind); stages: \(stages.isEmpty ? "none" : stages); outputs: "
          + (outputs.isEmpty ? "none" : outputs))
    }
  }
}

/// `schema`: a JSON Schema of descriptions of runs.
struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Prints a JSON Schema of descriptions of runs, which editors complete from.")

  func execute(_ kinds: Kinds) { Console.output.say(json: kinds.schema.json) }
}
