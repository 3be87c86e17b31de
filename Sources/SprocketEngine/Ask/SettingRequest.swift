internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A request for other values of a plug-in's live settings.
final class SettingRequest: Sendable {
  /// The ticket of its event.
  let id: UInt64
  let change: SettingsChange
  /// Number of the chain that the request fits.
  let chain: Int
  /// Indices of the plug-in's stages in that chain.
  let stages: [Int]
  /// Their settings when it was asked. They count where no request holds yet: then they are those of the
  /// run's start.
  let start: any KindSettings
  /// Set by the source's thread.
  let isStamped = Atomic<Bool>(false)
  /// Whether the chain's settings have its values.
  let isSettled = Atomic<Bool>(false)

  init(
    id: UInt64, _ change: SettingsChange, chain: Int, _ stages: [Int], _ start: any KindSettings
  ) {
    (self.id, self.change, self.chain) = (id, change, chain)
    (self.stages, self.start) = (stages, start)
  }
}

/// A run's requests for settings: those that wait, and the latest that hold, for sinks that store events.
final class SettingJournal: Sendable {
  private struct State {
    var nextID: UInt64 = 1
    /// In the order asked.
    var requests: [SettingRequest] = []
    var stages: [LiveStage] = []
    var chain = 0
  }

  private let state = Locked(State())

  /// The settings of a plug-in's stages that hold now, or from the next frame on.
  func settings(of plugin: String) -> (any KindSettings)? {
    state.withLock { $0.stages.first { $0.plugin == plugin }?.settings }
  }

  /// A request holds from now on, or from the next frame on: earlier ones come before it.
  func noteSettled(_ request: SettingRequest) {
    guard !request.isSettled.exchange(true, ordering: .relaxed) else { return }
    state.withLock { state in
      guard state.chain == request.chain else { return }
      for stage in request.stages {
        state.stages[stage].settings.take(request.change.names, from: request.change.settings)
      }
    }
  }

  /// Number of stages of the chain that runs.
  var stageCount: Int { state.withLock(\.stages.count) }

  /// Sets the chain that later requests are about. With `keepsSettings` it is the same chain, made anew, and
  /// what was changed holds on.
  func setChain(_ stages: [ChainStage], keepsSettings: Bool = false) {
    let live = stages.map { LiveStage(plugin: $0.plugin, settings: $0.settings) }
    state.withLock { state in
      if !keepsSettings { state.stages = live }
      state.chain += 1
    }
  }

  /// Adds a request. Throws if a setting is unknown or not live, or a value is not allowed.
  func add(_ change: SettingsChange) throws(RunError) -> SettingRequest {
    let result: Result<SettingRequest, RunError> = state.withLock { state in
      do throws(RunError) {
        let places = try state.stages.places(of: change)
        let request = SettingRequest(
          id: state.nextID, change, chain: state.chain, places, state.stages[places[0]].settings)
        state.nextID += 1
        // One for each event that the log keeps.
        if state.requests.count >= EventLog.depth,
          let first = state.requests.firstIndex(where: { $0.isStamped.load(ordering: .relaxed) })
        {
          state.requests.remove(at: first)
        }
        state.requests.append(request)
        return .success(request)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Throws if a setting is unknown or not live, or a value is not allowed.
  func check(_ change: SettingsChange) throws(RunError) {
    _ = try state.withLock(\.stages).places(of: change)
  }

  /// A change that a dump tells of.
  func change(_ recorded: ChangedSettings) throws(RunError) -> SettingsChange {
    let stages = state.withLock(\.stages)
    var settings = stages[try stages.places(of: recorded.stage)[0]].settings
    do throws(SettingError) {
      for (name, text) in recorded.values { try settings.set(name, to: text) }
    } catch {
      throw RunError(.usage, "the stage \(recorded.stage): \(error)")
    }
    return SettingsChange(
      recorded.stage, settings: settings, names: recorded.values.keys.sorted())
  }

  /// The request for the chain that runs now. If it does not fit this chain any more, `nil`, and a note says
  /// so.
  func fitted(_ request: SettingRequest, note: (String) -> Void) -> SettingRequest? {
    if state.withLock(\.chain) == request.chain { return request }
    remove(request)
    do throws(RunError) {
      return try add(request.change)
    } catch {
      note("a change of settings is left out: \(error)")
      return nil
    }
  }

  func remove(_ request: SettingRequest) {
    state.withLock { $0.requests.removeAll { $0 === request } }
  }

  func changed(_ id: UInt64) -> ChangedSettings? {
    state.withLock { $0.requests.last { $0.id == id }?.change }.map { ChangedSettings($0) }
  }
}

/// What is needed of a stage to check new settings.
private struct LiveStage: Sendable {
  let plugin: String
  /// What holds now.
  var settings: any KindSettings
}

extension [LiveStage] {
  /// Indices of a plug-in's stages. Throws if there are none.
  fileprivate func places(of name: String) throws(RunError) -> [Int] {
    let places = indices.filter { self[$0].plugin == name }
    guard places.isEmpty else { return places }
    let known = reduce(into: [String]()) { if !$0.contains($1.plugin) { $0.append($1.plugin) } }
    throw RunError(
      .usage,
      "this run has no stage `\(name)`"
        + (known.isEmpty ? "" : "; " + knownNames(known, near: name)))
  }

  /// Indices of the stages that a change is about. Throws if it is not allowed.
  fileprivate func places(of change: SettingsChange) throws(RunError) -> [Int] {
    let name = change.stage
    let places = try places(of: name)
    let start = self[places[0]].settings
    guard type(of: start) == type(of: change.settings) else {
      throw RunError(
        .usage, "the settings are of another stage than \(name); give those of \(name)")
    }
    guard !change.names.isEmpty else {
      throw RunError(.usage, "no setting of \(name) is given; give its name and its value")
    }
    let all = type(of: start).descriptions
    for key in change.names {
      let found = all.first { $0.name == key }
      guard found?.isLive != true else { continue }
      let live = all.filter(\.isLive).map(\.name)
      throw RunError(
        .usage,
        (found == nil
          ? "the stage \(name) has no setting `\(key)`"
          : "`\(key)` of \(name) cannot be changed while the run goes on, but with a new chain "
            + "(`reconfigure`)")
          + (live.isEmpty ? "" : "; " + knownNames(live, near: key, "what can be changed is")))
    }
    try change.settings.check(of: "the stage \(name)")
    return places
  }
}

extension LiveSettings {
  /// The settings after a request, which may be the first one of a chain of `count` stages.
  static func changed(
    _ earlier: LiveSettings?, by request: SettingRequest, count: Int
  ) -> LiveSettings {
    var values = earlier?.values ?? Array(repeating: nil, count: count)
    for stage in request.stages {
      var settings = values[stage]?.settings ?? request.start
      settings.take(request.change.names, from: request.change.settings)
      values[stage] = LiveSettings.Value(settings, request: request.id)
    }
    return LiveSettings(values)
  }
}
