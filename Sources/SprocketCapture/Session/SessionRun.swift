internal import Sprocket
internal import SprocketStages

/// One run of a session's engine, and its news for the session's streams and outputs. The engine's threads
/// use it, and the session's.
final class SessionRun: Sendable {
  struct State {
    /// `nil` before the start, and after the end.
    var engine: Engine?
    var onEnd: (@Sendable (SessionRun) -> Void)?
    /// The camera, and what it gives; `nil` in a run of sound alone.
    var device: CaptureDevice?
    var choice: FormatChoice?
    /// Replaced as a whole: others read their copy without the lock.
    var outputs: [any SessionOutput] = []
    /// Outputs that were removed, with their sinks, until their recordings have ended.
    var leaving: [LeavingOutput] = []
    /// When the last frame came, on the monotonic clock. While the watch rests: when it noticed the frame.
    var lastArrival: Int64
    /// The run changes its shape, or ends. A pause without frames is then no interruption.
    var isChanging = false
    var hasFrames = false
    var isInterrupted = false
    var changes = ControlChanges()
    /// Number of changes of the source in this run.
    var sources = 0
    /// Names of the plug-ins in the chain.
    var stages: Set<String> = []
    var stabilization: Stabilizer.Mode?
    /// The modes of the chain's loops.
    var exposureMode: AutoExposure.Mode?
    var focusMode: AutoFocus.Mode?
    /// Number of changes of a loop in this chain, the number of those that the engine has told of, and the
    /// first frame that has the latest one.
    var loopChanges: [CaptureDevice.Loop: Int] = [:]
    var loopsTold: [CaptureDevice.Loop: Int] = [:]
    var loopStarts: [CaptureDevice.Loop: UInt64] = [:]
    var settling: [SettleWait] = []
    /// Brackets that are under way or wait for their turn, in the order of the calls.
    var brackets: [RunningBracket] = []
    var ramp: ZoomRamp?
    var sound: SessionSound?
    /// Errors that were told while the run went on.
    var toldErrors: [String] = []
    /// Errors of the sound's engine that were told: the engine lists them in order.
    var toldLosses = 0
  }

  let state: Locked<State>
  /// A reader's place in the news: held while they are delivered, so that they come in order.
  let delivery = Locked(NewsMark())
  let interruptions: Broadcast<SessionInterruption>
  let runtimeErrors: Broadcast<CaptureError>

  init(
    device: CaptureDevice?, choice: FormatChoice?, interruptions: Broadcast<SessionInterruption>,
    runtimeErrors: Broadcast<CaptureError>
  ) {
    (self.interruptions, self.runtimeErrors) = (interruptions, runtimeErrors)
    state = Locked(State(device: device, choice: choice, lastArrival: monotonicNow()))
  }

  var engine: Engine? { state.withLock(\.engine) }
  var device: CaptureDevice? { state.withLock(\.device) }
  var choice: FormatChoice? { state.withLock(\.choice) }

  func begin(_ engine: Engine, _ onEnd: @escaping @Sendable (SessionRun) -> Void) {
    state.withLock { ($0.engine, $0.onEnd) = (engine, onEnd) }
  }

  /// Removes the callback for the run's end: the session stops the run itself, and waits for it.
  func ignoreEnd() { state.withLock { $0.onEnd = nil } }

  func setSource(_ device: CaptureDevice?, _ choice: FormatChoice?) {
    endInterruption { state in
      if state.device !== device {
        for index in state.brackets.indices { state.brackets[index].before = [] }
      }
      (state.device, state.choice) = (device, choice)
      state.sources += 1
      state.ramp = nil
      // It takes its time until its first frame.
      state.hasFrames = false
    }
    updateChanges { $0.cancel(because: "the session changed its camera or format") }
  }

  /// `stages`: as the engine has them.
  func setStages(_ stages: [StageChoice]) {
    state.withLock { state in
      state.stages = Set(stages.map(\.plugin.name))
      state.stabilization = stages.lazy.compactMap { $0[Stabilizer.Settings.self] }.first?.mode
      (state.exposureMode, state.focusMode) = (nil, nil)
      (state.loopChanges, state.loopsTold, state.loopStarts) = ([:], [:], [:])
      for stage in stages { state.noteMode(stage.settings) }
    }
    updateChanges { $0.cancel(because: "the session changed its stages", loops: true) }
  }

  var stages: Set<String> { state.withLock(\.stages) }

  /// The mode of the stage `stabilize`, as it was configured; `nil` where the chain has none.
  var stabilization: Stabilizer.Mode? { state.withLock(\.stabilization) }

  // MARK: Frames

  /// Time without a frame, or without sound, after which a session counts as interrupted; before the first
  /// frame, which a camera may take two seconds for, it is longer. A watch that rests notices it up to 0.4 s
  /// later. Larger: short pauses are not told of.
  static let framePatience: Int64 = 1_000_000_000
  static let firstPatience: Int64 = 5_000_000_000

  /// A frame came.
  func note(_ record: FrameRecord) {
    noteArrival()
    device?.observers.tell(record.inForce)
  }

  /// A frame came, which the watch may not get: the camera is at work.
  func noteArrival() { endInterruption { $0.hasFrames = true } }

  /// Counts from now on.
  private func endInterruption(_ change: (inout State) -> Void) {
    let now = monotonicNow()
    let pause = state.withLock { state -> Int64? in
      defer { (state.lastArrival, state.isInterrupted) = (now, false) }
      change(&state)
      return state.isInterrupted ? now - state.lastArrival : nil
    }
    if let pause { interruptions.send(.ended(after: .nanoseconds(pause))) }
  }

  /// The run is about to change its shape, or to end.
  func beginChange() { state.withLock { $0.isChanging = true } }

  func endChange() {
    state.withLock { state in
      state.isChanging = false
      if !state.isInterrupted { state.lastArrival = monotonicNow() }
    }
  }

  /// The run is over, and so is an interruption.
  func noteClosed() {
    endInterruption { _ in }
    endSilence()
  }

  /// No frame came.
  func noteIdle() {
    let now = monotonicNow()
    let device = state.withLock { state -> CaptureDevice? in
      let patience = state.hasFrames ? Self.framePatience : Self.firstPatience
      guard state.device != nil, !state.isChanging, !state.isInterrupted,
        now - state.lastArrival > patience
      else {
        return nil
      }
      state.isInterrupted = true
      // The first frame that comes ends the interruption.
      state.needFrames()
      return state.device
    }
    guard let device else { return }
    interruptions.send(.began(device.reasonForNoFrames))
  }

  func noteEnd() {
    let end = state.withLock(\.onEnd)
    end?(self)
  }
}

extension SessionRun {
  /// Whether the watch can rest. It needs frames during a change of controls, a wait for a loop, a bracket
  /// and an interruption, and while the program reads the camera's settings (`values(of:)`).
  var needsNoFrame: Bool {
    let (needs, device) = state.withLock { ($0.needsFrames, $0.device) }
    return !needs && device?.observers.isEmpty ?? true
  }

  func needFrames() { state.withLock { $0.needFrames() } }

  /// Calls for the camera reach this run from now on.
  func belongs(to camera: CaptureDevice) {
    camera.state.withLock { $0.run = self }
    // Streams of its settings (`values(of:)`) may have been opened before.
    needFrames()
  }
}

extension SessionRun.State {
  var needsFrames: Bool {
    isInterrupted || !changes.isEmpty || !settling.isEmpty || !brackets.isEmpty || ramp != nil
      || hasAutoOnce
  }

  /// The watch gets frames from the next one on, until it needs none.
  func needFrames() { engine?.wake(SessionWatch.name) }
}

/// A sink that reads no pixels: it sees that frames come, and hands on what is told beside them.
final class SessionWatch: RestingSink {
  static let name = "session"
  var name: String { Self.name }
  private let run: SessionRun
  private var isLive = true

  init(_ run: SessionRun) { self.run = run }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.backlog = 1
    isLive = setup.source.isLive
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    run.note(frame.record)
    run.watchSound()
    for index in 0..<frame.view.eventCount {
      run.take(frame.view.event(index))
    }
    // Before the frame's reports: it tells from which frame on loops have what was set.
    run.deliverNews()
    run.didSee(FrameMark(frame.record), frame.view)
  }

  func account(_ lost: LostFrame) throws(RunError) {
    if lost.fate != .missing { run.noteArrival() }
    for event in lost.events { run.take(event) }
    run.deliverNews()
  }

  /// A stage rejected it: the camera is at work all the same.
  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    run.note(frame.record)
    for event in lost.events { run.take(event) }
    run.deliverNews()
    run.didSee(FrameMark(frame.record), frame)
  }

  var needsNoFrame: Bool { run.needsNoFrame }
  /// Larger: fewer wake-ups, and an interruption is noticed later.
  let longestRest = Duration.milliseconds(200)

  func rest(hasFrames: Bool) throws(RunError) {
    // Offline, frames wait for slow sinks.
    if hasFrames { run.noteArrival() } else if isLive { run.noteIdle() }
    run.watchSound()
    run.deliverNews()
  }

  func idle() throws(RunError) {
    run.noteIdle()
    run.watchSound()
    run.deliverNews()
  }

  func finish() throws(RunError) { run.noteEnd() }
}
