internal import SprocketCodecs
public import SprocketCore
internal import SprocketV4L2

/// A camera of this machine, by V4L2's memory-mapped streaming.
///
/// The name is a node (`/dev/video0`, `video0`), a link to one (`/dev/v4l/by-id/...`), an identity
/// (``DeviceIdentity``), a card's name, or a part of it that only one has, or a wish (`?size=1920x1080`,
/// `CameraWish`); none is the first camera. `CameraNegotiation` says how format, size and rate are
/// chosen.
///
/// ## Memory
///
/// Encoded frames are copied, and their buffer goes back to the driver at once. Raw ones are lent where
/// they lie while at least three buffers stay with the driver, else copied without their rows' padding.
/// `counts` tells how many were `borrowed` and `copied`. v4l2loopback writes into buffers that it handed
/// out, so its frames are always copied.
///
/// ## Number, time and damage
///
/// A frame's number is the driver's, continued beyond 32 bits: a jump is `missing`. `CameraClock` says
/// what `captured` is. `corrupt` are frames that the driver flags, raw frames that are too short, and
/// JPEGs that are broken in structure. So are pictures that a driver makes where no signal comes in:
/// `CameraSignal`.
///
/// ## Motion-JPEG
///
/// Only a frame tells how its chroma is subsampled, so `open` lets the camera stream until it has seen
/// one, and stops it again: what comes before the first `next` would be old. When a later frame has
/// another size or subsampling an epoch begins.
///
/// ## H.264 and HEVC
///
/// Frames are pictures, each with its packet: `CameraPackets`. What was captured before the first key frame
/// is `startup`; behind a packet that is damaged or did not come frames are `corrupt` up to the next key
/// frame, for which the camera is asked. Other parameter sets begin an epoch.
///
/// ## Unplugged
///
/// With the setting `replug` a camera that was unplugged is waited for: `CameraAbsence`.
///
/// ## Trouble
///
/// When nothing has come for four frame periods, and at least half a second, the frame that ends the pause
/// has the event `.stalled`. After each third of the setting `timeout` without a frame the stream is stopped
/// and started again, which ends the stall of many cameras; after `timeout` the run fails. A read that fails
/// (`EIO`) is counted and tried again, until then; a queue that the driver has stopped is started again.
public final class CameraSource: Source {
  /// The frame that `next` announced.
  struct Held {
    var frame: V4L2Frame
    var arrived: ArrivedFrame
  }

  let name: String
  let settings: CameraSettings
  /// What is asked for, the wish's part with it.
  var wanted = FormatRequest()
  var title = ""
  var card = ""
  var device: V4L2Device?
  var mode: CameraMode?
  var format: FrameFormat?
  var layout: CameraLayout?
  var loans = CameraLoans(count: 0, mayLend: false)
  var controls = CameraControls([])
  var writing = CameraWriting()
  var held: Held?
  var sequence = CameraSequence()
  var clock = CameraClock()
  var firstNumber: UInt64?
  var isStreaming = false
  /// On CLOCK_MONOTONIC: when the last frame came or streaming began.
  var lastArrival: Int64 = 0
  /// When the last frame came; `nil` before the first.
  var lastFrame: Int64?
  /// When the last frame came, not counting the first one of a reopened camera: some devices give an old
  /// frame to whoever opens them. `nil` before the first.
  var lastNewFrame: Int64?
  var isStalled = false
  /// Nanoseconds without a frame, when a frame was last asked for.
  var silence: Int64 = 0
  /// Times that the stream was started again since then.
  var restartsInStall: Int64 = 0
  var restarts: UInt64 = 0
  var lastRestart: Int64 = 0
  /// The stream was started again since the last frame.
  var hasNewNumbers = false
  /// Since when the camera refuses to stream; `nil` while it does not.
  var refusedSince: Int64?
  /// What it is looked for by when it was unplugged.
  var identity: DeviceIdentity?
  var path = ""
  /// The camera is unplugged.
  var absence: CameraAbsence?
  /// What was unplugged, while frames in its memory are still lent.
  var retired: V4L2Device?
  var retiredLoans = CameraLoans(count: 0, mayLend: false)
  /// How often it was opened; tells the buffers of one opening from those of the next.
  var opening = 1
  var unplugs: UInt64 = 0
  /// Times that the input received another resolution.
  var sourceChanges: UInt64 = 0
  /// The driver told of a change at the input that has not been looked at.
  var isInputChanged = false
  /// Nanoseconds without the camera.
  var away: Int64 = 0
  /// What the source was last said to be.
  var described: SourceDescription?
  /// The last request failed because the device is gone.
  var isGone = false
  var failure: RunError?
  /// What was found out before the first frame.
  var firstNotes: [String] = []
  var signal = CameraSignal()
  /// Decodes the packets of a camera that gives H.264 or HEVC; `nil` for other formats. A camera does not
  /// change between the two during a run.
  var packets: CameraPackets?
  let keyFrames = KeyFrameRequest()
  /// When the camera was asked for a key frame; `nil` if one has come since.
  var askedForKey: Int64?
  var damage = EncodedDamage()
  let interruption = SourceInterrupt()
  var borrowed: UInt64 = 0
  var copied: UInt64 = 0
  var readErrors: UInt64 = 0

  /// Opens nothing yet.
  public init(name: String, _ settings: CameraSettings = CameraSettings()) {
    self.name = name
    self.settings = settings
  }

  /// `--source camera[:NAME]`.
  public static let kind = SourceKind(
    "camera", "a camera of this machine", argument: "name", isArgumentOptional: true,
    CameraSettings.self
  ) { (settings) throws(RunError) in CameraSource(name: settings.name, settings) }

  /// The node's path, links followed; `nil` if there is no such camera.
  public var deviceIdentity: String? {
    do throws(RunError) { return try CameraNode.named(name).path } catch { return nil }
  }

  public func again() -> (any Source)? { CameraSource(name: name, settings) }

  public func interrupt() { interruption.set() }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if let failure { throw failure }
    if interruption.isSet { return .end }
    if let held { return .frame(held.arrived) }
    isGone = false
    do throws(RunError) {
      if absence != nil { return try look(within: timeout) }
      if !isStreaming { try begin(within: timeout) }
      guard isStreaming else { return .nothing }
      if isInputChanged {
        isInputChanged = false
        if device!.hasOtherTimings() {
          leave(for: .sourceChange)
          return .nothing
        }
      }
      takeWrites()
      forceKeyFrames()
      giveBackIdle()
      return try asking { () throws(V4L2Error) in try wait(timeout) }
    } catch {
      if error.code == .interrupted { return .end }
      if isGone, settings.usedReplug > .zero {
        leave()
        return .nothing
      }
      failure = error
      throw error
    }
  }

  /// Starts the stream. What was written to controls before shows from the first frame on; what of it is
  /// refused ends the run, for it was asked for.
  private func begin(within timeout: Int64) throws(RunError) {
    guard mayStart(within: timeout) else { return }
    readControls()
    if opening == 1 { try takeFirstWrites() } else { takeWrites() }
    // Others may follow from what was written.
    if !controls.written.isEmpty { readControls() }
    guard try starts() else { return }
    isStreaming = true
    lastArrival = monotonicNow()
    restartsInStall = 0
  }

  /// Queues every buffer that is not lent and lets the device stream. A buffer that is refused now is tried
  /// again with the first frame, unless all are.
  func startStream() throws(V4L2Error) {
    packets?.restart()
    askedForKey = nil
    var refusal: V4L2Error?
    let idle = loans.idle
    for index in 0..<loans.count where idle & 1 << UInt64(index) != 0 {
      do throws(V4L2Error) {
        try device!.queue(index)
        loans.didQueue(index)
      } catch {
        refusal = error
      }
    }
    if let refusal, loans.queuedCount == 0 { throw refusal }
    try device!.start()
  }

  private func wait(_ timeout: Int64) throws(V4L2Error) -> Arrival {
    if let frame = try dequeue(within: timeout) { return announce(frame, now: monotonicNow()) }
    try checkPatience(monotonicNow())
    return .nothing
  }

  /// The next frame of the driver, if one comes within `timeout` nanoseconds. Also reads the driver's
  /// events: changed controls, and a changed signal.
  func dequeue(within timeout: Int64) throws(V4L2Error) -> V4L2Frame? {
    let patience = min(timeout, SourceInterrupt.attention)
    let ready = device!.wait(milliseconds: Int32((patience + 999_999) / 1_000_000))
    if ready.contains(.event) { takeEvents() }
    guard !ready.isDisjoint(with: [.frame, .failure]) else { return nil }
    if let frame = try dequeue(ready) { return frame }
    // A device that is always ready and never has a frame must not keep a core busy.
    sleep(until: monotonicNow() + min(patience, 5_000_000))
    return nil
  }

  private func dequeue(_ ready: V4L2Readiness) throws(V4L2Error) -> V4L2Frame? {
    do throws(V4L2Error) {
      return try device!.dequeue()
    } catch {
      guard error.code != .gone else { throw error }
      // The driver lost this one, or its queue has stopped: then it is started again.
      if ready.contains(.failure), isStreaming {
        guard monotonicNow() - lastRestart > Self.restartInterval else { return nil }
        try restart()
      }
      readErrors += 1
      return nil
    }
  }

  private func announce(_ frame: V4L2Frame, now: Int64) -> Arrival {
    loans.didDequeue(frame.index)
    if isStalled {
      controls.ready.add(Event(kind: .stalled, value: Double(now - lastArrival) * 1e-6))
      isStalled = false
    }
    lastArrival = now
    silence = 0
    lastFrame = now
    if firstNumber != nil || opening == 1 { lastNewFrame = now }
    restartsInStall = 0
    let number = sequence.extend(
      frame.sequence, at: frame.nanoseconds, rate: format?.rate.framesPerSecond ?? 0)
    let (captured, point) = clock.stamp(frame, sequence: number, now: now)
    let first = firstNumber ?? number
    firstNumber = first
    controls.advance(to: captured.nanoseconds)
    if signal.isDue(now) { signal.found(device!.hasSignal(), at: now) }
    let isWithoutSignal = signal.condemns()
    var arrived = ArrivedFrame(
      sequence: number, captured: captured, capturePoint: point,
      isCorrupt: frame.isDamaged || isWithoutSignal,
      isStartup: number >= first && number - first < UInt64(settings.startup),
      inForce: controls.inForce)
    let found = packets == nil ? check(frame, &arrived) : take(packet: frame, &arrived)
    arrived.driverFlags = frame.flags
    held = Held(frame: frame, arrived: arrived)
    if !arrived.isCorrupt, let found, found.image != nil, found != format {
      format = found
      hasNewNumbers = false
      return .epoch(description(found), .formatChange)
    }
    if hasNewNumbers, let described {
      hasNewNumbers = false
      return .epoch(described, .replug)
    }
    return .frame(arrived)
  }

  /// Throws if the camera is away: what was asked for after that is not there.
  public func close() throws(RunError) {
    held = nil
    writeAtEnd()
    keepDelays()
    if isStreaming { device?.stop() }
    if loans.hasLent { device?.leaveMemoryMapped() }
    device = nil
    if let absence, absence.reason == .unplugged { away += monotonicNow() - absence.since }
    if retiredLoans.hasLent { retired?.leaveMemoryMapped() }
    retired = nil
    if let absenceError { throw absenceError }
  }
}
