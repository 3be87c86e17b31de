internal import Sprocket

/// Always the same work: sums over memory in the first and the second level of cache, and arithmetic in
/// registers, about 50 us. It is measured before each case in each round. Where it takes longer than in an
/// earlier result, the machine was slower, by its clock rate or by others who use the same core and memory.
///
/// It must not change, or results are compared by two yardsticks.
struct BenchYardstick: Stage {
  static let plugin = Plugin("yardstick", "always the same work", BenchYardstick.self)

  static var order: Order { .any }

  /// Frames of a round. Larger: a better estimate, longer rounds.
  static let frames: UInt64 = 100
  /// Largest change of the yardstick, as a fraction, at which each step is taken to change by as much or
  /// less, as it does when the processor's clock rate changes. Larger: fewer steps are undecided, more wrong.
  static let tolerated = 0.05
  /// Where the yardstick changed by more than that: a step may have changed by so many times as much, because
  /// other programs on the core or the memory slow some work more than other work. Larger: more steps are
  /// undecided.
  static let sensitivity = 3.0

  /// Bytes that fit into a first level of cache (32 kB), and bytes that do not fit into a second (512 kB).
  private static let (near, far) = (16 << 10, 1 << 20)
  private static let passes = 30
  private static let operations = 5000

  private var memory = [UInt8](repeating: 1, count: far)
  private var state: UInt64 = 1
  private var sum: UInt8 = 0

  init() {}

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    sum &+= Self.sum(memory.span)
    for _ in 0..<Self.operations {
      state = (state &* 6_364_136_223_846_793_005) ^ (state >> 33)
    }
    return state == 0 && sum == 0 ? .drop(.rejected) : .keep
  }

  private static func sum(_ bytes: Span<UInt8>) -> UInt8 {
    var sum: UInt8 = 0
    let few = bytes.extracting(first: near)
    for pass in 0..<passes {
      let mask = UInt8(truncatingIfNeeded: pass)
      for index in few.indices { sum &+= few[index] ^ mask }
    }
    for index in bytes.indices { sum &+= bytes[index] }
    return sum
  }
}
