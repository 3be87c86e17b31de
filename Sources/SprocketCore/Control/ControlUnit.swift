/// Converts a control's number to microseconds, a factor or a fraction, and back. Frame records and control
/// loops share these conversions.
public struct ControlUnit: Sendable {
  /// What a control changes, and its unit.
  public enum Role: String, Sendable {
    /// Exposure time in microseconds.
    case exposure
    /// Linear gain; 1 is the sensor's base gain.
    case gain
    /// Focus position: 0 is nearest, 1 is furthest.
    case lens
    /// The control's own numbers, of any control.
    case number
  }

  /// value = (number - `zero`) * `scale`.
  private let zero: Double
  /// Negative if a greater number is a smaller value.
  private let scale: Double
  private let control: ControlDescription
  /// Values that can be set; for exposure and gain only those above 0. `nil` if the control cannot be
  /// changed, or if none of its exposures or gains is above 0.
  public let range: ClosedRange<Double>?

  /// The conversion for a control in that role; `nil` if its numbers have no known unit.
  ///
  /// - exposure: controls in microseconds or in 100 us (`V4L2_CID_EXPOSURE_ABSOLUTE`). A control in lines of
  ///   unknown length has no unit.
  /// - gain: V4L2 defines no unit. The value is the factor to the control's default, as libcamera does for
  ///   UVC cameras. If the default is 0 or less, the range is taken as 1 to 16. A control without a default
  ///   is taken as a factor already.
  /// - lens: a fraction of the control's range. The greatest number of `V4L2_CID_FOCUS_ABSOLUTE` is the
  ///   nearest focus: "positive values set the focus closer to the camera, negative values towards infinity"
  ///   (the kernel's "Camera Control Reference"). A control named `lens` counts in the other direction.
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
    case .number: (zero, scale) = (0, 1)
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
    guard role == .exposure || role == .gain, least <= 0 else { return least...most }
    let step = control.step > 0 ? control.step : control.maximum / 1024
    guard step > 0 else { return nil }
    let steps = ((zero - control.minimum) / step + 1).rounded(.down)
    let first = value(control.minimum + steps * step)
    return first > 0 && first <= most ? first...most : nil
  }

  /// The value of a number, also of one outside the range.
  public func value(of number: Double) -> Double { (number - zero) * scale }

  /// The control's number nearest to a value, within `range`.
  public func number(of value: Double) -> Double {
    let wanted = range.map { min(max(value, $0.lowerBound), $0.upperBound) } ?? value
    let exact = wanted / scale + zero
    guard control.step > 0 else { return exact }
    let steps = ((exact - control.minimum) / control.step).rounded()
    let most = ((control.maximum - control.minimum) / control.step).rounded(.down)
    return control.minimum + min(max(steps, 0), most) * control.step
  }

  /// The supported value nearest to `value`.
  public func nearest(to value: Double) -> Double { self.value(of: number(of: value)) }

  /// The greatest supported value that is not above `value`; the least supported value if there is none.
  public func nearest(notAbove value: Double) -> Double {
    let found = nearest(to: value)
    guard found > value, control.step > 0 else { return found }
    return nearest(to: found - control.step * abs(scale))
  }
}
