internal import Synchronization

/// Whether the user asked to stop. Any thread may set and read it.
final class StopFlag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}
