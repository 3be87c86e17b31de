internal import SprocketCore
internal import Synchronization

/// All calls of a source while the run is on, so that one that does not return can be abandoned.
///
/// One word says who may touch the source's side of the run (the pump, the producer, the numbers): the
/// source's thread, or the run's. Before a call that thread moves it from `working` to `calling`, after
/// it back, by compare-and-swap. Whoever abandons the source moves it from `calling` to `abandoned`, and
/// owns that side from then on: the thread that comes back late finds that its swap fails, and returns
/// without touching anything. So `nil` and `false` mean: abandoned, leave at once.
///
/// Memory order: each swap releases what was written before it and acquires what the other side wrote.
///
/// Unchecked: the source is used on its thread alone, but for `interrupt`, which any thread may call.
final class SourceGate: @unchecked Sendable {
  // Values of the state word.
  private static let working = 0
  private static let calling = 1
  private static let abandoned = 2

  private let source: any Source
  private let state = Atomic<Int>(working)

  init(_ source: any Source) { self.source = source }

  var isAbandoned: Bool { state.load(ordering: .acquiring) == Self.abandoned }

  /// Takes the source's side over. False while its thread is not in a call: it can be waited for.
  func abandon() -> Bool {
    state.compareExchange(
      expected: Self.calling, desired: Self.abandoned, ordering: .acquiringAndReleasing
    ).exchanged
  }

  func interrupt() { source.interrupt() }

  func next(timeout: Int64) throws(RunError) -> Arrival? {
    begin()
    let result: Result<Arrival, RunError>
    do throws(RunError) {
      result = .success(try source.next(timeout: timeout))
    } catch {
      result = .failure(error)
    }
    return end() ? try result.get() : nil
  }

  func take(into slot: inout CaptureSlot) -> Bool {
    begin()
    source.take(into: &slot)
    return end()
  }

  func takeEvents(into events: inout EventQueue) -> Bool {
    begin()
    source.takeEvents(into: &events)
    return end()
  }

  func discard() -> Bool {
    begin()
    source.discard()
    return end()
  }

  func reclaim(_ lent: UnsafeMutableRawPointer) -> Bool {
    begin()
    unsafe source.reclaim(lent)
    return end()
  }

  func close() throws(RunError) {
    begin()
    defer { _ = end() }
    try source.close()
  }

  private func begin() { _ = swap(Self.working, for: Self.calling) }
  private func end() -> Bool { swap(Self.calling, for: Self.working) }

  private func swap(_ old: Int, for new: Int) -> Bool {
    state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }
}
