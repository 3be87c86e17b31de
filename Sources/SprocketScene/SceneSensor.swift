import Glibc

/// How light becomes numbers: the curve between linear signal and the picture's levels.
package enum SceneTransfer: Sendable, Hashable {
  /// IEC 61966-2-1.
  case srgb
  /// A pure power; 1.8 to 2.6 are seen in cameras.
  case gamma(Double)

  /// Level 0...1 of a linear signal 0...1; goes on beyond both ends, odd about 0.
  package func encode(_ signal: Double) -> Double {
    let size = abs(signal)
    let level: Double
    switch self {
    case .srgb: level = size <= 0.0031308 ? 12.92 * size : 1.055 * pow(size, 1 / 2.4) - 0.055
    case .gamma(let gamma): level = pow(size, 1 / gamma)
    }
    return signal < 0 ? -level : level
  }

  /// Linear signal of a level 0...1.
  package func decode(_ level: Double) -> Double {
    switch self {
    case .srgb: level <= 0.04045 ? level / 12.92 : pow((level + 0.055) / 1.055, 2.4)
    case .gamma(let gamma): pow(level, gamma)
    }
  }
}

/// The scene's sensor: reflectance, exposure and gain to levels, with noise and clipping. Pure.
///
/// A reflectance of 1 fills the sensor at `fullExposureMicroseconds` and gain 1. Noise follows the
/// photon transfer curve: shot noise of the collected electrons, read noise, both amplified by
/// gain (Janesick, "Photon Transfer", SPIE 2007).
package struct SceneSensor: Sendable, Hashable {
  package var transfer = SceneTransfer.srgb
  /// Exposure at which a reflectance of 1 just clips, at gain 1.
  package var fullExposureMicroseconds = 10_000.0
  package var fullWellElectrons = 6_000.0
  package var readNoiseElectrons = 6.0
  /// Light on the scene, in EV: +1 is twice as much.
  package var light = 0.0
  /// Multiplies all noise; 0 is a sensor without any.
  package var noise = 1.0

  package init() {}

  /// Linear signal, 1 being full scale before clipping.
  package func signal(reflectance: Double, exposureMicroseconds: Double, gain: Double) -> Double {
    reflectance * exp2(light) * gain * exposureMicroseconds / fullExposureMicroseconds
  }

  /// Standard deviation of the noise of a linear signal.
  package func deviation(signal: Double, gain: Double) -> Double {
    let electrons = max(0, signal) / gain * fullWellElectrons
    let variance = electrons + readNoiseElectrons * readNoiseElectrons
    return noise * variance.squareRoot() * gain / fullWellElectrons
  }

  /// Fills `exposeRow`'s table for one exposure and gain.
  package func fill(_ table: inout [UInt32], exposureMicroseconds: Double, gain: Double) {
    for index in table.indices {
      let root = min(Double(index) / (255 * 8), 1)
      let signal = signal(
        reflectance: root * root, exposureMicroseconds: exposureMicroseconds, gain: gain)
      let spread = deviation(signal: signal, gain: gain)
      let level = transfer.encode(signal) * 255
      let above = transfer.encode(signal + spread)
      let below = transfer.encode(signal - spread)
      let deviation = (above - below) / 2 * 255
      table[index] = fixed(level) | fixed(deviation) << 16
    }
  }

  /// How chroma fades, by the luma level drawn there, in 1/256: chroma grows with exposure as luma
  /// does, and a clipped highlight is white.
  package func fillFading(_ fading: inout [Int32], exposureMicroseconds: Double, gain: Double) {
    let middle = 0.2
    let signal = signal(
      reflectance: middle, exposureMicroseconds: exposureMicroseconds, gain: gain)
    let ratio = min(transfer.encode(signal) / middle.squareRoot(), 4)
    for luma in fading.indices {
      let room = min(Double(255 - luma) / 32, 1)
      fading[luma] = Int32((ratio * room * 256).rounded())
    }
  }

  /// Deviation of chroma noise in 1/64 of a level: half of a middle gray's luma noise.
  package static func chromaDeviation(_ table: [UInt32]) -> Int32 {
    Int32(table[912] >> 16) / 2
  }

  private func fixed(_ level: Double) -> UInt32 {
    UInt32(min(max(level * 64, 0), 65535).rounded())
  }
}

/// Unit noise, drawn once: rows of a frame read it from places that seed, frame and row decide.
package struct SceneNoiseTile: Sendable {
  /// Samples in 1/32 deviations.
  package let values: [Int8]
  private static let period = 1 << 16

  /// Room for rows of up to `width` samples.
  package init(width: Int, seed: UInt64) {
    var random = SceneRandom(seed: seed, stream: SceneStream.noise, index: 0)
    values = (0..<Self.period + width).map { _ in
      Int8(min(max(random.gaussian() * 32, -127), 127).rounded())
    }
  }

  /// Where the noise of one row of one plane of one frame begins.
  package static func start(seed: UInt64, frame: UInt64, plane: Int, row: Int) -> Int {
    let place = UInt64(truncatingIfNeeded: row &* 4 &+ plane)
    let word = SceneRandom.mix(seed &+ SceneRandom.mix(frame)) &+ place
    return Int(SceneRandom.mix(word) & UInt64(period - 1))
  }
}
