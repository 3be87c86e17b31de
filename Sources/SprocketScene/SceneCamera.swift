package import SprocketCore

/// The state of the scene's camera: where it points and what its controls say, frame by frame. Pure.
package struct SceneCamera: Sendable {
  package enum Control: Int, Sendable, CaseIterable {
    case exposure, gain, lens
  }

  private let settings: SceneSettings
  private let motion: SceneMotion
  private let lens: SceneLens
  private var drive: SceneLensDrive
  /// When the drive was last asked where it is, in seconds from the start.
  private var lastSeconds: Double?
  /// Writes on their way to their answer, and, by control, from there to the picture.
  private var delay: ControlDelay
  private var showing: [ControlDelay]
  private let lags: [UInt64]
  private var state: SceneMoment
  /// What frames are said to be taken with: of the writes that were answered.
  package private(set) var told: ControlState
  /// Frames after which everything repeats, and nanoseconds per frame; 0 where nothing does.
  private let cycle: UInt64
  private let period: Double

  package init(_ settings: SceneSettings) {
    self.settings = settings
    motion = SceneMotion(settings.motionSettings, seed: settings.seed)
    lens = settings.lensModel
    drive = settings.lensDrive
    delay = ControlDelay()
    lags = [settings.exposureLag, settings.gainLag, settings.lensLag].map { UInt64($0) }
    showing = lags.map { _ in ControlDelay() }
    told = ControlState()
    told.exposureMicroseconds = Float(settings.exposure)
    told.gain = Float(settings.gain)
    told.lensPosition = Float(settings.lens)
    cycle = UInt64(settings.cached)
    period = 1 / settings.rate.framesPerSecond
    state = SceneMoment()
    state.exposureMicroseconds = settings.exposure
    state.gain = settings.gain
    state.lensPosition = settings.lens
  }

  /// Takes a control write that is answered at frame `number`, and in force so many frames later as the
  /// settings say; from the first frame on at once. False when too many wait.
  package mutating func write(_ change: ControlDelay.Change, from number: UInt64) -> Bool {
    guard lags.indices.contains(change.control), delay.write(change, from: number) else {
      return false
    }
    let lag = number == 0 ? 0 : lags[change.control]
    return showing[change.control].write(change, from: number + lag)
  }

  /// The next change that is answered at frame `number`. Call it until it returns `nil`: then all that is in
  /// force at that frame is.
  package mutating func apply(at number: UInt64) -> ControlDelay.Change? {
    guard let change = delay.take(at: number) else {
      for control in showing.indices { show(control, at: number) }
      return nil
    }
    switch Control(rawValue: change.control) {
    case .exposure: told.exposureMicroseconds = Float(change.value)
    case .gain: told.gain = Float(change.value)
    case .lens: told.lensPosition = Float(change.value)
    case nil: break
    }
    return change
  }

  private mutating func show(_ control: Int, at number: UInt64) {
    while let change = showing[control].take(at: number) {
      switch Control(rawValue: control) {
      case .exposure: state.exposureMicroseconds = change.value
      case .gain: state.gain = change.value
      case .lens: drive.target = change.value
      case nil: break
      }
    }
  }

  /// The true state of a frame. Must be called in order, because the lens moves from frame to frame. A cached
  /// scene repeats the frames of its first cycle, with the times that they have without faults.
  package mutating func truth(of capture: SceneCapture) -> SceneTruth {
    let seconds = Double(capture.taken) * 1e-9
    moveLens(to: seconds)
    var truth = SceneTruth()
    truth.capture = capture
    truth.moment = moment(capture.number, seconds: seconds)
    truth.blurSigma = lens.sigma(in: truth.moment)
    truth.focus = lens.focus + truth.moment.focusShift
    truth.light = settings.light + truth.moment.light
    return truth
  }

  /// Moves the lens from the previous frame's time to this one's. A change in force from this frame on acts
  /// over that whole time; before the first frame, the drive reaches its target.
  private mutating func moveLens(to seconds: Double) {
    drive.advance(by: lastSeconds.map { max(seconds - $0, 0) } ?? .infinity)
    lastSeconds = seconds
    state.lensPosition = drive.position
  }

  package func moment(_ number: UInt64, seconds: Double) -> SceneMoment {
    var moment = state
    moment.frame = cycle == 0 ? number : number % cycle
    let time = cycle == 0 ? seconds : Double(moment.frame) * period
    moment.sceneFromFrame = motion.sceneFromFrame(at: time)
    moment.focusShift = settings.focusStep(at: time)
    moment.light = settings.lightStep(at: time)
    moment.object.share = settings.object
    moment.object.way = settings.objectSpeed * time
    return moment
  }
}
