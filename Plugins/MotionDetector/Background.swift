internal import Glibc

/// The picture without what moves: for each sample a mean and its usual deviation, both learned. Where
/// something moves nothing is learned, until the sample has kept one level for as long as `memory`: a parked
/// car becomes background, and so does what a car that drove off has uncovered. Pure.
struct Background {
  /// Deviations above which a sample differs from its background. Larger: noise and leaves count less, faint
  /// things are missed. Of normal noise, whose mean deviation this is a multiple of, 1 in 700 samples passes,
  /// and then fails for want of neighbours (`ChangedArea`).
  private static let deviations: Float = 4
  /// Deviation before anything is known of it, in levels. Larger: the first frames show less motion.
  private static let firstDeviation: Float = 2
  /// Seconds at the start in which everything is learned, moving or not. Larger: noise is known better, and
  /// motion is seen later.
  private static let startSeconds = 1.0

  private let threshold: Float
  private let memory: Double
  private var mean: [Float]
  private var deviation: [Float]
  /// Level that a moving sample has kept, and for how many seconds; below 0 where nothing moves.
  private var kept: [Float]
  private var keptSeconds: [Double]
  /// 1 for each sample of the latest picture that differs from the background, else 0.
  private(set) var differs: [UInt8]
  private var shift = ToneShift()
  /// Seconds since the start; `nil` before the first picture.
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

  /// Takes the next picture as the first one.
  mutating func restart() { age = nil }

  /// Change of light from which the background begins anew, in levels. Larger: more of a lamp that is
  /// switched on counts as motion, because clipped tones and shadows change by other amounts. 25 is about
  /// 1/2 EV in the middle of a gamma curve.
  static let largeShift = 25.0

  /// Fills `differs`; nothing differs in the first picture and after a large change of light. Returns the
  /// change of light, in levels.
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

  /// The difference from the background that the light does not explain.
  private func residual(_ luma: [UInt8], _ index: Int) -> Float {
    Float(luma[index]) - mean[index] - shift.table[Int(mean[index] + 0.5)]
  }

  /// Follows the picture; `moving` is not 0 where something moves.
  mutating func learn(_ luma: [UInt8], moving: [UInt8], seconds: Double) {
    guard let age else {
      self.age = 0
      return
    }
    let now = age + seconds
    self.age = now
    // At first a mean of all pictures so far.
    let rate = Float(1 - exp(-seconds / min(memory, now)))
    let isStart = now < min(Self.startSeconds, memory)
    for index in luma.indices {
      if moving[index] != 0, !isStart {
        wait(luma, index, seconds)
        continue
      }
      keptSeconds[index] = -1
      // Limited, so that one outlier does not hide the next.
      let size = min(residual(luma, index).magnitude, 3 * deviation[index] + 1)
      deviation[index] += rate * (size - deviation[index])
      mean[index] += rate * (Float(luma[index]) - mean[index])
    }
  }

  /// Takes a moving sample's level for the background once it was kept for long enough.
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

  /// Weight of the newest level in the kept one. Larger: slow changes of light are followed, and so is what
  /// fades.
  private static let keptRate: Float = 0.1
  /// Time that another level takes away from the time that one was kept, as a multiple of its own. Larger:
  /// people who walk by in front of a parked car delay it more, and so does noise.
  private static let patience = 4.0
}
