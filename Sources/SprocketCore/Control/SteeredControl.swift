/// One control of a source, driven by a control loop. It is found by its role, takes values in the role's
/// unit instead of the driver's, and follows each write to the frame that shows it.
///
/// Nothing is allocated after `init`.
public struct SteeredControl: Sendable {
  /// What the control changes, and its unit.
  public typealias Role = ControlUnit.Role

  /// What became of a write of this control's.
  public enum Answer: Sendable, Hashable {
    /// What the source made of it, and how many frames after the write.
    case applied(value: Double, delay: Int)
    /// The source refused the write. The text names the control, or the automatic control over it, and the
    /// value that was written, in the source's own numbers: `gain=50`.
    case refused(String)
  }

  private struct Pending: Sendable {
    var ticket: UInt64
    var number: UInt64
    /// In the source's own numbers.
    var value: Double
  }

  /// Unanswered writes that are remembered; the oldest is forgotten first. Larger: answers are matched after
  /// longer delays. Equal to the capacity of a `ControlPort`.
  static let capacity = 64

  public let role: Role
  public let description: ControlDescription
  private let port: ControlPort
  private let index: UInt16
  private let unit: ControlUnit
  /// What may be asked for, in the role's unit; exposure and gain are above 0.
  public let range: ClosedRange<Double>
  private var pending: [Pending] = []
  /// What was last written, as the source can have it; `nil` before the first write.
  public private(set) var asked: Double?
  /// What the source last said that it made of a write.
  public private(set) var applied: Double?
  /// Frames from the latest write that was answered to its answer.
  public private(set) var delay: Int?
  /// Running number of the frame of the latest answer.
  private var answered: UInt64 = 0

  /// The control in that role; `nil` if the source has none that can be changed and has a known unit (see
  /// `ControlUnit`).
  public init?(_ role: Role, on port: ControlPort) {
    guard let found = Self.control(in: role, on: port) else { return nil }
    self.init(role, found, port)
  }

  /// The control in that role, whether or not it can be changed; `nil` if the source has none.
  public static func control(in role: Role, on port: ControlPort) -> UInt16? {
    names(of: role).lazy.compactMap { port.control($0) }.first
  }

  /// The control of that name, in its own numbers; `nil` if the source has none that can be changed.
  public init?(named name: String, on port: ControlPort) {
    guard let found = port.control(name) else { return nil }
    self.init(.number, found, port)
  }

  private init?(_ role: Role, _ found: UInt16, _ port: ControlPort) {
    let description = port.controls[Int(found)]
    guard let unit = ControlUnit(role, of: description), let range = unit.range else { return nil }
    self.role = role
    self.description = description
    self.port = port
    index = found
    self.unit = unit
    self.range = range
    pending.reserveCapacity(Self.capacity)
  }

  private static func names(of role: Role) -> [String] {
    switch role {
    case .exposure: ["exposure_time_absolute", "exposure_absolute", "exposure"]
    case .gain: ["gain", "analogue_gain"]
    case .lens: ["focus_absolute", "lens"]
    case .number: []
    }
  }

  /// As a person would write it, in the source's own numbers: `gain=50`.
  public func text(of value: Double) -> String {
    "\(description.name)=\(description.text(of: unit.number(of: value)))"
  }

  /// The same, rounded to a thousandth, with the unit.
  package func shortText(of value: Double) -> String {
    let number = unit.number(of: value)
    let rounded = number.magnitude < 1e12 ? (number * 1000).rounded() / 1000 : number
    return "\(description.name)=\(description.text(of: rounded))\(description.unit)"
  }

  /// See `ControlUnit`.
  public func nearest(to value: Double) -> Double { unit.nearest(to: value) }
  public func nearest(notAbove value: Double) -> Double { unit.nearest(notAbove: value) }

  /// Writes the supported value nearest to `value`; `number` is the running number of the current frame.
  /// False if the port's queue is full; then nothing was written.
  public mutating func write(_ value: Double, at number: UInt64) -> Bool {
    let wanted = unit.number(of: value)
    guard let ticket = port.write(index, wanted) else { return false }
    expect(Pending(ticket: ticket, number: number, value: wanted))
    asked = unit.value(of: wanted)
    return true
  }

  private mutating func expect(_ write: Pending) {
    if pending.count == Self.capacity { pending.removeFirst() }
    pending.append(write)
  }

  /// The outcome that an event reports for a write to this control; `nil` for any other event. The delay is
  /// counted to the frame that the event belongs to, however late the event is received.
  public mutating func answer(_ event: Event) -> Answer? {
    // One from before the write answers a ticket of a device that is gone.
    guard event.kind == .controlApplied || event.kind == .controlRefused,
      let place = pending.firstIndex(where: {
        $0.ticket == event.ticket && $0.number <= event.number
      })
    else { return nil }
    let write = pending.remove(at: place)
    guard event.kind == .controlApplied else {
      let control = port.controls[Int(event.control)]
      return .refused("\(control.name)=\(control.text(of: write.value))")
    }
    // Another control, that was switched off for this one, has no value of this one's.
    guard event.control == index else { return nil }
    let made = unit.value(of: event.value)
    applied = made
    answered = event.number
    let delay = Int(event.number - write.number)
    self.delay = delay
    return .applied(value: made, delay: delay)
  }
}

extension SteeredControl {
  /// Whether the frame was taken with what was last written: all writes are answered, and the picture has
  /// followed, by the longest delay, or by `DelayWatch.patience` where it is not known. True before the first
  /// write.
  public func isShown(at number: UInt64) -> Bool {
    guard pending.isEmpty, applied != nil else { return pending.isEmpty }
    let delay = pictureDelay.map { UInt64(clamping: $0.frames) } ?? DelayWatch.patience
    return number >= answered + delay
  }

  /// The value now, as the source last said, in the role's unit; `nil` if it is not known.
  public var value: Double? { port.value(of: index).map { unit.value(of: $0) } }

  /// Frames from an answer until the picture shows the value; `nil` if that is not known.
  public var pictureDelay: ControlDelayTime? { port.delay(of: index) }

  /// The delay was measured in the picture: it is kept for the next run of this device.
  public func measured(pictureDelay frames: ClosedRange<Int>) {
    port.measured(delay: frames, of: index)
  }

  /// What a write changes, as it is now, in the source's own numbers; `nil` if it is not known.
  public var valueNow: (control: UInt16, value: Double)? {
    port.value(of: index).map { (index, $0) }
  }

  /// What `takeOver` changes, as it is now, in the source's own numbers; unknown values are left out.
  public var automaticsNow: [(control: UInt16, value: Double)] {
    Self.automatics(over: role).compactMap { port.control($0) }.compactMap { control in
      port.value(of: control).map { (control, $0) }
    }
  }

  /// Switches off the camera's automatic controls over this control. Returns the writes, such as
  /// `auto_exposure=manual_mode`; they stay in force after the run. `answer` reports a refusal.
  public mutating func takeOver(at number: UInt64) -> [String] {
    var written: [String] = []
    for name in Self.automatics(over: role) {
      guard let other = port.control(name) else { continue }
      let control = port.controls[Int(other)]
      guard let off = control.valueForManual, let ticket = port.write(other, off) else { continue }
      expect(Pending(ticket: ticket, number: number, value: off))
      written.append("\(name)=\(control.text(of: off))")
    }
    return written
  }

  /// As the kernel titles them, since 5.19 and before. The last of exposure lets the camera give
  /// fewer frames to expose for longer.
  private static func automatics(over role: Role) -> [String] {
    switch role {
    case .exposure:
      [
        "auto_exposure", "exposure_auto", "exposure_dynamic_framerate", "exposure_auto_priority",
      ]
    case .gain: ["gain_automatic", "autogain"]
    case .lens: ["focus_automatic_continuous", "focus_auto"]
    case .number: []
    }
  }
}

extension ControlDescription {
  /// What an automatic control is set to, so that it leaves a control alone.
  fileprivate var valueForManual: Double? {
    switch kind {
    case .boolean: 0
    case .menu(let choices): choices.first { $0.name.hasPrefix("manual") }?.value
    case .number, .button, .text, .array: nil
    }
  }
}
