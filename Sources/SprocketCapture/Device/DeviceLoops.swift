public import Sprocket
internal import SprocketStages

// The session's own loops: stages that steer the camera by what they measure. They decide where they are in
// the chain; the camera's automatics do where they are not.
extension DeviceControls {
  /// What the loop is set to, the point first; `nil` where there is none.
  func loop(for mode: FocusMode) -> [SettingsChange]? {
    guard stages.contains("autofocus") else { return nil }
    switch mode {
    case .locked(nil): return [focus { $0.mode = .locked }]
    case .locked(let position?): return [focus { ($0.mode, $0.position) = (.custom, position) }]
    case .autoOnce(let point): return at(point) + [focus { $0.mode = .auto }]
    case .continuous(let point): return at(point) + [focus { $0.mode = .continuous }]
    }
    func at(_ point: Point?) -> [SettingsChange] {
      point.map { point in
        [SettingsChange("focus", of: FocusScore.Settings.self) { $0.point = point }]
      } ?? []
    }
  }

  func loop(for mode: ExposureMode) -> [SettingsChange]? {
    guard stages.contains("autoexposure") else { return nil }
    switch mode {
    case .locked: return [exposure { $0.mode = .locked }]
    case .autoOnce(let point): return at(point) + [exposure { $0.mode = .auto }]
    case .continuous(let point): return at(point) + [exposure { $0.mode = .continuous }]
    case .custom(let duration, let gain):
      return [
        exposure { settings in
          settings.mode = .custom
          if let duration { settings.exposure = Double(duration.nanosecondCount) / 1000 }
          if let gain { settings.gain = gain }
        }
      ]
    }
    func at(_ point: Point?) -> [SettingsChange] {
      point.map { point in
        [
          SettingsChange("meter", of: ExposureMeter.Settings.self) {
            ($0.mode, $0.point) = (.spot, point)
          }
        ]
      } ?? []
    }
  }

  private func focus(
    _ choose: (inout NewValues<AutoFocus.Settings>) -> Void
  ) -> SettingsChange { SettingsChange("autofocus", of: AutoFocus.Settings.self, choose) }

  private func exposure(
    _ choose: (inout NewValues<AutoExposure.Settings>) -> Void
  ) -> SettingsChange { SettingsChange("autoexposure", of: AutoExposure.Settings.self, choose) }
}

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
  public enum Loop: String, Sendable, Hashable {
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

  /// Exposes for a point until it is right, then leaves the exposure as it is.
  public func exposeThenLock(
    at point: Point = .center, within limit: Duration = .seconds(5)
  ) async throws(CaptureError) {
    try await withConfiguration { c in c.setExposure(.autoOnce(at: point)) }
    try await settle(.exposure, within: limit)
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
  func set(_ loops: [SettingsChange]) throws(CaptureError) {
    guard !loops.isEmpty, let engine else { return }
    for change in loops {
      let loop = CaptureDevice.Loop(rawValue: change.stage)
      if let loop { state.withLock { $0.loopChanges[loop, default: 0] += 1 } }
      do throws(RunError) {
        try engine.set(change)
      } catch {
        if let loop { state.withLock { $0.loopChanges[loop, default: 1] -= 1 } }
        throw CaptureError(error, .busy)
      }
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

  /// A loop's report of a frame has that state.
  func settle(_ loop: CaptureDevice.Loop, _ word: String, at mark: FrameMark) {
    guard let isWell = loop.outcome(word) else { return }
    let done = state.withLock { state -> [SettleWait] in
      // The engine says from which frame on a loop has what was set; a chain may hold earlier ones.
      guard state.loopChanges[loop, default: 0] == 0 else { return [] }
      let start = state.loopStarts[loop].map { $0 + Self.beginning } ?? 0
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

extension SessionRun.State {
  /// Notes the mode of a loop that has these settings.
  mutating func noteMode(_ settings: any KindSettings) {
    if let exposure = settings as? AutoExposure.Settings { exposureMode = exposure.mode }
    if let focus = settings as? AutoFocus.Settings { focusMode = focus.mode }
  }
}

extension SessionShape {
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

extension CaptureDevice.Loop {
  /// Whether it has come to an end in that state, and well; `nil` while it is on its way.
  fileprivate func outcome(_ state: String) -> Bool? {
    switch state {
    case "converged", "limited", "locked", "custom", "focused", "resting": true
    case "unanswered", "refused", "lost", "failed": false
    default: nil
    }
  }
}

/// Where the state of a loop is in a frame's reports.
struct LoopReport {
  let loop: CaptureDevice.Loop
  private let layout: ReportLayout
  private let field: ReportFieldDescription
  private let words: [String]

  /// `nil` for a report of another stage.
  init?(_ layout: ReportLayout) {
    guard let loop = CaptureDevice.Loop(rawValue: layout.plugin),
      let field = layout.fields.first(where: { $0.name == "state" }),
      case .word(let words) = field.kind
    else { return nil }
    (self.loop, self.layout, self.field, self.words) = (loop, layout, field, words)
  }

  func state(of frame: borrowing PackedFrame) -> String? {
    let place = frame.value(field, of: layout, as: UInt8.self).map { Int($0) }
    return place.flatMap { words.indices.contains($0) ? words[$0] : nil }
  }
}
