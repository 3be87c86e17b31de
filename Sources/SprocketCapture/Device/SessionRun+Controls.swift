internal import Glibc
internal import Sprocket

// Controls of the camera that a run has.
extension SessionRun {
  /// Time for a batch of controls to show. Larger: slower cameras are waited for.
  static let controlPatience = Duration.seconds(3)

  /// Writes a batch, sets loops, begins or ends a ramp, and waits for the frame that shows it. It writes
  /// before it suspends the caller, so that an actor's batches are written in the order of its calls. These
  /// return in that order, unless one is cancelled or its time is over.
  nonisolated(nonsending) func write(
    _ values: DeviceControls.Values, _ loops: [LoopSetting], _ ramp: ZoomRamp.Change?,
    within limit: Duration
  ) async throws(CaptureError) -> ControlChange {
    let reply = Reply<ControlChange>()
    let caller = #isolation.map { ObjectIdentifier($0) }
    try state.withLock { (state) throws(CaptureError) in
      guard let port = state.engine?.description.controls else {
        throw CaptureError(.notRunning, "the session has no camera that can be set")
      }
      // Before the write, so that the watch gets the frame that shows it.
      state.needFrames()
      let writes = values.compactMap { name, value in
        port.control(name).map { ControlValue($0, value) }
      }
      guard writes.count == values.count,
        let batch = writes.isEmpty
          ? ShownBatch() : ShownBatch(writes, to: port, unknownDelay: 0)
      else {
        throw CaptureError(.busy, "too many settings wait for the camera; set them again")
      }
      switch ramp {
      case .begin(let ramp): state.ramp = ramp
      case .cancel: state.ramp = nil
      case nil: break
      }
      let wishes = loops.map { setting in
        state.loopChanges[setting.loop, default: 0] += 1
        return LoopWish(
          loop: setting.loop, number: state.loopChanges[setting.loop, default: 0],
          values: setting.values)
      }
      state.changes.add(
        .init(
          batch: batch, names: values.map(\.name), loops: wishes, reply: reply,
          source: state.sources, caller: caller))
    }
    do throws(CaptureError) {
      try set(loops)
    } catch {
      state.withLock { state in
        for setting in loops { state.loopChanges[setting.loop, default: 1] -= 1 }
      }
      updateChanges { _ = $0.remove(reply) }
      throw error
    }
    let told = await reply.answer(
      within: limit,
      or: CaptureError(.timedOut, "no frame has shown the camera's new settings in time"))
    var known: Reply<ControlChange>.Answer?
    updateChanges { known = $0.remove(reply) }
    return try (known ?? told).get()
  }

  // MARK: Brackets

  private var controls: DeviceControls {
    device?.controls ?? DeviceControls(device: "no camera", controls: [], stages: [])
  }

  /// The values of controls; of those that a bracket changes, the values that it restores.
  private func now(_ names: [String]) -> DeviceControls.Values {
    let (engine, brackets) = state.withLock { ($0.engine, $0.brackets) }
    guard let port = engine?.description.controls else { return [] }
    return names.compactMap { name in
      let kept = brackets.lazy.compactMap { bracket in bracket.before.first { $0.name == name } }
        .first
      return (kept?.value ?? port.control(name).flatMap { port.value(of: $0) }).map { (name, $0) }
    }
  }

  /// What each step writes, and what has to be written afterwards: the present values of the same controls,
  /// automatics last. Throws if the bracket cannot be made.
  func plan(
    _ bracket: [BracketStep]
  ) throws(CaptureError) -> (steps: [DeviceControls.Values], before: DeviceControls.Values) {
    if exposureMode == .continuous || exposureMode == .auto {
      throw CaptureError(
        .busy,
        "the session's loop autoexposure sets the exposure; lock it for a bracket by setExposure(.locked)"
      )
    }
    let exposure = now([controls.exposure?.name].compactMap { $0 })
    let steps = try bracket.map { (step) throws(CaptureError) in
      try values(for: step, from: exposure)
    }
    var names: [String] = []
    for value in steps.joined() where !names.contains(value.name) { names.append(value.name) }
    let before = now(names.reversed())
    // A step leaves the controls of other steps as they were before the bracket. Those that an automatic
    // decides over are not the step's to write.
    let decided = controls.decided(by: before)
    let kept = before.filter { !decided.contains($0.name) }
    return (
      steps.map { step in
        kept.filter { value in !step.contains { $0.name == value.name } } + step
      }, before
    )
  }

  private func values(
    for step: BracketStep, from before: DeviceControls.Values
  ) throws(CaptureError) -> DeviceControls.Values {
    switch step {
    case .exposure(let duration, let gain):
      return try controls.values(for: .custom(duration: duration, gain: gain))
    case .bias(let stops):
      guard let control = controls.exposure, let unit = ControlUnit(.exposure, of: control),
        let now = before.first(where: { $0.name == control.name })?.value
      else {
        throw CaptureError(
          .controlUnsupported,
          "\(controls.device) does not tell its exposure; give the bracket's times")
      }
      guard -10...10 ~= stops else {
        throw CaptureError(.valueOutOfRange, "a bias is -10 to 10 stops, not \(stops)")
      }
      let wanted = unit.value(of: now) * exp2(stops)
      return try controls.values(
        for: .custom(duration: .nanoseconds(Int64(nearest: wanted * 1000))))
    }
  }

  /// Keeps a bracket until it has restored the camera's controls.
  func add(_ bracket: RunningBracket) {
    state.withLock { state in
      state.brackets.append(bracket)
      state.needFrames()
    }
  }

  /// Ends the captures of brackets that have restored the controls.
  func endBrackets() {
    let over = state.withLock { state -> [RunningBracket] in
      var over: [RunningBracket] = []
      // Each is asked once: the source's thread may end it meanwhile.
      state.brackets.removeAll { bracket in
        let isOver = bracket.sequence.isOver
        if isOver { over.append(bracket) }
        return isOver
      }
      return over
    }
    for bracket in over { bracket.output.update(bracket.id) { $0.release() } }
  }

  /// Whether a frame has the exposure and gain that the camera has set for a step. True if the frame's record
  /// does not tell them.
  func shows(_ frame: FrameRecord, _ values: [ControlValue]) -> Bool {
    let port = engine?.description.controls
    func isNear(_ role: ControlUnit.Role, _ control: ControlDescription?, _ found: Float) -> Bool {
      guard let control, let index = port?.control(control.name),
        let value = values.last(where: { $0.control == index })?.value,
        let unit = ControlUnit(role, of: control), found.isFinite
      else { return true }
      return abs(Double(found) - unit.value(of: value)) <= 0.02 * unit.value(of: value)
    }
    return isNear(.exposure, controls.exposure, frame.inForce.exposureMicroseconds)
      && isNear(.gain, controls.gain, frame.inForce.gain)
  }
}
