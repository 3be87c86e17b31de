import Glibc

/// Random numbers that are the same on every machine for one seed: SplitMix64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
package struct SceneRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  /// A generator for one purpose at one place: draws of one never shift the draws of another.
  package init(seed: UInt64, stream: UInt64, index: UInt64) {
    state = Self.mix(Self.mix(seed &+ stream &* 0x9E37_79B9_7F4A_7C15) &+ index)
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.finalize(state)
  }

  /// Uniform in 0..<1, 53 bits.
  package mutating func unit() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// Uniform between two bounds.
  package mutating func between(_ low: Double, _ high: Double) -> Double {
    low + (high - low) * unit()
  }

  package mutating func uniform(_ low: Float, _ high: Float) -> Float {
    Float(between(Double(low), Double(high)))
  }

  /// An integer in 0..<count; the bias of the remainder, below 2^-40 here, is of no matter.
  package mutating func below(_ count: Int) -> Int {
    Int(next() % UInt64(count))
  }

  /// Normal with mean 0 and deviation 1 (Box and Muller 1958).
  package mutating func gaussian() -> Double {
    let radius = sqrt(-2 * log(1 - unit()))
    return radius * cos(2 * .pi * unit())
  }

  /// One well-mixed word for one input word.
  package static func mix(_ word: UInt64) -> UInt64 {
    finalize(word &+ 0x9E37_79B9_7F4A_7C15)
  }

  private static func finalize(_ word: UInt64) -> UInt64 {
    var z = word
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// What random numbers are drawn for; each purpose has a stream of its own.
package enum SceneStream {
  package static let texture: UInt64 = 1
  package static let noise: UInt64 = 2
  package static let shake: UInt64 = 3
  package static let sensor: UInt64 = 4
  package static let faults: UInt64 = 5
  package static let corruption: UInt64 = 6
  package static let sound: UInt64 = 7
  package static let soundTimes: UInt64 = 8
  package static let soundFaults: UInt64 = 9
}
