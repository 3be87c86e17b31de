internal import SprocketCore
internal import SprocketRing

/// A tap of an audio engine's ring for a sink that comes while the sound goes on. It is parked while no sink
/// has it: a parked tap never makes the source wait.
///
/// A sink asks for it (`asked`); the engine's thread wakes it between two blocks (`waking`, `woken`), and the
/// sink gives it back.
final class AudioSpare: Sendable {
  private static let idle: UInt32 = 0
  private static let asked: UInt32 = 1
  private static let waking: UInt32 = 2
  private static let woken: UInt32 = 3

  let index: RingPlan.TapIndex
  private let state = FutexWord()
  private let cells: Locked<Cells>

  private struct Cells: ~Copyable {
    /// `nil` while a sink has it.
    var reader: Reader?
    /// What came before the tap was woken.
    var before = AudioPast()
  }

  /// Made on the engine's starting thread.
  init(_ ring: Ring, _ index: Int) {
    self.index = RingPlan.TapIndex(index)
    var reader = ring.makeReader(tap: self.index)
    _ = reader.park(since: reader.askCount)
    cells = Locked(Cells(reader: consume reader))
  }

  /// For a sink: the reader; `nil` if a sink has it, or the engine does not answer in time.
  func take(until deadline: Int64) -> Reader? {
    guard state.exchange(Self.idle, for: Self.asked) else { return nil }
    let isAnswered = state.wait(while: Self.asked, until: deadline)
    if !isAnswered, state.exchange(Self.asked, for: Self.idle) { return nil }
    // The engine's thread goes from `waking` to `woken` without any wait.
    _ = state.wait(while: Self.waking, until: .max)
    return cells.withLock { $0.reader.take() }
  }

  /// What came before the tap was woken.
  var before: AudioPast { cells.withLock { $0.before } }

  /// For the sink: gives the reader back.
  func put(_ reader: consuming Reader) {
    var reader = reader
    // A tap that was never asked does not know yet that it was woken.
    if reader.isParked, case .frame = reader.next() { reader.release() }
    if !reader.isParked { _ = reader.park(since: reader.askCount) }
    var back = Optional(consume reader)
    cells.withLock { $0.reader = back.take() }
    state.set(Self.idle)
  }

  /// For the engine's thread: wakes the tap if a sink asks for it.
  func answer(_ producer: inout Producer, _ past: AudioPast) {
    guard state.value == Self.asked, state.exchange(Self.asked, for: Self.waking) else { return }
    cells.withLock { $0.before = past }
    producer.wake(tap: index)
    state.set(Self.woken)
  }
}
