/// Something that happened beside the frames.
///
/// An event belongs to a frame: the first that arrived after it, whatever became of that frame. Stages of
/// the order `.sequence`, and sinks, receive each event once and in order: with its own frame, or, where
/// that did not reach them, with the next one that does. `number` says which frame it belongs to.
public struct Event: Sendable, Hashable, BitwiseCopyable {
  /// What happened.
  public enum Kind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
    /// A control write took effect; `value` is what the device made of it, and the frame that the
    /// event belongs to is the first that shows it.
    case controlApplied
    /// The device refused a control write.
    case controlRefused
    /// The device was gone and is back; `value` is the time without it in milliseconds, 0 where that is not
    /// known.
    case replugged
    /// Nothing arrived for longer than a frame should take; `value` is the wait in milliseconds.
    case stalled
    /// Live settings of a stage changed. The event's frame is the first for which they hold.
    /// `SinkSetup.changedSettings` tells them by `ticket`.
    case settingsChanged
    /// Another program, or the device itself, changed a control; `value` is what it has now.
    case controlChanged
  }

  /// What happened.
  public var kind: Kind
  /// The control's index among the source's controls.
  public var control: UInt16
  /// The ticket that `ControlPort.write` gave; of changed settings, their number.
  public var ticket: UInt64
  /// A control's value, or milliseconds: see `Kind`.
  public var value: Double
  /// Running number of the frame that it belongs to; the engine's to set.
  public var number: UInt64

  /// An event of a source: of silence or an absence `kind` and `value` alone.
  public init(
    kind: Kind, control: UInt16 = 0, ticket: UInt64 = 0, value: Double = 0, number: UInt64 = 0
  ) {
    self.kind = kind
    self.control = control
    self.ticket = ticket
    self.value = value
    self.number = number
  }
}

/// Events on their way from a source to the engine, oldest first. Bounded: what finds no room is counted, and
/// the summary has the sum as `dropped_events`. Allocates nothing after `init`.
public struct EventQueue: Sendable {
  /// Answers to all writes that a control port holds at once, twice over, may come between two frames.
  public static let capacity = 2 * ControlPort.capacity

  /// What it holds, oldest first.
  public private(set) var events: [Event] = []
  /// Events that found no room.
  public private(set) var refused: UInt64 = 0

  /// An empty one, with memory for all that it can hold.
  public init() { events.reserveCapacity(Self.capacity) }

  /// Adds an event behind the others, or counts it as refused where there is no room.
  public mutating func add(_ event: Event) {
    if events.count < Self.capacity { events.append(event) } else { refused += 1 }
  }

  /// Moves what the other holds, and has refused, to the end of this.
  public mutating func take(from other: inout EventQueue) {
    for index in other.events.indices { add(other.events[index]) }
    refused += other.refused
    other.removeAll()
  }

  /// Forgets everything.
  public mutating func removeAll() {
    events.removeAll(keepingCapacity: true)
    refused = 0
  }
}
