import Synchronization

/// A control that a source lets others write.
public struct ControlDescription: Sendable, Hashable {
  public var name: String
  public var unit: String
  public var minimum: Double
  public var maximum: Double

  public init(name: String, unit: String, minimum: Double, maximum: Double) {
    self.name = name
    self.unit = unit
    self.minimum = minimum
    self.maximum = maximum
  }
}

/// The one arrow back: control writes on their way to the source's thread.
///
/// Any thread may write; the source takes what has gathered before each frame. The queue is
/// bounded: a write that finds it full is refused at once (`nil`), nothing waits. A write completes
/// with an `Event` on the first frame that shows it.
public final class ControlPort: Sendable {
  /// Writes that may be on their way at once.
  public static let capacity = 64

  public struct Write: Sendable, BitwiseCopyable {
    public var ticket: UInt64
    public var control: UInt16
    public var value: Double
  }

  struct Queue: Sendable {
    var ticket: UInt64 = 0
    var waiting: [Write] = []
  }

  /// What may be written; the index is the control's number in writes and events.
  public let controls: [ControlDescription]
  let queue: Mutex<Queue>

  public init(controls: [ControlDescription]) {
    self.controls = controls
    var queue = Queue()
    queue.waiting.reserveCapacity(Self.capacity)
    self.queue = Mutex(queue)
  }

  /// The control of that name, if the source has it.
  public func control(_ name: String) -> UInt16? {
    controls.firstIndex { $0.name == name }.map { UInt16($0) }
  }

  /// Asks for `value`, clamped to the control's range. Returns the ticket that the completing
  /// event carries, or `nil` when the queue is full.
  public func write(_ control: UInt16, _ value: Double) -> UInt64? {
    precondition(control < controls.count, "control \(control) is not one of this source's")
    let range = controls[Int(control)]
    return queue.withLock { queue in
      guard queue.waiting.count < Self.capacity else { return nil }
      queue.ticket += 1
      let clamped = min(max(value, range.minimum), range.maximum)
      queue.waiting.append(Write(ticket: queue.ticket, control: control, value: clamped))
      return queue.ticket
    }
  }

  /// The oldest write that has not been taken; for the source's thread.
  public func take() -> Write? {
    queue.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }
}
