import Synchronization

/// How long frames have taken from a stage's entry to the end of chain and pack: the 95th
/// percentile over the last 256 frames, kept up to date while frames flow.
///
/// Durations are counted in 64 classes, each 1/4 octave wide above 16 microseconds, so a reading is
/// at most 19 % above the truth. Any worker may record: every word is an atomic of its own, and a
/// reading that is one frame old does no harm.
public final class Remaining: Sendable {
  static let window = 256
  static let classes = 64

  let recent: [Cell]
  let counts: [Cell]
  let next = Atomic<UInt64>(0)

  /// An atomic that can lie in an array.
  final class Cell: Sendable {
    let value: Atomic<Int>
    init(_ value: Int) { self.value = Atomic(value) }
  }

  public init() {
    recent = (0..<Self.window).map { _ in Cell(-1) }
    counts = (0..<Self.classes).map { _ in Cell(0) }
  }

  /// Adds one frame's duration.
  public func record(nanoseconds: Int64) {
    let added = Self.index(nanoseconds: nanoseconds)
    let place = next.wrappingAdd(1, ordering: .relaxed).oldValue % UInt64(Self.window)
    let removed = recent[Int(place)].value.exchange(added, ordering: .relaxed)
    counts[added].value.wrappingAdd(1, ordering: .relaxed)
    if removed >= 0 { counts[removed].value.wrappingSubtract(1, ordering: .relaxed) }
  }

  /// The 95th percentile in nanoseconds, rounded up to its class; 0 before the first frame.
  public var p95: Int64 {
    let total = Int(min(next.load(ordering: .relaxed), UInt64(Self.window)))
    guard total > 0 else { return 0 }
    var above = total / 20
    for index in (0..<Self.classes).reversed() {
      above -= counts[index].value.load(ordering: .relaxed)
      if above < 0 { return Self.upperBound(index) }
    }
    return 0
  }

  /// Class 0 holds up to 16 us, class 63 everything above 0.75 s.
  static func index(nanoseconds: Int64) -> Int {
    let units = UInt64(max(nanoseconds, 1)) / 4096
    guard units >= 4 else { return 0 }
    let octave = 63 - units.leadingZeroBitCount
    let quarter = Int(units >> UInt64(octave - 2)) & 3
    return min((octave - 2) * 4 + quarter + 1, classes - 1)
  }

  static func upperBound(_ index: Int) -> Int64 {
    guard index > 0 else { return 4 * 4096 }
    let octave = (index - 1) / 4
    let quarter = (index - 1) % 4
    return Int64(5 + quarter) << Int64(octave) * 4096
  }
}
