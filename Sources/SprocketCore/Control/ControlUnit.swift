/// What a control's numbers mean: microseconds, a factor or a fraction, whatever the driver counts in. Both
/// frames' records and the loops that write use it.
public struct ControlUnit: Sendable {
  public enum Role: String, Sendable {
    /// How long light is gathered, in microseconds.
    case exposure
    /// A linear factor, 1 is the sensor's base.
    case gain
    /// 0 nearest to 1 furthest.
    case lens
  }

  /// A value is the driver's number, less `zero`, times `scale`.
  private let zero: Double
  /// Of one step of the driver's number, negative where greater numbers are smaller values.
  private let scale: Double
  private let control: ControlDescription
  /// What may be asked for; exposure and gain are above 0. `nil` where the control cannot be changed, or
  /// nothing that it can have is above 0 and has to be.
  public let range: ClosedRange<Double>?

  /// The unit of a control in that role; `nil` where its numbers have no meaning.
  ///
  /// - exposure: a control in microseconds, or in 100 us as `V4L2_CID_EXPOSURE_ABSOLUTE` is. One that
  ///   counts in lines of an unknown length has none.
  /// - gain: V4L2 gives it no unit. It is a factor of the default, which is how libcamera takes UVC
  ///   cameras; without a default above 0, the range is taken to be 1 to 16. A control that says no default
  ///   is a factor already.
  /// - lens: the whole range of `V4L2_CID_FOCUS_ABSOLUTE`, whose greatest value is the nearest: "positive
  ///   values set the focus closer to the camera, negative values towards infinity" (the kernel's "Camera
  ///   Control Reference").
  public init?(_ role: Role, of control: ControlDescription) {
    let span = control.maximum - control.minimum
    switch role {
    case .exposure:
      let units = ["us": 1.0, "100 us": 100]
      guard let unit = units[control.unit] else { return nil }
      (zero, scale) = (0, unit)
    case .gain:
      let base = control.defaultValue ?? 1
      guard base > 0 || span > 0 else { return nil }
      (zero, scale) = base > 0 ? (0, 1 / base) : (control.minimum - span / 15, 15 / span)
    case .lens:
      guard span > 0 else { return nil }
      (zero, scale) =
        control.name == "lens" ? (control.minimum, 1 / span) : (control.maximum, -1 / span)
    }
    self.control = control
    range = Self.range(of: control, role, zero: zero, scale: scale)
  }

  private static func range(
    of control: ControlDescription, _ role: Role, zero: Double, scale: Double
  ) -> ClosedRange<Double>? {
    guard control.maximum > control.minimum else { return nil }
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

  /// What the driver's number means; also of a number outside the range.
  public func value(of number: Double) -> Double { (number - zero) * scale }

  /// The driver's number that is nearest to a value, within `range`.
  public func number(of value: Double) -> Double {
    let wanted = range.map { min(max(value, $0.lowerBound), $0.upperBound) } ?? value
    let exact = wanted / scale + zero
    guard control.step > 0 else { return exact }
    let steps = ((exact - control.minimum) / control.step).rounded()
    let most = ((control.maximum - control.minimum) / control.step).rounded(.down)
    return control.minimum + min(max(steps, 0), most) * control.step
  }

  /// The nearest value that the source can have.
  public func nearest(to value: Double) -> Double { self.value(of: number(of: value)) }

  /// The greatest value that the source can have and that is not above `value`; its least where there is
  /// none.
  public func nearest(notAbove value: Double) -> Double {
    let found = nearest(to: value)
    guard found > value, control.step > 0 else { return found }
    return nearest(to: found - control.step * abs(scale))
  }
}
