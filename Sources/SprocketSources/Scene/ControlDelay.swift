/// Control writes on their way through the camera: each takes effect a fixed number of frames after
/// it was made, as a sensor's double-buffered registers have it. Pure.
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

  /// Frames from the one during which a write is made to the first that shows it.
  package let frames: UInt64
  private var waiting: [(frame: UInt64, change: Change)] = []

  package init(frames: Int) {
    precondition(frames >= 0, "A control's delay is 0 frames or more.")
    self.frames = UInt64(frames)
    waiting.reserveCapacity(Self.capacity)
  }

  /// Takes a write made while `frame` was being captured. False when too many are on their way.
  package mutating func write(_ change: Change, during frame: UInt64) -> Bool {
    guard waiting.count < Self.capacity else { return false }
    waiting.append((frame + frames, change))
    return true
  }

  /// The oldest change that is in force from `frame` on and has not been told.
  package mutating func take(at frame: UInt64) -> Change? {
    guard let first = waiting.first, first.frame <= frame else { return nil }
    return waiting.removeFirst().change
  }
}
