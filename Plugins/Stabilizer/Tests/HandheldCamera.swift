import SprocketCore
import TestSupport

@testable import Stabilizer

/// A camera of which the motion is known, and what a planner makes of it.
struct HandheldCamera {
  var width = 1280
  var height = 720
  var motions: [FrameMotion] = []

  /// A first frame, and the motions of the picture from `pose(time)` to the next, `rate` a second.
  init(_ seconds: Double, rate: Double = 30, _ pose: (Double) -> Pose) {
    motions = [FrameMotion()]
    for frame in 1..<Int(seconds * rate) {
      let (from, to) = (pose(Double(frame - 1) / rate), pose(Double(frame) / rate))
      motions.append(Self.motion(to - from, seconds: 1 / rate))
    }
  }

  static func motion(_ displacement: Pose, seconds: Double = 1.0 / 30) -> FrameMotion {
    var motion = FrameMotion()
    motion.comparison = .tracked
    motion.fromEarlier = Similarity(
      shiftX: displacement[0], shiftY: displacement[1], roll: displacement[2])
    motion.confidence = 1
    motion.seconds = seconds
    return motion
  }

  /// `stabilizedFromSensor` of every frame.
  func planned(crop: Double, lookahead: Int = 0) -> [Similarity] {
    var planner = PathPlanner(width: width, height: height, crop: crop, lookahead: lookahead)
    return motions.indices.map { index in
      let ahead = motions[(index + 1)...].prefix(lookahead)
      return planner.next(motions[index], ahead: Array(ahead))
    }
  }

  /// Steps of the shown picture's middle, in pixels of the sensor's.
  func steps(_ planned: [Similarity]) -> [SIMD2<Double>] {
    planned.indices.dropFirst().map { index in
      let step = planned[index] * motions[index].fromEarlier * planned[index - 1].inverse
      return SIMD2(step.shiftX, step.shiftY) / planned[index].scale
    }
  }

  /// RMS of the second differences of the shown camera's path, in pixels of the sensor's.
  func jitter(_ planned: [Similarity]) -> Double {
    let steps = steps(planned)
    let changes = zip(steps, steps.dropFirst()).map { $1 - $0 }
    let sum = changes.reduce(0) { $0 + ($1 * $1).sum() }
    return (sum / Double(changes.count)).squareRoot()
  }

  /// Where the window's middle is in the scene, along x: the path that the viewer sees.
  func pathX(_ planned: [Similarity]) -> [Double] {
    var place = 0.0
    return [0]
      + steps(planned).map { step in
        place += step.x
        return place
      }
  }

  /// Sums of the motions along x.
  var rawX: [Double] {
    var place = 0.0
    return motions.map { motion in
      place += motion.fromEarlier.shiftX
      return place
    }
  }

  /// How far the corner that is nearest to the sensor's edge is from it; negative beyond it.
  func leastReserve(_ planned: [Similarity]) -> Double {
    let (x, y) = (Double(width - 1) / 2, Double(height - 1) / 2)
    var least = Double.infinity
    for similarity in planned {
      let back = similarity.inverse
      for (cornerX, cornerY) in [(-x, -y), (x, -y), (-x, y), (x, y)] {
        let at = back.apply(cornerX, cornerY)
        least = min(least, x - abs(at.x), y - abs(at.y))
      }
    }
    return least
  }

  /// By how many pixels any corner is moved from where the crop alone would put it.
  func largestCorrection(_ planned: [Similarity], crop: Double) -> Double {
    let (x, y) = (Double(width - 1) / 2, Double(height - 1) / 2)
    let zoom = 1 / (1 - 2 * crop)
    var most = 0.0
    for similarity in planned {
      for (cornerX, cornerY) in [(-x, -y), (x, -y), (-x, y), (x, y)] {
        let at = similarity.apply(cornerX, cornerY)
        let (dx, dy) = (at.x - zoom * cornerX, at.y - zoom * cornerY)
        most = max(most, (dx * dx + dy * dy).squareRoot())
      }
    }
    return most
  }
}

/// Smooth noise of a few hertz: sums of sines of random frequency and phase.
struct Shake {
  private let waves: [(amplitude: Pose, radians: Pose, phase: Pose)]

  /// About `size` RMS each axis, its frequencies about `hertz`.
  init(_ size: Pose, hertz: Double = 1.6, seed: UInt64) {
    var random = TestRandom(seed: seed)
    waves = (0..<12).map { _ in
      func three(_ range: ClosedRange<Double>) -> Pose {
        Pose(
          Double.random(in: range, using: &random), Double.random(in: range, using: &random),
          Double.random(in: range, using: &random))
      }
      return (
        size * (2.0 / 12).squareRoot(), three(0.3 * hertz...2 * hertz) * 2 * .pi, three(0...6.3)
      )
    }
  }

  func callAsFunction(_ time: Double) -> Pose {
    var sum = Pose.zero
    for wave in waves {
      for axis in 0..<3 {
        sum[axis] += wave.amplitude[axis] * sine(wave.radians[axis] * time + wave.phase[axis])
      }
    }
    return sum
  }

  /// The sine as the imaginary part of a turn, which `Similarity` knows.
  private func sine(_ radians: Double) -> Double { Similarity(roll: radians).b }
}
