internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A request for other values of a plug-in's live settings.
final class SettingRequest: Sendable {
  /// The ticket of its event.
  let id: UInt64
  let changed: ChangedSettings
  /// Sets the values in the settings of the plug-in's stages.
  let change: SettingChange
  /// Number of the chain that `change` is for.
  let chain: Int
  /// Set by the source's thread.
  let isStamped = Atomic<Bool>(false)

  init(
    id: UInt64, chain: Int, _ changed: ChangedSettings, _ change: SettingChange
  ) {
    self.id = id
    self.chain = chain
    self.changed = changed
    self.change = change
  }
}

/// A change of settings that is known to be allowed.
struct SettingChange: Sendable {
  /// Indices of the plug-in's stages in the chain.
  let stages: [Int]
  /// The settings of the run's start.
  let start: any KindSettings
  let texts: [String: String]
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

  /// Number of stages of the chain that runs.
  var stageCount: Int { state.withLock(\.stages.count) }

  /// Sets the chain that later requests are about.
  func setChain(_ stages: [ChainStage]) {
    let live = stages.map { LiveStage(plugin: $0.plugin, settings: $0.settings) }
    state.withLock { state in
      state.stages = live
      state.chain += 1
    }
  }

  /// Parses a request and adds it. Throws if a setting is unknown or not live, or a value is not allowed.
  func add(_ changed: ChangedSettings) throws(RunError) -> SettingRequest {
    let result: Result<SettingRequest, RunError> = state.withLock { state in
      do throws(RunError) {
        let change = try state.stages.parse(changed)
        let request = SettingRequest(id: state.nextID, chain: state.chain, changed, change)
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
  func check(_ changed: ChangedSettings) throws(RunError) {
    let error: RunError? = state.withLock { state in
      do throws(RunError) {
        _ = try state.stages.parse(changed)
        return nil
      } catch {
        return error
      }
    }
    if let error { throw error }
  }

  /// The request, parsed for the chain that runs now. If it does not fit this chain any more, `nil`, and a
  /// note says so.
  func fitted(_ request: SettingRequest, note: (String) -> Void) -> SettingRequest? {
    if state.withLock(\.chain) == request.chain { return request }
    remove(request)
    do throws(RunError) {
      return try add(request.changed)
    } catch {
      note("a change of settings is left out: \(error)")
      return nil
    }
  }

  func remove(_ request: SettingRequest) {
    state.withLock { $0.requests.removeAll { $0 === request } }
  }

  func changed(_ id: UInt64) -> ChangedSettings? {
    state.withLock { $0.requests.last { $0.id == id }?.changed }
  }
}

/// What is needed of a stage to parse its settings.
private struct LiveStage: Sendable {
  let plugin: String
  let settings: any KindSettings
}

extension [LiveStage] {
  /// New values of live settings of a plug-in.
  fileprivate func parse(_ changed: ChangedSettings) throws(RunError) -> SettingChange {
    let name = changed.stage
    let mine = indices.filter { self[$0].plugin == name }
    guard let first = mine.first else {
      let known = reduce(into: [String]()) { if !$0.contains($1.plugin) { $0.append($1.plugin) } }
      throw RunError(
        .usage,
        "this run has no stage `\(name)`"
          + (known.isEmpty ? "" : "; " + knownNames(known, near: name)))
    }
    let start = self[first].settings
    let all = type(of: start).descriptions
    guard !changed.values.isEmpty else {
      throw RunError(.usage, "no setting of \(name) is given; give its name and its value")
    }
    for key in changed.values.keys.sorted() {
      let found = all.first { $0.name == key }
      guard found?.isLive != true else { continue }
      let live = all.filter(\.isLive).map(\.name)
      throw RunError(
        .usage,
        (found == nil
          ? "the stage \(name) has no setting `\(key)`"
          : "`\(key)` of \(name) cannot be changed while the run goes on")
          + (live.isEmpty ? "" : "; " + knownNames(live, near: key, "what can be changed is")))
    }
    let change = SettingChange(stages: mine, start: start, texts: changed.values)
    do throws(SettingError) {
      _ = try change.applied(to: start)
    } catch {
      throw RunError(.usage, "the stage \(name): \(error)")
    }
    return change
  }
}

extension SettingChange {
  func applied(to settings: any KindSettings) throws(SettingError) -> any KindSettings {
    var settings = settings
    for (name, text) in texts { try settings.set(name, to: text) }
    return settings
  }
}

extension LiveSettings {
  /// The settings after a request, which may be the first one of a chain of `count` stages.
  static func changed(
    _ earlier: LiveSettings?, by request: SettingRequest, count: Int
  ) -> LiveSettings {
    var values = earlier?.values ?? Array(repeating: nil, count: count)
    let change = request.change
    for stage in change.stages {
      // It was applied before to the settings of the start, so that no value is refused here.
      let settings = try? change.applied(to: values[stage]?.settings ?? change.start)
      values[stage] = settings.map { LiveSettings.Value($0, request: request.id) }
    }
    return LiveSettings(values)
  }
}
