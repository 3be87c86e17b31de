internal import SprocketCore
internal import Synchronization

/// All calls of a source while the run is on, so that one that does not return can be abandoned.
///
/// One state word says which thread owns the source's side of the run (the pump, the producer, the
/// numbers): the source's thread, or the run's. Before a call the source's thread changes it from `working`
/// to `calling`, and back after the call, by compare-and-swap. The run's thread abandons the source by
/// changing it from `calling` to `abandoned`, and owns that side from then on. If the call returns later,
/// the swap fails and the source's thread must leave without touching anything: the calls below then return
/// `nil` or `false`.
///
/// Memory order: each swap releases what was written before it and acquires what the other side wrote.
///
/// Unchecked: the source is used on its thread alone, but for `interrupt`, which any thread may call.
final class SourceGate: @unchecked Sendable {
  // Values of the state word.
  private static let working = 0
  private static let calling = 1
  private static let abandoned = 2

  let source: any Source
  private let state = Atomic<Int>(working)
  /// `open` has failed, so there is nothing to close.
  private var isUnopened = false

  init(_ source: any Source) { self.source = source }

  var isAbandoned: Bool { state.load(ordering: .acquiring) == Self.abandoned }

  /// Abandons the source: the caller then owns its side. False if no call is under way: the caller can then
  /// wait for the source's thread.
  func abandon() -> Bool {
    state.compareExchange(
      expected: Self.calling, desired: Self.abandoned, ordering: .acquiringAndReleasing
    ).exchanged
  }

  func interrupt() { source.interrupt() }

  /// Opens a source that replaces another one while the run goes on. `nil` if it was abandoned meanwhile.
  func open() throws(RunError) -> SourceDescription? {
    begin()
    let result: Result<SourceDescription, RunError>
    do throws(RunError) {
      result = .success(
        try RunningCode(["source"]).during { () throws(RunError) in try source.open() })
    } catch {
      isUnopened = true
      result = .failure(error)
    }
    return end() ? try result.get() : nil
  }

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

  /// `nil` if the source was abandoned during the call.
  func changedSettings(_ ticket: UInt64) -> ChangedSettings?? {
    begin()
    let changed = source.changedSettings(ticket)
    return end() ? .some(changed) : nil
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
    guard !isUnopened else { return }
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
