public import Sprocket
internal import Synchronization

/// Cameras, microphones and outputs that work together: AVCaptureSession, over one engine.
///
///     let session = try CaptureSession()
///     let photos = PhotoOutput()
///     try await session.configure { c throws(CaptureError) in
///       c.add(try DeviceInput(camera))
///       c.add(photos)
///     }
///     try await session.start()
///
/// Its calls run one after the other on a thread of its own, so that none blocks the caller's. `configure`,
/// `start` and `switchCamera` take turns in the order in which they were called; `stop` does not wait for a
/// turn. A session that is released stops.
public actor CaptureSession {
  private nonisolated let executor: CaptureExecutor
  nonisolated let runtimeErrorCast = Broadcast<CaptureError>()
  nonisolated let interruptionCast = Broadcast<SessionInterruption>()
  nonisolated let runningCast = Broadcast<Bool>()
  private nonisolated let isRunningNow = Atomic<Bool>(false)
  var shape = SessionShape()
  var run: SessionRun?
  private let turns = Turns()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Throws where the system has no thread for it.
  public init() throws(CaptureError) {
    do throws(RunError) { executor = try CaptureExecutor() } catch { throw CaptureError(error) }
  }

  deinit {
    run?.engine?.stop()
    for output in shape.outputs { output.core.didRemove() }
  }

  /// Whether frames are, or should be, flowing: a snapshot, from any thread.
  public nonisolated var isRunning: Bool { isRunningNow.load(ordering: .acquiring) }

  func setRunning(_ isRunning: Bool) {
    guard isRunningNow.exchange(isRunning, ordering: .acquiringAndReleasing) != isRunning else {
      return
    }
    runningCast.send(isRunning)
  }

  /// True at each start, false at each end, whatever ended it. From now on.
  public nonisolated var runningChanges: AsyncStream<Bool> { runningCast.stream() }

  /// Whether the session runs and waits for frames or for sound, as `interruptions` tells.
  public var isInterrupted: Bool {
    run?.state.withLock { $0.isInterrupted || $0.sound?.silentSince != nil } ?? false
  }

  /// Errors that ended a run, and those that `configure`, `start` and `switchCamera` threw, with the mark
  /// `isThrown`: also where a caller ignored them. Each failure comes once, whatever it leads to. From now
  /// on.
  public nonisolated var runtimeErrors: AsyncStream<CaptureError> { runtimeErrorCast.stream() }

  /// Times without frames, or without sound, that the session waits out by itself: a camera or microphone
  /// that was unplugged, for example. From now on.
  public nonisolated var interruptions: AsyncStream<SessionInterruption> {
    interruptionCast.stream()
  }

  // MARK: Turns

  /// Waits until no other change is under way. First come, first served.
  func takeTurn() async {
    await turns.take()
  }

  func endTurn() {
    turns.end()
  }

  // MARK: Start and stop

  /// Opens the devices and lets frames and sound flow. A microphone alone will do. Returns when the engine
  /// runs; does nothing if it does. Throws if there is no input, if the preset is not offered, or if a device
  /// cannot be opened or set up.
  public func start() async throws(CaptureError) {
    await takeTurn()
    defer { endTurn() }
    endIfOver()
    guard run == nil else { return }
    do throws(CaptureError) {
      try begin(shape)
    } catch {
      tell(thrown: error)
      throw error
    }
  }

  /// Sends an error to the stream that a call is about to throw.
  func tell(thrown error: CaptureError) {
    var told = error
    told.isThrown = true
    runtimeErrorCast.send(told)
  }

  /// Ends the run: recordings are completed, frames under way are finished. Returns when that is done, at
  /// most some 20 seconds later, whatever a callback does.
  public func stop() {
    guard let run else { return }
    end(run)
  }

  // MARK: Configure

  /// Changes inputs, outputs, preset, rate and stages as one change. It holds when `body` has returned and
  /// nothing was refused; else the session is as before, and the refusals are thrown together.
  ///
  /// While the session runs, outputs and microphones come and go without a gap for the others; another
  /// camera, format or stage begins a new epoch. The first frame of it has the mark
  /// `FrameRecord.isDiscontinuity`. Other sound stages begin a new run, which ends recordings.
  ///
  /// `body` runs where the caller is, so that it can use what belongs to the caller.
  @discardableResult
  public nonisolated(nonsending) func configure<Result>(
    _ body: (inout Configuration) throws(CaptureError) -> Result
  ) async throws(CaptureError) -> Result {
    let before = await beginChange()
    var configuration = Configuration(before, of: ObjectIdentifier(self))
    let result: Result
    do throws(CaptureError) {
      result = try body(&configuration)
    } catch {
      await abandon(configuration.added.map(\.output), because: error)
      throw error
    }
    let draft = SessionDraft(
      shape: configuration.shape, refusals: configuration.refusals,
      added: configuration.added.map(\.output))
    try await commit(draft)
    return result
  }

  /// Whether the input could be added, and if not, why. Changes nothing.
  public func canAdd(_ input: DeviceInput) -> Answer { shape.mayAdd(input) }

  /// Whether the output could be added, and if not, why. Changes nothing.
  public func canAdd(_ output: any CaptureOutput) -> Answer {
    shape.mayAdd(output, to: ObjectIdentifier(self))
  }

  /// Whether the preset could be set, and if not, why, and what could. Changes nothing.
  public func canSet(_ preset: SessionPreset) -> Answer { shape.maySet(preset) }

  public var preset: SessionPreset { shape.preset }
  public var inputs: [DeviceInput] { shape.inputs }
  public var outputs: [any CaptureOutput] { shape.outputs }

  /// What the camera delivers; `nil` while the session does not run, and without a camera.
  public var activeFormat: FrameFormat? {
    run?.device == nil ? nil : run?.engine?.description.format
  }

  /// The sound that outputs get of the microphone: known as soon as `start` has opened it, before the first
  /// block. `nil` while the session does not run, and without a microphone. Another microphone that takes its
  /// place in a running session gives the same format.
  public var activeSoundFormat: AudioFormat? {
    run?.sound.flatMap { $0.device == nil ? nil : $0.engine.description.format }
  }

  /// The account of the present run, or of the last one; `nil` before the first.
  public internal(set) var summary: RunSummary? {
    get { run?.engine?.summary ?? lastSummary }
    set { lastSummary = newValue }
  }
  private var lastSummary: RunSummary?
}

/// A change of a session that is to be committed.
struct SessionDraft: Sendable {
  let shape: SessionShape
  let refusals: [CaptureError]
  let added: [any CaptureOutput]
}
