internal import Glibc
public import SprocketCore

/// How a camera turns light into signal.
public enum CameraCurve: Sendable, Hashable {
  case srgb, bt709
  case gamma(Double)

  /// Signal 0...1 of light 0...1.
  public func signal(_ light: Double) -> Double {
    switch self {
    case .srgb: light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055
    case .bt709: light < 0.018 ? 4.5 * light : 1.099 * pow(light, 0.45) - 0.099
    case .gamma(let gamma): pow(light, 1 / gamma)
    }
  }
}

/// A scene of evenly spread reflectances about 18 %, a sensor of 6,000 electrons with a read noise of 6,
/// and a meter that takes the mean of log2 luminance, as the frame declares it.
///
/// Noise is drawn for each reflectance and for a quarter of its pixels: 4,000 stand for a picture.
public struct SimulatedSensor: Sendable {
  public let camera: CameraCurve
  public let declared: Color.Transfer
  /// In EV, of one standard deviation.
  public let spread: Double
  private var state: UInt64
  private let logLuminances: [Double]
  private let signals: [Double]
  private static let steps = 4096.0

  public init(
    _ camera: CameraCurve, _ declared: Color.Transfer, spread: Double, seed: UInt64 = 1
  ) {
    self.camera = camera
    self.declared = declared
    self.spread = spread
    state = seed &* 0x9E37_79B9_7F4A_7C15
    logLuminances = (0..<256).map {
      log2(declared.luminance(ofSignal: max(Double($0), 0.5) / 255))
    }
    signals = (0...Int(Self.steps)).map { camera.signal(pow(Double($0) / Self.steps, 2)) * 255 }
  }

  private mutating func uniform() -> Double {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Double(state >> 11) * 0x1p-53
  }

  /// What is seen of light and setting of `ev` in all, 0 being the right exposure of 18 %.
  public mutating func expose(
    _ ev: Double
  ) -> (offset: Double, clipped: Double, histogram: LevelCounts) {
    var histogram = LevelCounts(repeating: 0)
    for place in -20...20 {
      let deviations = Double(place) / 8
      let share = exp(-deviations * deviations / 2)
      let light = 0.18 * exp2(ev + spread * deviations)
      let noise = (light * 6000 + 36).squareRoot() / 6000
      for _ in 0..<4 {
        let sum = uniform() + uniform() + uniform() - 1.5
        let seen = min(max(light + noise * 2 * sum, 0), 1).squareRoot() * Self.steps
        let below = min(Int(seen), Int(Self.steps) - 1)
        let level =
          signals[below] + (signals[below + 1] - signals[below]) * (seen - Double(below))
        histogram[Int(level + 0.5)] += UInt32(share * 1000 / 4)
      }
    }
    var (sum, count) = (0.0, 0.0)
    for level in 0..<256 {
      sum += logLuminances[level] * Double(histogram[level])
      count += Double(histogram[level])
    }
    let clipped = Double(histogram[254] + histogram[255]) / count
    return (sum / count - log2(0.18), clipped, histogram)
  }

  /// The setting that brings the offset to `target`, without noise's say: mean of many.
  public func ideal(offset target: Double) -> Double {
    var (low, high) = (-3.0, 3.0)
    var probe = self
    for _ in 0..<14 {
      let middle = (low + high) / 2
      let mean = (0..<4).reduce(0) { sum, _ in sum + probe.expose(middle).offset } / 4
      if mean < target { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }
}
