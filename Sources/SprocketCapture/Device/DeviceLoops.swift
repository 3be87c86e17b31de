public import Sprocket
internal import SprocketStages

/// A wait for the end of a loop's work.
struct SettleWait: Sendable {
  let loop: CaptureDevice.Loop
  /// Frames before this one do not know of what was set.
  let from: UInt64
  let reply: Reply<FrameMark>

  static let isOver = CaptureError(.cancelled, "the session stopped before the camera had settled")
}

extension CaptureDevice {
  /// A loop of the session's that steers the camera.
  public enum Loop: String, Sendable, Hashable, CaseIterable {
    case exposure = "autoexposure"
    case focus = "autofocus"
  }

  /// Waits until a loop has done its work, for `limit` at most, and returns the frame that shows it.
  ///
  /// Throws if it does not come to an end in time, if the picture does not answer, and if the session has no
  /// such loop. Nothing is left behind, whichever way it ends.
  @discardableResult
  public func settle(
    _ loop: Loop, within limit: Duration = .seconds(5)
  ) async throws(CaptureError) -> FrameMark {
    guard let run = state.withLock(\.run), run.stages.contains(loop.rawValue) else {
      throw CaptureError(
        .controlUnsupported,
        "\(localizedName) has no running loop \(loop.rawValue); add that stage to the session")
    }
    return try await run.settle(loop, within: limit)
  }

  /// Exposes for a point until it is right, for `limit` at most, then locks the exposure: `exposureMode` is
  /// `.locked`. It needs the session's stages `meter` and `autoexposure`. Throws as `settle` does; the loop
  /// goes on then.
  public func exposeThenLock(
    at point: Point = .center, within limit: Duration = .seconds(5)
  ) async throws(CaptureError) {
    let patience = max(limit, SessionRun.controlPatience)
    _ = try await change(within: patience) { c in c.setExposure(.autoOnce(at: point)) }
    try await settle(.exposure, within: limit)
    // Where the light is beyond the camera's range, the loop does not lock by itself.
    _ = try await change(within: patience) { c in c.setExposure(.locked) }
  }
}

extension SessionRun {
  /// Throws if a loop cannot have a setting. Changes nothing.
  func check(_ loops: [SettingsChange]) throws(CaptureError) {
    guard let engine else { return }
    do throws(RunError) {
      for loop in loops { try engine.check(loop) }
    } catch {
      throw CaptureError(error, .valueOutOfRange)
    }
  }

  /// Sets loops, which were checked. They also hold for later runs of the camera.
  func set(_ loops: [LoopSetting]) throws(CaptureError) {
    guard let engine else { return }
    for change in loops.flatMap(\.changes) {
      do throws(RunError) { try engine.set(change) } catch { throw CaptureError(error, .busy) }
      device?.state.withLock { device in
        device.loops[change.stage]?.add(change)
        if device.loops[change.stage] == nil { device.loops[change.stage] = change }
      }
      if change.names.contains("mode") { state.withLock { $0.noteMode(change.settings) } }
    }
  }

  /// `nil` where the chain has no such loop.
  var exposureMode: AutoExposure.Mode? { state.withLock(\.exposureMode) }
  var focusMode: AutoFocus.Mode? { state.withLock(\.focusMode) }

  /// Frames that a loop may take to begin with what was set. Larger: `settle` takes longer.
  private static let beginning: UInt64 = 2

  func settle(
    _ loop: CaptureDevice.Loop, within limit: Duration
  ) async throws(CaptureError) -> FrameMark {
    let reply = Reply<FrameMark>()
    try state.withLock { (state) throws(CaptureError) in
      guard let engine = state.engine else { throw SettleWait.isOver }
      let from = engine.progress.produced + Self.beginning
      state.settling.append(SettleWait(loop: loop, from: from, reply: reply))
      state.needFrames()
    }
    defer { state.withLock { $0.settling.removeAll { $0.reply === reply } } }
    return try await reply.value(
      within: limit, orThrow: CaptureError(.timedOut, "the camera has not settled in time"))
  }

  var hasSettling: Bool { state.withLock { !$0.settling.isEmpty } }

  /// Whether the reports of loops are waited for.
  var needsLoops: Bool {
    state.withLock { !$0.settling.isEmpty || $0.changes.hasLoops || $0.hasAutoOnce }
  }

  /// Answers those who wait for the end of a loop's work, and notes the end of a mode that ends by itself.
  func settle(_ reports: LoopReports, at mark: FrameMark) {
    for loop in CaptureDevice.Loop.allCases {
      guard let progress = reports.progress(of: loop), let isWell = progress.isWell else {
        continue
      }
      let done = state.withLock { state -> [SettleWait] in
        // The engine says from which frame on a loop has what was set; a chain may hold earlier ones.
        guard state.loopChanges[loop, default: 0] == state.loopsTold[loop, default: 0] else {
          return []
        }
        let start = state.loopStarts[loop].map { $0 + Self.beginning } ?? 0
        if case .locked = progress, mark.number >= start { state.noteLocked(loop) }
        let isDone = { (wait: SettleWait) in
          wait.loop == loop && mark.number >= max(wait.from, start)
        }
        defer { state.settling.removeAll(where: isDone) }
        return state.settling.filter(isDone)
      }
      for wait in done {
        wait.reply.answer(
          isWell
            ? .success(mark)
            : .failure(CaptureError(.failed, "the picture does not answer to what is set")))
      }
    }
  }
}

extension LoopProgress {
  /// Whether a loop has come to an end well; `nil` while it is on its way.
  fileprivate var isWell: Bool? {
    switch self {
    case .underway: nil
    case .settled, .locked: true
    case .unanswered, .failed: false
    }
  }
}

extension SessionRun.State {
  /// Notes the mode of a loop that has these settings.
  mutating func noteMode(_ settings: any KindSettings) {
    if let exposure = settings as? AutoExposure.Settings { exposureMode = exposure.mode }
    if let focus = settings as? AutoFocus.Settings { focusMode = focus.mode }
  }

  /// Whether a loop is in the mode that ends by itself.
  var hasAutoOnce: Bool { exposureMode == .auto || focusMode == .auto }

  /// A loop writes nothing more.
  fileprivate mutating func noteLocked(_ loop: CaptureDevice.Loop) {
    switch loop {
    case .exposure: if exposureMode == .auto { exposureMode = .locked }
    case .focus: if focusMode == .auto { focusMode = .locked }
    }
  }
}

extension SessionShape {
  /// Names of the stages of the camera's loops.
  static let loopStages: Set<String> = ["meter", "autoexposure", "focus", "autofocus"]

  /// The stages, with the saved settings of the camera's loops.
  var liveStages: [StageChoice] {
    guard let loops = camera?.state.withLock(\.loops), !loops.isEmpty else { return stages }
    // They were checked when they were set.
    return stages.map { stage in
      loops[stage.plugin.name].flatMap { try? stage.with($0) } ?? stage
    }
  }

  /// Removes the saved settings of a loop if its stage has a new configuration.
  func forgetLoops(since old: SessionShape) {
    let changed = stages.filter { new in
      old.stages.contains { $0.plugin.name == new.plugin.name && $0 != new }
    }
    camera?.state.withLock { device in
      for stage in changed { device.loops[stage.plugin.name] = nil }
    }
  }
}
