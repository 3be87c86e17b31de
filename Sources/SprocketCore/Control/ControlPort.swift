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
    /// A text, or several values: listed, and cannot be written.
    case text, array
  }

  /// In lower case, words joined by underscores, such as `exposure_time`.
  public var name: String
  /// Unit of its numbers, such as `us`; empty where there is none.
  public var unit: String
  public var minimum: Double
  public var maximum: Double
  /// What its number stands for.
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
    case .text, .array: return nil
    }
    guard let value = Double(text), value >= minimum, value <= maximum else { return nil }
    guard step > 0 else { return value }
    // A Double cannot hold each whole number of more than 53 bits.
    let isWhole = text.allSatisfy { $0.isNumber || $0 == "-" || $0 == "+" }
    guard !isWhole || value.magnitude < 0x1p53 || Int64(text) == Int64(nearest: value) else {
      return nil
    }
    return (value - minimum).remainder(dividingBy: step) == 0 ? value : nil
  }

  /// What `value(_:)` takes, as a person would say it.
  public var allowed: String {
    switch kind {
    case .boolean: return Bool.allowed
    case .button: return text(of: minimum)
    case .text: return "a text of \(text(of: minimum)) to \(text(of: maximum)) bytes"
    case .array: return "several values"
    case .menu(let choices):
      return choices.map { "\($0.name) (\($0.value.settingText))" }.joined(separator: ", ")
    case .number:
      let steps = step > 1 ? " in steps of \(step.settingText)" : ""
      let units = unit.isEmpty ? "" : " (\(unit))"
      return "\(text(of: minimum)) to \(text(of: maximum))\(steps)\(units)"
    }
  }

  /// What to do instead of `text`, which ``value(_:)`` does not take: `give 0 to 255`; where `text` is no
  /// whole number and the control takes these alone, `give a whole number from 0 to 255`.
  package func advice(insteadOf text: String) -> String {
    guard kind == .number, step == 1, minimum == minimum.rounded() else { return "give \(allowed)" }
    if let value = Double(text), value == value.rounded() {
      guard value.magnitude >= 0x1p53, value >= minimum, value <= maximum else {
        return "give \(allowed)"
      }
      return "give \(self.text(of: value)), the nearest of 53 significant bits"
    }
    return "give a whole number from \(allowed)"
  }

  /// A value as a person would give it. Whole numbers are written out, as far as 64 bits go.
  public func text(of value: Double) -> String {
    switch kind {
    case .boolean: (value != 0).settingText
    case .menu(let choices): choices.first { $0.value == value }?.name ?? value.settingText
    case .number, .button, .text, .array:
      value == value.rounded() && value.magnitude <= 0x1p63
        ? "\(Int64(nearest: value))" : value.settingText
    }
  }
}

extension Int64 {
  /// The nearest whole number, within what 64 bits hold; 0 for what is no number.
  package init(nearest value: Double) {
    self =
      value.isNaN ? 0 : value >= 0x1p63 ? .max : value <= -0x1p63 ? .min : Int64(value.rounded())
  }
}

/// One entry of a control that is a menu.
public struct ControlChoice: Sendable, Hashable {
  /// The number that stands for it.
  public var value: Double
  /// In lower case, words joined by underscores.
  public var name: String

  public init(value: Double, name: String) {
    self.value = value
    self.name = name
  }
}

/// A control and the value that it is to have.
public struct ControlValue: Sendable, Hashable, BitwiseCopyable {
  /// The control's index among the source's controls.
  public var control: UInt16
  /// The value to be written.
  public var value: Double

  public init(_ control: UInt16, _ value: Double) {
    self.control = control
    self.value = value
  }
}

/// Carries control writes to the source's thread, against the direction of frames.
///
/// Any thread may write; the source takes what has gathered before each frame. The queue is
/// bounded: a write that finds it full is refused at once (`nil`), nothing waits. A write completes
/// with an `Event` that belongs to the first frame that shows it.
///
/// Writes of a batch stay together: all hold from the same frame on, and a source that can refuse one of
/// them refuses all. A camera hands them to its driver in one call where it can.
public final class ControlPort: Sendable {
  /// Writes that can be queued for the source. Larger: longer bursts of writes are accepted.
  public static let capacity = 64

  /// A write that waits for the source.
  public struct Write: Sendable, BitwiseCopyable {
    /// The number that the writer was given: the event that answers has it.
    public var ticket: UInt64
    /// The control's index among the source's controls.
    public var control: UInt16
    /// The value to be written.
    public var value: Double
    /// Writes of the same batch that follow this one in the queue.
    public var following: UInt16 = 0
  }

  struct State: Sendable {
    var ticket: UInt64 = 0
    var waiting: [Write] = []
    /// By control; NaN where it is not known.
    var values: [Double]
    /// Answered tickets: each at the place `ticket % answerCount`.
    var answers: [Answer]
    /// Why batches were refused, the latest last.
    var refusals: [Refusal] = []
  }

  struct Answer: Sendable, BitwiseCopyable {
    var ticket: UInt64 = 0
    var isRefused = false
  }

  struct Refusal: Sendable {
    var ticket: UInt64
    var reason: String
  }

  /// Answered tickets that are remembered. Larger: a caller may ask later what became of a write.
  static let answerCount = 4 * capacity
  /// Reasons of refusals that are remembered. Larger: more threads may write and be refused at a time.
  static let refusalCount = 8

  /// What may be written; the index is the control's number in writes and events.
  public let controls: [ControlDescription]
  /// True if the event that completes a write belongs to the first frame that shows the value, as
  /// with the scene. False for a driver: it reports when it took the value, and the sensor shows it
  /// some frames later.
  public let tellsWhatShows: Bool
  let state: Locked<State>
  let memory: Locked<ControlMemory>

  public init(controls: [ControlDescription], tellsWhatShows: Bool = false) {
    self.controls = controls
    self.tellsWhatShows = tellsWhatShows
    var state = State(
      values: [Double](repeating: .nan, count: controls.count),
      answers: [Answer](repeating: Answer(), count: Self.answerCount))
    state.waiting.reserveCapacity(Self.capacity)
    self.state = Locked(state)
    let delay = tellsWhatShows ? ControlDelayTime(frames: 0, .told) : nil
    memory = Locked(ControlMemory(delays: Array(repeating: delay, count: controls.count)))
  }

  /// The control of that name, if the source has it.
  public func control(_ name: String) -> UInt16? {
    controls.firstIndex { $0.name == name }.map { UInt16($0) }
  }

  /// Asks for `value`, clamped to the control's range. Returns the ticket that the completing
  /// event carries, or `nil` when the queue is full, or the value is no number.
  public func write(_ control: UInt16, _ value: Double) -> UInt64? {
    guard !value.isNaN else { return nil }
    return state.withLock { state in
      guard state.waiting.count < Self.capacity else { return nil }
      return add(ControlValue(control, value), following: 0, to: &state)
    }
  }

  /// Asks for several values as one batch, each clamped to its control's range. Returns their tickets, in the
  /// order of `values`, or `nil` when the queue has no room for all of them, or one is no number; then none
  /// is written.
  public func write(_ values: [ControlValue]) -> Range<UInt64>? {
    guard !values.contains(where: \.value.isNaN) else { return nil }
    return state.withLock { state in
      guard state.waiting.count + values.count <= Self.capacity else { return nil }
      let first = state.ticket + 1
      for (index, value) in values.enumerated() {
        _ = add(value, following: UInt16(values.count - 1 - index), to: &state)
      }
      return first..<state.ticket + 1
    }
  }

  private func add(_ wanted: ControlValue, following: UInt16, to state: inout State) -> UInt64 {
    contract(
      wanted.control < controls.count,
      "writes control \(wanted.control) of a source with \(controls.count); "
        + "`control(_:)` finds one by its name"
    )
    let range = controls[Int(wanted.control)]
    state.ticket += 1
    let clamped = min(max(wanted.value, range.minimum), range.maximum)
    state.waiting.append(
      Write(
        ticket: state.ticket, control: wanted.control, value: clamped, following: following))
    return state.ticket
  }

  /// The oldest write that has not been taken; for the source's thread.
  public func take() -> Write? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  /// Takes the oldest batch, in place of what `writes` holds; a single write is a batch of one. False if
  /// there is none. For the source's thread. Allocates nothing if `writes` has room for `capacity` writes.
  public func take(batch writes: inout [Write]) -> Bool {
    writes.removeAll(keepingCapacity: true)
    return state.withLock { state in
      guard let first = state.waiting.first else { return false }
      let count = min(Int(first.following) + 1, state.waiting.count)
      writes.append(contentsOf: state.waiting[..<count])
      state.waiting.removeSubrange(..<count)
      return true
    }
  }
}
