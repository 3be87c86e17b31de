public import Sprocket

/// What is wrong in the description of a run, and where that stands.
public struct DescriptionError: Error, Sendable, CustomStringConvertible {
  public let mark: Mark?
  public let error: RunError
  /// The source that it is about; `nil` for all, or the one.
  public let source: String?

  public init(mark: Mark?, error: RunError, source: String? = nil) {
    (self.mark, self.error, self.source) = (mark, error, source)
  }

  public var description: String {
    [mark?.description, source, error.settings.first?.description, error.description]
      .compactMap(\.self).joined(separator: ": ")
  }
}

/// All that is wrong in the description of a run.
public struct DescriptionErrors: Error, Sendable {
  public let errors: [DescriptionError]

  public init(errors: [DescriptionError]) { self.errors = errors }
}

extension Run {
  /// Reads the description of a run. Relative names of files begin at `folder`. Throws all errors at once.
  public init(_ tree: Tree, _ kinds: Kinds, in folder: String) throws(DescriptionErrors) {
    var reader = RunReader(kinds)
    self = reader.run(tree)
    guard reader.errors.isEmpty else { throw DescriptionErrors(errors: reader.errors) }
    moveFiles(to: folder)
  }

  /// What ``errors(_:)`` finds, with the places in the tree that the run was read from.
  public func errors(_ kinds: Kinds, in tree: Tree) -> [DescriptionError] {
    var errors: [DescriptionError] = []
    for (source, error) in self.errors(kinds) {
      let mark = error.settings.lazy.compactMap { tree.mark(of: $0, source?.label) }.first
      // What sources have alike is told once, and of a name one thing.
      let isKnown = errors.contains {
        $0.mark == mark
          && (source == nil && $0.error.settings.first == error.settings.first
            || $0.error.description == error.description)
      }
      if isKnown { continue }
      errors.append(
        DescriptionError(
          mark: mark, error: error, source: sources.count > 1 ? source?.label : nil))
    }
    let last = Mark(line: .max, column: 0)
    return errors.sorted { ($0.mark ?? last).line < ($1.mark ?? last).line }
  }

  /// Lets relative names of files begin at a folder.
  public mutating func moveFiles(to folder: String) {
    settings.moveFiles(to: folder)
    for index in sources.indices {
      sources[index].pipeline.changeSettings { $0.moveFiles(to: folder) }
    }
  }

  /// Copy of the run in which names of files have no folders.
  var withoutFolders: Run {
    var run = self
    run.settings.removeFolders()
    for index in run.sources.indices {
      run.sources[index].pipeline.changeSettings { $0.removeFolders() }
    }
    return run
  }

  /// Copy of the run without what only this process has: outputs to given descriptors, and names of standard
  /// output. What a summary and a dump say of the run that made them.
  public var stored: Run {
    var run = self
    let isOwn = { FileIdentity.isStandardOutput($0) || FileIdentity.isDescriptor($0) }
    run.settings.removeOutputNames(where: isOwn)
    for index in run.sources.indices {
      run.sources[index].pipeline.outputs.removeAll { part in
        part[ShareSettings.self]?.name.path.hasPrefix("fd:") ?? false
          || part.settings.files.contains { $0.use != .read && isOwn($0.path) }
      }
      run.sources[index].pipeline.changeSettings { $0.removeOutputNames(where: isOwn) }
    }
    return run
  }

  /// Copy of the run without names of outputs: for a run that is made like another one.
  public var withoutOutputNames: Run {
    var run = self
    (run.settings.summary, run.settings.trace, run.settings.pairs) = (
      OutputName(), OutputName(), OutputName()
    )
    for index in run.sources.indices { run.sources[index].pipeline.removeOutputNames() }
    return run
  }
}

extension Pipeline {
  fileprivate mutating func removeOutputNames() {
    (sound.files.path, sound.files.levels) = (OutputName(), OutputName())
    asking.controlSocket = OutputName()
    for index in outputs.indices { outputs[index].settings.removeOutputNames() }
    source?.settings.removeOutputNames()
  }

  /// Copy of the pipeline in which names of files have the label in its place, and begin at a folder.
  public func placed(in folder: String, label: String) -> Pipeline {
    var pipeline = self
    pipeline.changeSettings { settings in
      settings.fill("source", with: label)
      settings.moveFiles(to: folder)
    }
    return pipeline
  }

  /// Changes the settings of all parts.
  mutating func changeSettings(_ change: (inout any KindSettings) -> Void) {
    func changed<Settings: KindSettings>(_ settings: Settings) -> Settings {
      var any: any KindSettings = settings
      change(&any)
      return any as? Settings ?? settings
    }
    if let part = source { source = Part(part.kind, id: part.id, changed(part.settings)) }
    (sound.files, asking) = (changed(sound.files), changed(asking))
    for index in sound.microphones.indices { change(&sound.microphones[index].settings) }
    for index in stages.indices { change(&stages[index].settings) }
    for index in outputs.indices { change(&outputs[index].settings) }
  }
}
