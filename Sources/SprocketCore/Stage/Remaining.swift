import Synchronization

/// How long frames have taken from a stage's entry to the end of chain and pack: the 95th
/// percentile over the last 256 frames, kept up to date while frames flow.
///
/// Durations are counted in 96 classes, each 1/4 octave wide above 16 microseconds, so a reading is
/// at most 25 % above the truth. Any worker may record: every word is an atomic of its own, and a
/// reading that is one frame old does no harm.
public final class Remaining: Sendable {
  /// Number of latest frames in the percentile. Larger: steadier, slower to follow. 4 s at 60 frames/s.
  static let window: UInt64 = 256
  /// Number of histogram classes. Larger: longer durations can be distinguished; 96 reach to minutes.
  static let classes = 96

  /// Classes plus one; 0 where nothing has been recorded yet.
  let recent: InlineArray<256, Atomic<UInt8>>
  /// How many were ever recorded.
  let count = Atomic<UInt64>(0)
  /// The first of them that still counts.
  let first = Atomic<UInt64>(0)
  let startsAnew = Atomic<Bool>(false)

  public init() {
    recent = InlineArray { _ in Atomic(0) }
  }

  /// Adds one frame's duration.
  public func record(nanoseconds: Int64) {
    let place = count.wrappingAdd(1, ordering: .relaxed).oldValue
    let index = UInt8(Self.index(nanoseconds: nanoseconds) + 1)
    recent[Int(place % Self.window)].store(index, ordering: .relaxed)
    if startsAnew.load(ordering: .relaxed), startsAnew.exchange(false, ordering: .relaxed) {
      first.store(place, ordering: .relaxed)
    }
  }

  /// From the next frame that is recorded on, `p95` forgets all before it.
  ///
  /// Needed by a stage that has dropped almost every frame: 13 slow frames among the latest 256 keep the
  /// percentile high until newer frames replace them, which takes minutes if only one frame in 16 is
  /// recorded.
  public func measureAnew() {
    startsAnew.store(true, ordering: .relaxed)
  }

  /// The 95th percentile in nanoseconds, rounded up to its class; 0 before the first frame.
  public var p95: Int64 {
    let end = count.load(ordering: .relaxed)
    let start = max(first.load(ordering: .relaxed), end - min(end, Self.window))
    guard start < end else { return 0 }
    var counts = InlineArray<256, UInt16>(repeating: 0)
    for place in start..<end {
      counts[Int(recent[Int(place % Self.window)].load(ordering: .relaxed))] &+= 1
    }
    var above = Int(end - start) / 20
    for index in (0..<Self.classes).reversed() {
      above -= Int(counts[index + 1])
      if above < 0 { return Self.upperBound(index) }
    }
    return 0
  }

  /// Class 0 holds up to 16 us, the last one everything above 206 s.
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
