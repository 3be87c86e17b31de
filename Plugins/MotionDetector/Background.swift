internal import Glibc

/// The learned background: a mean level and a mean deviation for each sample. Moving samples are not learned
/// until they have kept one level for `memory`. So a parked car becomes background, and so does the street
/// behind a car that has left. Pure.
struct Background {
  /// Least distance from the background, in mean deviations, of a sample that differs. Larger: noise and
  /// moving leaves count less, faint things are missed. At 4, normal noise makes 1 sample in 700 differ;
  /// `ChangedArea` removes such single samples.
  private static let deviations: Float = 4
  /// Deviation at the start, in levels. Larger: less motion is detected in the first frames.
  private static let firstDeviation: Float = 2
  /// Seconds at the start in which moving samples are learned too. Larger: noise is known better, motion is
  /// detected later. 1 s has some 30 frames.
  private static let startSeconds = 1.0

  private let threshold: Float
  private let memory: Double
  private var mean: [Float]
  private var deviation: [Float]
  /// Level that a moving sample keeps, and the time that it has kept it, in seconds; the time is negative for
  /// a sample that does not move.
  private var kept: [Float]
  private var keptSeconds: [Double]
  /// 1 for each sample of the latest picture that differs from the background, else 0.
  private(set) var differs: [UInt8]
  private var shift = ToneShift()
  /// Seconds since the background began; `nil` before its first picture.
  private var age: Double?

  init(count: Int, threshold: Double, memory: Double) {
    self.threshold = Float(threshold)
    self.memory = memory
    mean = [Float](repeating: 0, count: count)
    deviation = [Float](repeating: 0, count: count)
    differs = [UInt8](repeating: 0, count: count)
    kept = [Float](repeating: 0, count: count)
    keptSeconds = [Double](repeating: -1, count: count)
  }

  /// Makes the next picture the new background.
  mutating func restart() { age = nil }

  /// Change of light, in levels, that restarts the background. Larger: switching on a lamp causes more
  /// motion, because shadows and clipped tones change differently. 25 is about 1/2 EV in the middle of a
  /// gamma curve.
  static let largeShift = 25.0

  /// Compares a picture with the background and fills `differs`. Nothing differs in the first picture, or
  /// when a change of light restarts the background. Returns the change of light, in levels.
  mutating func compare(_ luma: [UInt8]) -> Double {
    var light = 0.0
    if age != nil {
      shift.measure(from: mean, to: luma)
      light = shift.overall
      if light.magnitude >= Self.largeShift { age = nil }
    }
    guard age != nil else {
      for index in luma.indices {
        mean[index] = Float(luma[index])
        deviation[index] = Self.firstDeviation
        differs[index] = 0
        keptSeconds[index] = -1
      }
      return light
    }
    for index in luma.indices {
      let limit = max(threshold, Self.deviations * deviation[index])
      differs[index] = residual(luma, index).magnitude > limit ? 1 : 0
    }
    return light
  }

  /// Difference from the background after subtracting the change of light.
  private func residual(_ luma: [UInt8], _ index: Int) -> Float {
    Float(luma[index]) - mean[index] - shift.table[Int(mean[index] + 0.5)]
  }

  /// Updates the background. `moving` is 0 for samples that do not move.
  mutating func learn(_ luma: [UInt8], moving: [UInt8], seconds: Double) {
    guard let age else {
      self.age = 0
      return
    }
    let now = age + seconds
    self.age = now
    // In the first `memory` seconds the mean is that of all pictures so far.
    let rate = Float(1 - exp(-seconds / min(memory, now)))
    let isStart = now < min(Self.startSeconds, memory)
    for index in luma.indices {
      if moving[index] != 0, !isStart {
        wait(luma, index, seconds)
        continue
      }
      keptSeconds[index] = -1
      // Limited, so that a single outlier does not raise the deviation much.
      let size = min(residual(luma, index).magnitude, 3 * deviation[index] + 1)
      deviation[index] += rate * (size - deviation[index])
      mean[index] += rate * (Float(luma[index]) - mean[index])
    }
  }

  /// Makes a moving sample's level the background after it was kept for `memory`.
  private mutating func wait(_ luma: [UInt8], _ index: Int, _ seconds: Double) {
    let level = Float(luma[index])
    let isNear =
      (level - kept[index]).magnitude <= max(threshold, Self.deviations * deviation[index])
    if keptSeconds[index] >= 0, isNear {
      kept[index] += Self.keptRate * (level - kept[index])
      keptSeconds[index] += seconds
    } else {
      keptSeconds[index] -= Self.patience * seconds
      if keptSeconds[index] < 0 { (kept[index], keptSeconds[index]) = (level, 0) }
    }
    if keptSeconds[index] >= memory { (mean[index], keptSeconds[index]) = (kept[index], -1) }
  }

  /// Weight of the newest level in the kept level, 0 to 1. Larger: faster changes still count as one
  /// level. 0.1 averages some 10 frames.
  private static let keptRate: Float = 0.1
  /// Factor by which another level reduces the kept time faster than the kept level adds to it. Larger:
  /// noise, and people in front of a parked car, delay it more.
  /// At 4, one outlier in 700 frames delays it by less than 1 %.
  private static let patience = 4.0
}
