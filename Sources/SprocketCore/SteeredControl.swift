/// One control of a source that a loop drives: found by what it does, written in a unit of its own
/// whatever the driver counts in, and followed from each write to the frame that shows it.
///
/// Nothing is allocated after `init`.
public struct SteeredControl: Sendable {
  public enum Role: String, Sendable {
    /// How long light is gathered, in microseconds.
    case exposure
    /// A linear factor, 1 is the sensor's base.
    case gain
    /// 0 nearest to 1 furthest.
    case lens
  }

  /// What became of a write of this control's.
  public enum Answer: Sendable, Hashable {
    /// What the source made of it, and how many frames after the write.
    case applied(value: Double, delay: Int)
    /// The source did not take it: the name of the control, or of the automatic one over it, and what it
    /// was to be, as `gain=50`, in the source's own numbers.
    case refused(String)
  }

  private struct Pending: Sendable {
    var ticket: UInt64
    var number: UInt64
    /// In the source's own numbers.
    var value: Double
  }

  /// Writes that may be without an answer; of more, the oldest are forgotten.
  static let capacity = 64

  public let role: Role
  public let description: ControlDescription
  private let port: ControlPort
  private let index: UInt16
  /// A value in the role's unit is the driver's, less `zero`, times `scale`.
  private let zero: Double
  private let scale: Double
  /// What may be asked for, in the role's unit; exposure and gain are above 0.
  public let range: ClosedRange<Double>
  private var pending: [Pending] = []
  /// What was last written, as the source can have it; `nil` before the first write.
  public private(set) var asked: Double?
  /// What the source last said that it made of a write.
  public private(set) var applied: Double?
  /// Frames from the latest write that was answered to its answer.
  public private(set) var delay: Int?

  /// The control of that role; `nil` where the source has none.
  ///
  /// - exposure: a control in microseconds, or in 100 us as `V4L2_CID_EXPOSURE_ABSOLUTE` is. One that
  ///   counts in lines of an unknown length is not taken.
  /// - gain: V4L2 gives it no unit. As in a frame's record it is a factor of the default, which is how
  ///   libcamera takes UVC cameras; without a default above 0, the range is taken to be 1 to 16.
  /// - lens: the whole range of `V4L2_CID_FOCUS_ABSOLUTE`, whose greatest value is the nearest.
  public init?(_ role: Role, on port: ControlPort) {
    guard let found = Self.names(of: role).lazy.compactMap({ port.control($0) }).first else {
      return nil
    }
    let description = port.controls[Int(found)]
    guard let (zero, scale) = Self.unit(of: description, role),
      let range = Self.range(of: description, role, zero: zero, scale: scale)
    else { return nil }
    self.role = role
    self.description = description
    self.port = port
    index = found
    self.zero = zero
    self.scale = scale
    self.range = range
    pending.reserveCapacity(Self.capacity)
  }

  private static func names(of role: Role) -> [String] {
    switch role {
    case .exposure: ["exposure_time_absolute", "exposure_absolute", "exposure"]
    case .gain: ["gain", "analogue_gain"]
    case .lens: ["focus_absolute", "lens"]
    }
  }

  private static func unit(of control: ControlDescription, _ role: Role) -> (Double, Double)? {
    let span = control.maximum - control.minimum
    guard span > 0 else { return nil }
    switch role {
    case .exposure:
      let units = ["us": 1.0, "100 us": 100]
      return units[control.unit].map { (0, $0) }
    case .gain:
      guard let base = control.defaultValue else { return (0, 1) }
      return base > 0 ? (0, 1 / base) : (control.minimum - span / 15, 15 / span)
    case .lens:
      return control.name == "lens"
        ? (control.minimum, 1 / span) : (control.maximum, -1 / span)
    }
  }

  /// `nil` where nothing that the source can have is above 0, and has to be.
  private static func range(
    of control: ControlDescription, _ role: Role, zero: Double, scale: Double
  ) -> ClosedRange<Double>? {
    func value(_ number: Double) -> Double { (number - zero) * scale }
    let (one, other) = (value(control.minimum), value(control.maximum))
    let (least, most) = (min(one, other), max(one, other))
    guard role != .lens, least <= 0 else { return least...most }
    let step = control.step > 0 ? control.step : control.maximum / 1024
    guard step > 0 else { return nil }
    let steps = ((zero - control.minimum) / step + 1).rounded(.down)
    let first = value(control.minimum + steps * step)
    return first > 0 && first <= most ? first...most : nil
  }

  /// The nearest value that the source can have, in the role's unit.
  public func nearest(to value: Double) -> Double {
    self.value(of: driverValue(of: min(max(value, range.lowerBound), range.upperBound)))
  }

  /// The greatest value that the source can have and that is not above `value`; its least where there is
  /// none.
  public func nearest(notAbove value: Double) -> Double {
    let found = nearest(to: value)
    guard found > value, description.step > 0 else { return found }
    return nearest(to: found - description.step * abs(scale))
  }

  private func value(of driverValue: Double) -> Double { (driverValue - zero) * scale }

  private func driverValue(of value: Double) -> Double {
    let exact = value / scale + zero
    guard description.step > 0 else { return exact }
    let steps = ((exact - description.minimum) / description.step).rounded()
    let most = ((description.maximum - description.minimum) / description.step).rounded(.down)
    return description.minimum + min(max(steps, 0), most) * description.step
  }

  /// Asks for the value that is nearest, at the frame of that running number. False when too much is
  /// on its way: nothing was asked then.
  public mutating func write(_ value: Double, at number: UInt64) -> Bool {
    let wanted = driverValue(of: min(max(value, range.lowerBound), range.upperBound))
    guard let ticket = port.write(index, wanted) else { return false }
    expect(Pending(ticket: ticket, number: number, value: wanted))
    asked = self.value(of: wanted)
    return true
  }

  private mutating func expect(_ write: Pending) {
    if pending.count == Self.capacity { pending.removeFirst() }
    pending.append(write)
  }

  /// What an event says of this control's writes; `nil` where it is about something else. However late it
  /// is heard, the delay is counted to the frame that it belongs to.
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
    let made = value(of: event.value)
    applied = made
    let delay = Int(event.number - write.number)
    self.delay = delay
    return .applied(value: made, delay: delay)
  }
}

extension SteeredControl {
  /// Switches off what the camera decides by itself over this control. Returns what was written, as
  /// `auto_exposure=manual_mode`: it stays so after the run. A refusal is told by `answer`.
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
    }
  }
}

extension ControlDescription {
  /// What an automatic control is set to, so that it leaves a control alone.
  fileprivate var valueForManual: Double? {
    switch kind {
    case .boolean: 0
    case .menu(let choices): choices.first { $0.name.hasPrefix("manual") }?.value
    case .number, .button: nil
    }
  }
}
