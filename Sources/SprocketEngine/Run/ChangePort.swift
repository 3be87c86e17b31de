internal import SprocketCore
internal import Synchronization

/// A change of a run's shape, prepared on the caller's thread.
///
/// Keeps of the contract of requests:
/// - A18: one atomic word says which thread owns the change. The caller can withdraw it only before the
///   run's thread has taken it; a withdrawn change has no effect.
///
/// Unchecked: used by the caller until it is asked, and again after the answer; by the run's thread
/// between.
final class ShapeChange: @unchecked Sendable {
  /// Another source: its gate, and what it said when it was opened; `nil` if it can only be opened when the
  /// present one is closed, because both use the same device.
  struct NewSource {
    let gate: SourceGate
    var description: SourceDescription?
  }

  /// Another chain.
  struct NewChain {
    let stages: [ChainStage]
    let reportBytes: Int
    let choices: [StageChoice]
    /// Whether changed live settings are kept: true if the chain has the same stages as before.
    let keepsSettings: Bool
  }

  enum Answer {
    case done
    case refused(RunError)
    /// The epoch ended for another reason meanwhile: the change has to be prepared anew.
    case outdated
  }

  /// Whether the new source begins with the values of the old one's controls.
  var keepsControls = false
  /// The epoch that the change was prepared for.
  let base: Epoch
  var source: NewSource?
  var chain: NewChain?
  var attached: [SinkPlace] = []
  /// Numbers of sinks.
  var detached: Set<Int> = []
  /// Numbers of the detached sinks that block. The epoch's end does not wait for them.
  var blocked: Set<Int> = []
  /// The source that is replaced.
  var oldSource: (any Source)?

  private static let asked = 0
  private static let taken = 1
  private static let withdrawn = 2
  private let state = Atomic<Int>(asked)
  private let answer = Locked<Answer?>(nil)
  private let done = FutexWord()

  init(_ base: Epoch) { self.base = base }

  /// Whether stages keep what they have configured: only sinks change.
  var isContinuous: Bool { source == nil && chain == nil }

  /// For the run's thread: false if the caller has withdrawn it.
  func take() -> Bool { exchange(Self.taken) }

  /// For the caller: false if the run's thread has taken it.
  func withdraw() -> Bool { exchange(Self.withdrawn) }

  private func exchange(_ new: Int) -> Bool {
    state.compareExchange(expected: Self.asked, desired: new, ordering: .acquiringAndReleasing)
      .exchanged
  }

  func finish(_ new: Answer) {
    answer.withLock { $0 = new }
    done.set(1)
  }

  /// Waits for the answer, until `deadline`. `nil` if there is none by then.
  func wait(until deadline: Int64) -> Answer? {
    done.wait(while: 0, until: deadline) ? answer.withLock { $0 } : nil
  }
}

/// Carries changes of the run's shape to the run's thread, one at a time.
final class ChangePort: Sendable {
  private struct State {
    /// A caller has reserved the port: it prepares a change, or waits for the answer.
    var isBusy = false
    var change: ShapeChange?
    var isClosed = false
  }

  private let state = Locked(State())
  private let asked = Atomic<Bool>(false)

  /// Whether a change waits. The source's thread then ends the epoch.
  var isAsked: Bool { asked.load(ordering: .relaxed) }

  /// Reserves the port for the caller. False if another thread has it.
  func reserve() -> Bool {
    state.withLock { state in
      defer { state.isBusy = true }
      return !state.isBusy
    }
  }

  func release() { state.withLock { $0.isBusy = false } }

  /// False if the run is over.
  func ask(_ change: ShapeChange) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.change = change
      asked.store(true, ordering: .relaxed)
      return true
    }
  }

  /// For the run's thread. `nil` if there is none, or it was withdrawn.
  func take() -> ShapeChange? {
    let found = state.withLock { state in
      asked.store(false, ordering: .relaxed)
      return state.change.take()
    }
    return found.flatMap { $0.take() ? $0 : nil }
  }

  /// Removes a change that was withdrawn, so that nothing keeps its sinks' files open.
  func forget(_ change: ShapeChange) {
    state.withLock { state in
      guard state.change === change else { return }
      state.change = nil
      asked.store(false, ordering: .relaxed)
    }
  }

  /// Refuses the change that waits, and all later ones.
  func close() {
    state.withLock { $0.isClosed = true }
    take()?.finish(.refused(Self.isOver))
  }

  static let isOver = RunError(.usage, "the run has ended")
}
