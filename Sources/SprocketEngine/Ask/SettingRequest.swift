internal import SprocketCore
internal import SprocketRing
internal import Synchronization

/// A request for other values of a plug-in's live settings.
final class SettingRequest: Sendable {
  /// The ticket of its event.
  let id: UInt64
  let changed: ChangedSettings
  /// The parsed values, by the stage's index in the chain.
  let values: [Int: any SettingValues]
  /// Number of the chain that `values` were parsed for.
  let chain: Int
  /// Set by the source's thread.
  let isStamped = Atomic<Bool>(false)

  init(
    id: UInt64, chain: Int, _ changed: ChangedSettings, _ values: [Int: any SettingValues]
  ) {
    self.id = id
    self.chain = chain
    self.changed = changed
    self.values = values
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

  /// Number of stages of the chain that runs.
  var stageCount: Int { state.withLock(\.stages.count) }

  /// Sets the chain that later requests are about.
  func setChain(_ stages: [ChainStage]) {
    let live = stages.map { LiveStage(plugin: $0.plugin, kind: $0.kind) }
    state.withLock { state in
      state.stages = live
      state.chain += 1
    }
  }

  /// Parses a request and adds it. Throws if a setting is unknown or not live, or a value is not allowed.
  func add(_ changed: ChangedSettings) throws(RunError) -> SettingRequest {
    let result: Result<SettingRequest, RunError> = state.withLock { state in
      do throws(RunError) {
        let values = try state.stages.parse(changed)
        let request = SettingRequest(id: state.nextID, chain: state.chain, changed, values)
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
  let kind: StageKind
}

extension [LiveStage] {
  /// New values of live settings, by the index of each stage of the plug-in.
  fileprivate func parse(
    _ changed: ChangedSettings
  ) throws(RunError) -> [Int: any SettingValues] {
    let name = changed.stage
    let mine = indices.filter { self[$0].plugin == name }
    guard !mine.isEmpty else {
      let known = reduce(into: [String]()) { if !$0.contains($1.plugin) { $0.append($1.plugin) } }
      throw RunError(
        .usage,
        "this run has no stage `\(name)`"
          + (known.isEmpty ? "" : "; " + knownNames(known, near: name)))
    }
    let all = mine.flatMap { self[$0].kind.settings }
    guard let keys = changed.values.keys.isEmpty ? nil : changed.values.keys.sorted() else {
      throw RunError(.usage, "no setting of \(name) is given; give its name and its value")
    }
    for key in keys {
      let found = all.filter { $0.name == key }
      guard found.isEmpty || !found.allSatisfy(\.isLive) else { continue }
      let live = all.filter { one in all.allSatisfy { $0.name != one.name || $0.isLive } }
        .reduce(into: [String]()) { if !$0.contains($1.name) { $0.append($1.name) } }
      throw RunError(
        .usage,
        (found.isEmpty
          ? "the stage \(name) has no setting `\(key)`"
          : "`\(key)` of \(name) cannot be changed while the run goes on")
          + (live.isEmpty ? "" : "; " + knownNames(live, near: key, "what can be changed is")))
    }
    var values: [Int: any SettingValues] = [:]
    for index in mine {
      do throws(SettingError) {
        values[index] = try self[index].kind.parse(changed.values)
      } catch {
        throw RunError(.usage, "the stage \(name): \(error)")
      }
    }
    return values
  }
}

extension LiveSettings {
  /// The settings after a request, which may be the first one of a chain of `count` stages.
  static func changed(
    _ earlier: LiveSettings?, by request: SettingRequest, count: Int
  ) -> LiveSettings {
    var values = earlier?.values ?? Array(repeating: nil, count: count)
    for (stage, new) in request.values {
      values[stage] = values[stage].map { $0.merged(with: new) } ?? new
    }
    return LiveSettings(values)
  }
}
