internal import Synchronization

/// Asks a source that is at work on its own thread to come to an end. Set from any thread, for good.
package final class SourceInterrupt: Sendable {
  private let flag = Atomic<Bool>(false)

  package init() {}

  package var isSet: Bool { flag.load(ordering: .relaxed) }

  package func set() { flag.store(true, ordering: .relaxed) }
}
