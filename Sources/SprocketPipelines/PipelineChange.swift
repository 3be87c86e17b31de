public import Sprocket

/// The difference of two descriptions of a pipeline, by what it costs a run to become the second.
public struct PipelineChange: Sendable, Equatable {
  /// Live settings of a stage, where nothing else of the shape changes: nothing is made anew.
  public private(set) var settings: [SettingsChange] = []
  /// A new chain, which begins an epoch; `nil` if the stages stay.
  public private(set) var stages: [Part]?
  /// A source that is made anew, which begins an epoch; `nil` if the source stays.
  public private(set) var source: Part?
  /// Outputs that are added and removed, which disturbs nothing else. One that is another now is both.
  public private(set) var attached: [Part] = []
  public private(set) var detached: [String] = []

  /// `anew`: names of outputs that are removed, also if they are described as they were; with
  /// `isNewSource` the source is opened anew.
  /// Throws for what cannot change while a run goes on.
  public init(
    from old: Pipeline, to new: Pipeline, anew: Set<String> = [], isNewSource: Bool = false
  ) throws(RunError) {
    if isNewSource || old.source != new.source || old.format != new.format { source = new.source }
    if old.stages.map(\.kind) == new.stages.map(\.kind) {
      for (before, after) in zip(old.stages, new.stages) where before != after {
        settings.append(after.settings.change(of: before.kind, since: before.settings))
      }
    }
    if old.stages != new.stages,
      settings.isEmpty || source != nil || !settings.allSatisfy(\.isLive)
    {
      (settings, stages) = ([], new.stages)
    }
    for part in old.outputs where new.outputs[part.id] == nil { detached.append(part.id) }
    for part in new.outputs {
      guard let before = old.outputs[part.id] else {
        attached.append(part)
        continue
      }
      guard before != part || anew.contains(part.id) else { continue }
      detached.append(part.id)
      attached.append(part)
    }
    // Outputs that a program adds by itself are in no description.
    detached += anew.filter { old.outputs[$0] == nil }.sorted()
    // Nothing is done by halves: live settings of one stage alone hold from one frame on.
    if settings.count > 1 || !settings.isEmpty && isOfShape {
      (settings, stages) = ([], new.stages)
    }
    try Self.check(old, new)
  }

  /// Throws where something differs that a run cannot change.
  private static func check(_ old: Pipeline, _ new: Pipeline) throws(RunError) {
    let isSameSound =
      old.sound.microphones == new.sound.microphones && old.sound.stages == new.sound.stages
    let other =
      !isSameSound
      ? SettingPath.microphone
      : new.sound.files.change(of: "sound", since: old.sound.files).names.first
        .map { SettingPath("sound", $0) }
        ?? new.asking.change(of: "asking", since: old.asking).names.first.map { SettingPath($0) }
    guard let other else { return }
    throw RunError(
      .usage, "cannot change while the run goes on; leave it as it is, or start another run",
      change: other)
  }

  /// Whether the run's shape changes: all but live settings.
  public var isOfShape: Bool {
    stages != nil || source != nil || !attached.isEmpty || !detached.isEmpty
  }
}
