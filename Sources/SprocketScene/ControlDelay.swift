/// Control writes on their way through the camera: each takes effect some frames after it was made,
/// as a sensor's double-buffered registers have it. Pure.
package struct ControlDelay: Sendable {
  package struct Change: Sendable, Hashable {
    package var control: Int
    package var value: Double
    package var ticket: UInt64

    package init(control: Int, value: Double, ticket: UInt64) {
      self.control = control
      self.value = value
      self.ticket = ticket
    }
  }

  /// Changes that may be on their way at once.
  package static let capacity = 256

  private var waiting: [(frame: UInt64, change: Change)] = []

  package init() {
    waiting.reserveCapacity(Self.capacity)
  }

  /// Takes a write that is in force from `frame` on; frames of successive writes do not decrease.
  /// False when too many are on their way.
  package mutating func write(_ change: Change, from frame: UInt64) -> Bool {
    guard waiting.count < Self.capacity else { return false }
    precondition(
      waiting.isEmpty || frame >= waiting[waiting.count - 1].frame, "Control writes come in order.")
    waiting.append((frame, change))
    return true
  }

  /// The oldest change that is in force at `frame` and has not been told.
  package mutating func take(at frame: UInt64) -> Change? {
    guard !waiting.isEmpty, waiting[0].frame <= frame else { return nil }
    return waiting.remove(at: 0).change
  }
}
