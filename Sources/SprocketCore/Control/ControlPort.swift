/// A control that a source lets others write.
public struct ControlDescription: Sendable, Hashable {
  /// What its number stands for.
  public enum Kind: Sendable, Hashable {
    case number
    /// 1 is on.
    case boolean
    /// One of a list, in the source's order.
    case menu([ControlChoice])
    /// Does something when it is written, whatever the number.
    case button
  }

  public var name: String
  public var unit: String
  public var minimum: Double
  public var maximum: Double
  public var kind: Kind
  /// Values are the minimum and whole steps from there; 0 where any is allowed.
  public var step: Double
  /// What the source begins with, where it says so.
  public var defaultValue: Double?

  public init(
    name: String, unit: String, minimum: Double, maximum: Double, kind: Kind = .number,
    step: Double = 0, defaultValue: Double? = nil
  ) {
    self.name = name
    self.unit = unit
    self.minimum = minimum
    self.maximum = maximum
    self.kind = kind
    self.step = step
    self.defaultValue = defaultValue
  }

  /// The value that a person means by `text`: a number, of a menu also its name, of a boolean also `on`,
  /// `off` and the like. `nil` for what is not allowed.
  public func value(_ text: String) -> Double? {
    switch kind {
    case .boolean:
      return Bool(settingText: text.lowercased()).map { $0 ? 1 : 0 }
    case .menu(let choices):
      let number = Double(text)
      return choices.first { $0.value == number }?.value
        ?? choices.first { $0.name == text.lowercased() }?.value
    case .number, .button: break
    }
    guard let value = Double(text), value >= minimum, value <= maximum else { return nil }
    guard step > 0 else { return value }
    return (value - minimum).remainder(dividingBy: step) == 0 ? value : nil
  }

  /// What `value(_:)` takes, as a person would say it.
  public var allowed: String {
    switch kind {
    case .boolean: return Bool.allowed
    case .button: return text(of: minimum)
    case .menu(let choices):
      return choices.map { "\($0.name) (\($0.value.settingText))" }.joined(separator: ", ")
    case .number:
      let steps = step > 1 ? " in steps of \(step.settingText)" : ""
      let units = unit.isEmpty ? "" : " (\(unit))"
      return "\(text(of: minimum)) to \(text(of: maximum))\(steps)\(units)"
    }
  }

  /// A value as a person would give it. Whole numbers are written out, as far as 64 bits go.
  public func text(of value: Double) -> String {
    switch kind {
    case .boolean: (value != 0).settingText
    case .menu(let choices): choices.first { $0.value == value }?.name ?? value.settingText
    case .number, .button:
      value == value.rounded() && value.magnitude <= 0x1p63
        ? "\(Int64(nearest: value))" : value.settingText
    }
  }
}

extension Int64 {
  /// The nearest whole number, within what 64 bits hold; `value` is a number.
  package init(nearest value: Double) {
    self = value >= 0x1p63 ? .max : value <= -0x1p63 ? .min : Int64(value.rounded())
  }
}

/// One entry of a control that is a menu.
public struct ControlChoice: Sendable, Hashable {
  public var value: Double
  /// In lower case, words joined by underscores.
  public var name: String

  public init(value: Double, name: String) {
    self.value = value
    self.name = name
  }
}

/// Carries control writes to the source's thread, against the direction of frames.
///
/// Any thread may write; the source takes what has gathered before each frame. The queue is
/// bounded: a write that finds it full is refused at once (`nil`), nothing waits. A write completes
/// with an `Event` that belongs to the first frame that shows it.
public final class ControlPort: Sendable {
  /// Writes that can be queued for the source. Larger: longer bursts of writes are accepted.
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
  /// True if the event that completes a write belongs to the first frame that shows the value, as
  /// with the scene. False for a driver: it reports when it took the value, and the sensor shows it
  /// some frames later.
  public let tellsWhatShows: Bool
  let queue: Locked<Queue>
  let memory: Locked<ControlMemory>

  public init(controls: [ControlDescription], tellsWhatShows: Bool = false) {
    self.controls = controls
    self.tellsWhatShows = tellsWhatShows
    var queue = Queue()
    queue.waiting.reserveCapacity(Self.capacity)
    self.queue = Locked(queue)
    let delay = tellsWhatShows ? ControlDelayTime(frames: 0, .told) : nil
    memory = Locked(
      ControlMemory(
        values: Array(repeating: nil, count: controls.count),
        delays: Array(repeating: delay, count: controls.count)))
  }

  /// The control of that name, if the source has it.
  public func control(_ name: String) -> UInt16? {
    controls.firstIndex { $0.name == name }.map { UInt16($0) }
  }

  /// Asks for `value`, clamped to the control's range. Returns the ticket that the completing
  /// event carries, or `nil` when the queue is full.
  public func write(_ control: UInt16, _ value: Double) -> UInt64? {
    contract(
      control < controls.count,
      "writes control \(control) of a source with \(controls.count); `control(_:)` finds one by its name"
    )
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
