internal import Sprocket

/// The microphone of a run.
struct SessionSound: Sendable {
  let engine: AudioEngine
  let device: CaptureDevice
}

/// One run of a session's engine, and what is to be told of it. Its threads use it, and the session.
final class SessionRun: Sendable {
  struct State {
    /// `nil` before the start, and after the end.
    var engine: Engine?
    var onEnd: (@Sendable (SessionRun) -> Void)?
    var device: CaptureDevice
    var choice: FormatChoice
    /// Replaced as a whole: others read their copy without the lock.
    var outputs: [any SessionOutput] = []
    var mark = NewsMark()
    /// When the last frame came, on the monotonic clock.
    var lastArrival: Int64
    var hasFrames = false
    var isInterrupted = false
    var latest: FrameMark?
    var changes = ControlChanges()
    /// Names of the plug-ins in the chain.
    var stages: Set<String> = []
    var stabilization: String?
    /// The mode of each of the chain's loops: as its stage was configured, and as it was set since.
    var loopModes: [CaptureDevice.Loop: (stage: StageChoice, mode: String)] = [:]
    var settling: [SettleWait] = []
    var sound: SessionSound?
  }

  let state: Locked<State>
  private let interruptions: Broadcast<SessionInterruption>

  init(
    device: CaptureDevice, choice: FormatChoice, interruptions: Broadcast<SessionInterruption>
  ) {
    self.interruptions = interruptions
    state = Locked(State(device: device, choice: choice, lastArrival: monotonicNow()))
  }

  var engine: Engine? { state.withLock(\.engine) }
  var device: CaptureDevice { state.withLock(\.device) }
  var choice: FormatChoice { state.withLock(\.choice) }

  func begin(_ engine: Engine, _ onEnd: @escaping @Sendable (SessionRun) -> Void) {
    state.withLock { ($0.engine, $0.onEnd) = (engine, onEnd) }
  }

  func setSource(_ device: CaptureDevice, _ choice: FormatChoice) {
    state.withLock { state in
      (state.device, state.choice) = (device, choice)
      // It takes its time until its first frame.
      (state.hasFrames, state.lastArrival) = (false, monotonicNow())
    }
  }

  func setStages(_ shape: SessionShape) {
    state.withLock { state in
      state.stages = shape.stageNames
      state.stabilization = shape.stages.first { $0.plugin.name == "stabilize" }
        .map { $0.values["mode"] ?? "auto" }
      let before = state.loopModes
      state.loopModes = [:]
      for stage in shape.stages {
        guard let loop = CaptureDevice.Loop(rawValue: stage.plugin.name) else { continue }
        let known = before[loop].flatMap { $0.stage.isSame(as: stage) ? $0.mode : nil }
        state.loopModes[loop] = (stage, known ?? stage.values["mode"] ?? "continuous")
      }
    }
  }

  var stages: Set<String> { state.withLock(\.stages) }

  func setSound(_ sound: SessionSound?) { state.withLock { $0.sound = sound } }

  var sound: SessionSound? { state.withLock(\.sound) }

  /// The mode of the stage `stabilize`, as it was configured; `nil` where the chain has none.
  var stabilization: String? { state.withLock(\.stabilization) }

  func attach(_ output: any SessionOutput, _ sinks: [any Sink]) {
    state.withLock { $0.outputs = $0.outputs + [output] }
    let names = sinks.map(\.name)
    output.core.state.withLock { ($0.run, $0.sinks) = (self, names) }
  }

  func detach(_ output: any SessionOutput) {
    deliverNews()
    state.withLock { state in state.outputs = state.outputs.filter { $0 !== output } }
    output.core.state.withLock { ($0.run, $0.sinks) = (nil, []) }
    output.didLeave()
  }

  /// Lets go of the engine: nothing more is told.
  func close() {
    deliverNews()
    let old = state.withLock { state in
      defer {
        (state.engine, state.sound, state.onEnd, state.outputs) = (nil, nil, nil, [])
        (state.changes, state.settling) = (ControlChanges(), [])
      }
      return state
    }
    let (outputs, device) = (old.outputs, old.device)
    old.changes.cancel()
    for wait in old.settling { wait.reader.resume(returning: .failure(SettleWait.isOver)) }
    device.state.withLock { if $0.run === self { $0.run = nil } }
    for output in outputs {
      output.core.state.withLock { ($0.run, $0.sinks) = (nil, []) }
      output.didLeave()
    }
  }

  // MARK: News

  /// Hands on what happened to recordings, in order.
  func deliverNews() {
    let (news, outputs) = state.withLock { state -> ([RunNews], [any SessionOutput]) in
      guard let engine = state.engine, engine.hasNews(since: state.mark) else { return ([], []) }
      return (engine.news(since: &state.mark), state.outputs)
    }
    for item in news { for output in outputs { output.take(item) } }
  }

  // MARK: Frames

  /// Time without a frame after which a session counts as interrupted; before the first frame, which a camera
  /// may take two seconds for, it is longer. Larger: short pauses are not told of.
  private static let patience: Int64 = 1_000_000_000
  private static let firstPatience: Int64 = 5_000_000_000

  /// A frame came.
  func note(_ record: FrameRecord) {
    let now = monotonicNow()
    let (pause, device) = state.withLock { state -> (Int64?, CaptureDevice) in
      defer {
        state.lastArrival = now
        state.hasFrames = true
        state.isInterrupted = false
        state.latest = FrameMark(record)
      }
      return (state.isInterrupted ? now - state.lastArrival : nil, state.device)
    }
    device.observers.tell(record.inForce)
    if let pause { interruptions.send(.ended(after: .nanoseconds(pause))) }
  }

  /// Frames have waited while the run changed its shape.
  func noteChange() { state.withLock { $0.lastArrival = monotonicNow() } }

  /// No frame came.
  func noteIdle() {
    let now = monotonicNow()
    let device = state.withLock { state -> CaptureDevice? in
      let patience = state.hasFrames ? Self.patience : Self.firstPatience
      guard !state.isInterrupted, now - state.lastArrival > patience else { return nil }
      state.isInterrupted = true
      return state.device
    }
    guard let device else { return }
    interruptions.send(.began(device.isConnected ? .noFrames : .deviceDisconnected))
  }

  func noteEnd() {
    let end = state.withLock(\.onEnd)
    end?(self)
  }
}

/// A sink that reads no pixels: it sees that frames come, and hands on what is told beside them.
final class SessionWatch: Sink {
  let name = "session"
  private let run: SessionRun
  private var loops: [LoopReport] = []

  init(_ run: SessionRun) { self.run = run }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.backlog = 1
    loops = setup.reports.compactMap { LoopReport($0) }
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    run.note(frame.record)
    for index in 0..<frame.view.eventCount {
      run.take(frame.view.event(index))
    }
    run.didSee(FrameMark(frame.record))
    if run.hasSettling {
      for report in loops {
        guard let word = report.state(of: frame) else { continue }
        run.settle(report.loop, word, at: FrameMark(frame.record))
      }
    }
    run.deliverNews()
  }

  func account(_ lost: LostFrame) throws(RunError) {
    for event in lost.events { run.take(event) }
    run.deliverNews()
  }

  func idle() throws(RunError) {
    run.noteIdle()
    run.deliverNews()
  }

  func finish() throws(RunError) { run.noteEnd() }
}
