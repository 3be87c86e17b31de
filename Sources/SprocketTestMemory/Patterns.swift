/// Repeatable random numbers: xorshift64* (Vigna 2016).
public struct TestRandom: RandomNumberGenerator {
  private var state: UInt64

  /// `seed` must not be 0.
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 2_685_821_657_736_338_717
  }
}

/// What a kernel is tried on.
public enum TestPattern: CaseIterable, Sendable {
  case random, zeros, full, ramp

  /// `count` bytes of it.
  public func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    switch self {
    case .random:
      var random = TestRandom(seed: seed)
      return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    case .zeros: return [UInt8](repeating: 0, count: count)
    case .full: return [UInt8](repeating: 255, count: count)
    case .ramp: return (0..<count).map { UInt8(truncatingIfNeeded: $0 &+ Int(seed)) }
    }
  }
}
