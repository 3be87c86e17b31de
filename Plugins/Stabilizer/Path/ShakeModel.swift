internal import Glibc

/// Shift to the right and down in pixels of the full picture, and clockwise roll in radians.
typealias Pose = SIMD3<Double>

/// Predicts how a hand-held camera moves on: a Kalman filter for the three axes.
///
/// The camera's velocity is the sum of an intended one, which wanders and dies away, and of shake: a
/// damped oscillation of the position, driven by noise. Both are in continuous time, so missing frames and
/// other frame rates need no special case. The model is of unit size; the size of the motions is learned
/// from the innovations. The axes share one covariance, which does not depend on the observations.
///
/// Time is in ticks of 1/30 s.
struct ShakeModel {
  /// The parameters of one model.
  struct Kind {
    /// Frequency of the shake. Hands and steps: 1 to 2 Hz; engines, wind and trembling: around 5 Hz.
    var hertz: Double
    /// Damping as a fraction of critical damping. Larger: less is predicted of a swing. From the
    /// autocorrelation of hand-held clips, which dies away in about one period.
    var damping = 0.35
    /// Time in which an intended velocity falls to 1/e, in ticks. Larger: pans are predicted to go on for
    /// longer. By trial.
    var intentTicks = 30.0
    /// RMS of the intended velocity over that of the shake. Larger: more of a motion is taken for a pan. By
    /// trial.
    var intentShare = 0.4
  }

  /// Displacement since the last observation, position and velocity of the shake, intended velocity.
  typealias State = SIMD4<Double>

  /// A symmetric matrix by its columns.
  typealias Covariance = InlineArray<4, State>

  /// The model's change over some time.
  struct Step {
    /// Columns of the transition matrix.
    var columns = InlineArray<4, State>(repeating: .zero)
    /// Covariance that the driving noise adds.
    var noise = Covariance(repeating: .zero)
  }

  let kind: Kind
  private(set) var states = InlineArray<3, State>(repeating: .zero)
  private(set) var covariance = Covariance(repeating: .zero)
  /// Squared innovations over their variance in the model; both fade.
  private var squares = Pose.zero
  private var count = 0.0
  /// Log-likelihood of the observations, by axis; it fades.
  private(set) var evidence = Pose.zero

  /// RMS error of an observed displacement, as a fraction of the shake's RMS velocity, at full confidence.
  /// Larger: smoother, slower predictions. By trial.
  private static let observationNoise = 0.1
  /// Time over which the size of the motion is learned, in ticks. Larger: steadier, slower to notice another
  /// strength of shake. By trial: 2 s.
  private static let sizeTicks = 60.0
  /// Time over which models are compared, in ticks. Larger: steadier, slower to notice another kind of shake.
  /// By trial: 2 s.
  private static let evidenceTicks = 60.0

  /// A camera of which nothing is known.
  init(_ kind: Kind) {
    self.kind = kind
    covariance[1][1] = 1 / (angularSpeed * angularSpeed)
    covariance[2][2] = 1
    covariance[3][3] = kind.intentShare * kind.intentShare
  }

  /// In radians per tick.
  private var angularSpeed: Double { 2 * .pi * kind.hertz / 30 }

  /// Variance of the shake's velocity, per squared tick.
  private var size: Pose { squares / max(count, 1) }

  /// Expected displacement since the last observation.
  var displacement: Pose { [states[0][0], states[1][0], states[2][0]] }
  /// Intended velocity, per tick.
  var intent: Pose { [states[0][3], states[1][3], states[2][3]] }
  /// Variance of `displacement`.
  var variance: Pose { size * covariance[0][0] }

  /// The state after `ticks` that began as one unit of a component.
  private func response(_ component: Int, after ticks: Double) -> State {
    let (speed, decay) = (angularSpeed, kind.damping * angularSpeed)
    let turn = (speed * speed - decay * decay).squareRoot()
    let fade = exp(-decay * ticks)
    let (c, s) = (fade * cos(turn * ticks), fade * sin(turn * ticks) / turn)
    switch component {
    case 0: return [1, 0, 0, 0]
    case 1: return [c + decay * s - 1, c + decay * s, -speed * speed * s, 0]
    case 2: return [s, s, c - decay * s, 0]
    default:
      let rest = exp(-ticks / kind.intentTicks)
      return [kind.intentTicks * (1 - rest), 0, 0, rest]
    }
  }

  func step(_ ticks: Double) -> Step {
    var result = Step()
    for index in 0..<4 { result.columns[index] = response(index, after: ticks) }
    // White noise that keeps the velocities' variances at 1 and at the square of `intentShare`,
    // summed over four parts of the time.
    let parts = 4
    let part = ticks / Double(parts)
    let shake = 4 * kind.damping * angularSpeed * part
    let intent = 2 * kind.intentShare * kind.intentShare / kind.intentTicks * part
    for index in 0..<parts {
      let rest = part * (Double(index) + 0.5)
      let (w, u) = (response(2, after: rest), response(3, after: rest))
      for column in 0..<4 {
        let shaken: State = w * (w[column] * shake)
        let intended: State = u * (u[column] * intent)
        result.noise[column] += shaken + intended
      }
    }
    return result
  }

  private static func carry(_ state: State, _ step: borrowing Step) -> State {
    var carried: State = step.columns[0] * state[0]
    carried += step.columns[1] * state[1]
    carried += step.columns[2] * state[2]
    carried += step.columns[3] * state[3]
    return carried
  }

  /// Advances by some time.
  mutating func coast(_ step: borrowing Step) {
    for axis in 0..<3 { states[axis] = Self.carry(states[axis], step) }
    var half = Covariance(repeating: .zero)
    for column in 0..<4 { half[column] = Self.carry(covariance[column], step) }
    for row in 0..<4 {
      let across = State(half[0][row], half[1][row], half[2][row], half[3][row])
      covariance[row] = Self.carry(across, step) + step.noise[row]
    }
  }

  /// `displacement` was observed, `ticks` after what was observed before.
  mutating func observe(_ displacement: Pose, ticks: Double, confidence: Double) {
    let noise = Self.observationNoise * ticks / max(confidence, 0.05)
    let variance = max(covariance[0][0], 0) + noise * noise
    let innovation = displacement - self.displacement
    judge(innovation * innovation / variance, variance, ticks)
    let gain = covariance[0] / variance
    for axis in 0..<3 { states[axis] += gain * innovation[axis] }
    let first = covariance[0]
    for column in 0..<4 { covariance[column] -= gain * first[column] }
  }

  private mutating func judge(_ square: Pose, _ variance: Double, _ ticks: Double) {
    if count > 3 {
      let keep = exp(-ticks / Self.evidenceTicks)
      for axis in 0..<3 {
        // Size 0 comes from perfect rest, which all models predict equally well.
        let size = max(size[axis], 1e-12)
        evidence[axis] = evidence[axis] * keep - (log(size * variance) + square[axis] / size) / 2
      }
    }
    let keep = exp(-ticks / Self.sizeTicks)
    squares = squares * keep + square
    count = count * keep + 1
  }

  /// Makes `displacement` 0: it counts from here.
  mutating func mark() {
    for axis in 0..<3 { states[axis][0] = 0 }
    for column in 1..<4 { covariance[column][0] = 0 }
    covariance[0] = .zero
  }
}
