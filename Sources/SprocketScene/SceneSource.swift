public import SprocketCore
internal import SprocketFiles

/// The built-in synthetic camera: a town drawn from a seed, seen through a lens, by a sensor, in a
/// shaking hand, with faults on request.
///
/// Everything is decided by the settings: two runs show the same frames, whatever the threads. At
/// real pace it behaves like a driver with four buffers: frames appear when they are due, and are
/// lost with a jump of the sequence when nobody takes them. At fast pace it is not live and nothing
/// is lost but what `drop` loses.
///
/// Controls `exposure` (microseconds), `gain` and `lens` (0...1) take effect `delay` frames after
/// the newest frame at the time of writing, and at once before the first. A cached scene has none.
/// With `exposurelag` and the like it answers then, as a driver does, and the picture follows later.
/// Frame records state the lens position that was requested. The actual position, after travel and backlash,
/// is in the truth file only.
///
/// A frame is drawn while waiting for it, and copied into its slot: no memory is lent.
public final class SceneSource: Source {
  public let settings: SceneSettings
  private let frames: SceneFrames
  private let port: ControlPort?
  /// Whether frames have the size that `formatchange` switches to and fro.
  private var isAlternate = false
  private var truthFile: FileWriter?
  /// What was done so far.
  package private(set) var record = SceneRecord()
  // One of the two is used, by pace.
  private var timeline: SceneTimeline
  private var driver: SceneDriver
  private var stamper: SceneStamper
  private let clock: SceneClock
  /// CLOCK_MONOTONIC at the start; 0 before the first frame.
  private var start: Int64 = 0
  /// The newest frame that was told of.
  private var newest: UInt64?
  private let interruption = SourceInterrupt()
  private var delay: UInt64 { UInt64(settings.delay) }

  private var isReal: Bool { settings.pace != .fast }

  /// `--source scene`.
  public static let kind = SourceKind(
    "scene", "the built-in synthetic camera", SceneSettings.self
  ) { (settings) throws(RunError) in
    try SceneSource(settings)
  }

  public static let controlNames = SceneCamera.Control.allCases.map { "\($0)" }

  /// Throws for settings that are impossible together; draws nothing yet.
  public init(_ settings: SceneSettings) throws(RunError) {
    try settings.check(of: "the source scene")
    try settings.check()
    self.settings = settings
    frames = SceneFrames(settings, interruption)
    clock = SceneClock(
      // All scenes and microphones have the whole seconds of the clock, with flashes and beeps.
      genlock: settings.genlock ? settings.flash > 0 ? .perSecond : settings.rate : nil,
      phase: settings.phase.nanosecondCount)
    let faults = SceneFaults(settings.faults, seed: settings.seed)
    stamper = SceneStamper(faults)
    timeline = SceneTimeline(faults, rate: settings.rate, startupFrames: settings.startup)
    driver = SceneDriver(timeline)
    port =
      settings.cached == 0
      ? ControlPort(controls: Self.controls, tellsWhatShows: settings.tellsWhatShows) : nil
    for (index, value) in [settings.exposure, settings.gain, settings.lens].enumerated() {
      port?.report(value, of: UInt16(index))
    }
  }

  /// For a microphone that hears this scene.
  public var time: SceneTime { SceneTime(clock, pace: settings.pace ?? .real) }

  /// In the order of `SceneCamera.Control`.
  package static let controls = [
    ControlDescription(
      name: "exposure", unit: "us", minimum: SceneSettings.exposures.lowerBound,
      maximum: SceneSettings.exposures.upperBound),
    ControlDescription(
      name: "gain", unit: "", minimum: SceneSettings.gains.lowerBound,
      maximum: SceneSettings.gains.upperBound),
    ControlDescription(name: "lens", unit: "", minimum: 0, maximum: 1),
  ]

  public func open() throws(RunError) -> SourceDescription {
    if interruption.isSet { throw Self.interrupted }
    if !settings.truth.isEmpty {
      truthFile = try FileWriter(
        path: settings.truth.path, purpose: "the scene's truth", overwrite: true)
    }
    return try describe(isAlternate: false)
  }

  private func describe(isAlternate: Bool) throws(RunError) -> SourceDescription {
    let (format, capacity) = try frames.select(isAlternate: isAlternate)
    if interruption.isSet { throw Self.interrupted }
    return SourceDescription(
      name: "scene", format: format, isLive: isReal, clock: isReal ? .monotonic : .media,
      capacity: capacity, controls: port)
  }

  private static var interrupted: RunError {
    RunError(.interrupted, "drawing the scene was ended before its time")
  }

  public func interrupt() { interruption.set() }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    do throws(RunError) {
      return try look(timeout)
    } catch {
      if error.code == .interrupted { return .end }
      throw error
    }
  }

  /// Says what the controls have become with the frame that was made.
  private func reportControls() {
    guard let port else { return }
    let new = frames.events
    for index in new.events.indices where new.events[index].kind == .controlApplied {
      port.report(new.events[index].value, of: new.events[index].control)
    }
  }

  private func look(_ timeout: Int64) throws(RunError) -> Arrival {
    if interruption.isSet { throw Self.interrupted }
    // Not before all is ready: the first frames would be late.
    if start == 0 { start = clock.begin() }
    // What is written before the first frame is how the camera starts.
    while let write = port?.take() { frames.write(write, from: newest.map { $0 + delay } ?? 0) }
    guard let step = isReal ? wait(timeout) : timeline.next() else { return .nothing }
    switch step {
    case .frame(let capture):
      frames.make(capture)
      reportControls()
      // What was cut short is no frame.
      if interruption.isSet { throw Self.interrupted }
      return .frame(try announce(capture))
    case .replug:
      record.replugs += 1
      frames.events.add(Event(kind: .replugged))
      return .epoch(try describe(isAlternate: isAlternate), .replug)
    case .formatChange(_, let toAlternate):
      record.formatChanges += 1
      isAlternate = toAlternate
      return .epoch(try describe(isAlternate: isAlternate), .formatChange)
    }
  }

  /// The next step at real pace, or `nil` if it is not due within `timeout` nanoseconds.
  private func wait(_ timeout: Int64) -> SceneStep? {
    let begun = monotonicNow()
    while true {
      let now = monotonicNow()
      switch driver.poll(now: now - start) {
      case .ready(let step): return step
      case .wait(let until):
        let rest = timeout.clampedSum(begun - now)
        if rest <= 0 || interruption.isSet { return nil }
        drawAhead()
        _ = interruption.wait(until: start.clampedSum(until), timeout: rest)
      }
    }
  }

  /// Draws the frame that will come next, unless a control write could still change it.
  private func drawAhead() {
    if settings.delay >= 2 || port == nil, let expected = driver.expected {
      frames.make(expected)
    }
  }

  private func announce(_ capture: SceneCapture) throws(RunError) -> ArrivedFrame {
    guard let truth = frames.current else { preconditionFailure("The frame was just made.") }
    newest = capture.number
    record.add(capture, isCorrupt: frames.isCorrupt)
    try truthFile?.append(truth)
    if capture.faults.contains(.stall) {
      let wait = settings.faults.stallDuration.nanosecondCount
      frames.events.add(Event(kind: .stalled, value: Double(wait) * 1e-6))
    }
    let (time, isRepaired) =
      stamper.isNeeded ? stamp(capture) : (capture.stamped, false)
    let captured =
      isReal
      ? Timestamp(nanoseconds: start.clampedSum(time), clock: .monotonic)
      : Timestamp(nanoseconds: time, clock: .media)
    return ArrivedFrame(
      sequence: capture.sequence, captured: captured,
      capturePoint: isRepaired ? .estimated : .startOfExposure,
      isCorrupt: frames.isCorrupt, isStartup: capture.isStartup, inForce: frames.inForce)
  }

  /// When the driver, repaired, says that a frame was captured, nanoseconds since the start.
  private func stamp(_ capture: SceneCapture) -> (nanoseconds: Int64, isRepaired: Bool) {
    // At fast pace the machine has run for an hour: 0 is no time of it.
    let start = isReal ? start : 3_600_000_000_000
    return stamper.time(
      of: capture, arrival: isReal ? monotonicNow() - start : capture.due, start: start)
  }

  public var counts: [(name: String, value: UInt64)] {
    stamper.isNeeded ? [("replaced_timestamps", stamper.repaired)] : []
  }

  /// Tells of a scene that is too slow; a busy machine loses single frames of any scene.
  public var notes: [String] {
    let (lost, all) = (driver.lost, driver.lost + record.told)
    guard isReal, lost * 10 >= all, lost > 0 else { return [] }
    return [
      "only \(record.told) of the scene's \(all) frames came: it is not drawn as fast as "
        + "\(settings.rate.settingText) frames/s; give a smaller size, a lower rate, or "
        + "cached=30, which draws 30 frames at the start and repeats them"
    ]
  }

  public func takeEvents(into events: inout EventQueue) { events.take(from: &frames.events) }

  public func take(into slot: inout CaptureSlot) {
    frames.deliver(into: &slot)
  }

  public func discard() {
    frames.drop()
  }

  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    contractBroken("gives memory back to the scene, which lends none; give it to its owner")
  }

  public func close() throws(RunError) {
    defer { truthFile = nil }
    try truthFile?.complete()
  }
}
