internal import SprocketCore

/// The state of the scene's camera: where it points and what its controls say, frame by frame. Pure.
package struct SceneCamera: Sendable {
  package enum Control: Int, Sendable, CaseIterable {
    case exposure, gain, lens
  }

  private let motion: SceneMotion
  private let lens: SceneLens
  private var delay: ControlDelay
  private var state: SceneMoment
  /// Frames after which everything repeats, and nanoseconds per frame; 0 where nothing does.
  private let cycle: UInt64
  private let period: Double

  package init(_ settings: SceneSettings) {
    motion = SceneMotion(settings.motionSettings, seed: settings.seed)
    lens = settings.lensModel
    delay = ControlDelay()
    cycle = UInt64(settings.cached)
    period = 1 / settings.rate.framesPerSecond
    state = SceneMoment()
    state.exposureMicroseconds = settings.exposure
    state.gain = settings.gain
    state.lensPosition = settings.lens
  }

  /// Takes a control write that is in force from frame `number` on. False when too many wait.
  package mutating func write(_ change: ControlDelay.Change, from number: UInt64) -> Bool {
    delay.write(change, from: number)
  }

  /// The next change that is in force from frame `number` on, put into force.
  package mutating func apply(at number: UInt64) -> ControlDelay.Change? {
    guard let change = delay.take(at: number) else { return nil }
    switch Control(rawValue: change.control) {
    case .exposure: state.exposureMicroseconds = change.value
    case .gain: state.gain = change.value
    case .lens: state.lensPosition = change.value
    case nil: break
    }
    return change
  }

  /// What frame `number`, taken `nanoseconds` after the start, shows. A cached scene shows the frame
  /// of the same place in its first cycle, as if nothing had disturbed the beat.
  package func truth(of capture: SceneCapture) -> SceneTruth {
    var truth = SceneTruth()
    truth.capture = capture
    truth.moment = moment(
      capture.number, seconds: Double(capture.taken) * 1e-9)
    truth.blurSigma = lens.sigma(at: truth.moment.lensPosition)
    return truth
  }

  package func moment(_ number: UInt64, seconds: Double) -> SceneMoment {
    var moment = state
    moment.frame = cycle == 0 ? number : number % cycle
    let time = cycle == 0 ? seconds : Double(moment.frame) * period
    moment.sceneFromFrame = motion.sceneFromFrame(at: time)
    return moment
  }
}
