public import SprocketCore
internal import Synchronization

/// A source of sound that was opened to take the place of another one (``AudioEngine/exchange(for:)``). It is
/// closed if it never does.
///
/// Unchecked: one thread at a time has it. The engine's thread takes it over under the seat's lock; after
/// that others only interrupt the source, which any thread may.
public final class OpenSound: @unchecked Sendable {
  public let description: AudioDescription
  let source: any AudioSource
  /// The engine has it, and closes it.
  private let isTaken = Atomic<Bool>(false)

  init(_ source: any AudioSource, _ description: AudioDescription) {
    (self.source, self.description) = (source, description)
  }

  func take() { isTaken.store(true, ordering: .releasing) }

  deinit {
    if !isTaken.load(ordering: .acquiring) { try? source.close() }
  }
}

/// Who gives an audio engine its sound. Any thread may ask for a change; the engine's thread makes it between
/// two blocks.
final class AudioSeat: Sendable {
  private struct State {
    /// `nil`: it has ended, or was taken away.
    var present: OpenSound?
    /// The latest one that there was.
    var description: AudioDescription
    var asked: Change?
    /// The engine's thread has ended.
    var isClosed = false
  }

  private struct Change {
    /// `nil`: nobody takes the place.
    let new: OpenSound?
    /// The engine's thread is closing the old source.
    var isBegun = false
  }

  enum Answer { case done, busy, closed, stuck }

  private let state: Locked<State>
  private let hasAsked = Atomic<Bool>(false)
  /// Advances when a change is asked for, and when it is made.
  let changes = FutexWord()

  init(_ first: OpenSound) {
    state = Locked(State(present: first, description: first.description))
  }

  var isAsked: Bool { hasAsked.load(ordering: .acquiring) }
  var description: AudioDescription { state.withLock(\.description) }

  /// Asks the present source to return soon.
  func interrupt() { state.withLock(\.present)?.source.interrupt() }

  /// Waits until the engine's thread has made the change, until `deadline` at most. What was not begun by
  /// then is not made.
  func exchange(for new: OpenSound?, until deadline: Int64) -> Answer {
    // Interrupts the source that is present under the lock: another one may follow it afterwards.
    let (refusal, old): (Answer?, OpenSound?) = state.withLock { state in
      if state.isClosed { return (.closed, nil) }
      guard state.asked == nil else { return (.busy, nil) }
      state.asked = Change(new: new)
      hasAsked.store(true, ordering: .releasing)
      return (nil, state.present)
    }
    if let refusal { return refusal }
    old?.source.interrupt()
    changes.advance()
    while true {
      let seen = changes.value
      let answer: Answer? = state.withLock { state in
        guard let change = state.asked else { return .done }
        if state.isClosed { return .closed }
        guard monotonicNow() >= deadline else { return nil }
        guard !change.isBegun else { return .done }
        (state.asked, _) = (nil, hasAsked.store(false, ordering: .releasing))
        return .stuck
      }
      if let answer { return answer }
      _ = changes.wait(while: seen, until: deadline)
    }
  }

  // MARK: For the engine's thread

  /// The change that was asked for, which holds from now on, and who had the place before; call
  /// `didExchange` when that source is closed.
  func take() -> (old: OpenSound?, new: OpenSound?)? {
    guard isAsked else { return nil }
    return state.withLock { state in
      hasAsked.store(false, ordering: .releasing)
      guard let new = state.asked.map(\.new) else { return nil }
      let old = state.present
      state.asked?.isBegun = true
      state.present = new
      if let new { state.description = new.description }
      new?.take()
      return (old, new)
    }
  }

  func didExchange() {
    state.withLock { $0.asked = nil }
    changes.advance()
  }

  /// At the start: who has the place.
  func begin() -> OpenSound? {
    state.withLock { state in
      state.present?.take()
      return state.present
    }
  }

  /// Waits for a change, until `deadline` at most.
  func rest(until deadline: Int64) {
    let seen = changes.value
    if !isAsked { _ = changes.wait(while: seen, until: deadline) }
  }

  /// The source has ended.
  func leave() { state.withLock { $0.present = nil } }

  func close() {
    state.withLock { state in
      (state.isClosed, state.present) = (true, nil)
      if state.asked?.isBegun == true { state.asked = nil }
    }
    changes.advance()
  }
}
