internal import Sprocket
internal import SprocketStages

// What a camera is set to, and between which bounds. A value is `nil` where the camera does not tell it: few
// drivers tell all before a session runs.
extension CaptureDevice {
  /// The present value of a control, by its name and in its own numbers; `nil` if it is not known.
  public func value(of control: String) -> Double? {
    if let port = state.withLock(\.run)?.engine?.description.controls {
      return port.control(control).flatMap { port.value(of: $0) }
    }
    if let wanted = wanted[control] { return wanted }
    guard case .camera(let info) = kind else { return nil }
    return info.controls.first { $0.description.name == control }?.value
  }

  private func value(of control: ControlDescription?) -> Double? {
    control.flatMap { value(of: $0.name) }
  }

  private func value(_ role: ControlUnit.Role, _ control: ControlDescription?) -> Double? {
    guard let control, let unit = ControlUnit(role, of: control) else { return nil }
    return value(of: control.name).map { unit.value(of: $0) }
  }

  private func range(
    _ role: ControlUnit.Role, _ control: ControlDescription?
  ) -> ClosedRange<Double>? { control.flatMap { ControlUnit(role, of: $0)?.range } }

  // MARK: Exposure

  public var exposureDuration: Duration? {
    value(.exposure, controls.exposure).map { .nanoseconds(Int64(nearest: $0 * 1000)) }
  }

  /// 1 is the sensor's base.
  public var gain: Double? { value(.gain, controls.gain) }

  public var exposureDurationRange: ClosedRange<Duration>? {
    range(.exposure, controls.exposure).map { range in
      let bound = { (microseconds: Double) in
        Duration.nanoseconds(Int64(nearest: microseconds * 1000))
      }
      return bound(range.lowerBound)...bound(range.upperBound)
    }
  }

  /// 1 is the sensor's base.
  public var gainRange: ClosedRange<Double>? { range(.gain, controls.gain) }

  /// What decides over the exposure: the session's loop, without its point, or the camera.
  public var exposureMode: ExposureMode? {
    let controls = controls
    switch state.withLock(\.run)?.exposureMode {
    case .continuous: return .continuous()
    case .auto: return .autoOnce()
    case .custom: return .custom(duration: exposureDuration, gain: gain)
    case .locked: return .locked
    case nil: break
    }
    guard controls.exposure != nil || controls.autoExposure != nil else { return nil }
    if let auto = controls.autoExposure {
      guard let now = value(of: auto) else { return nil }
      if controls.choice("manual", of: auto) != now { return .continuous() }
    }
    return .custom(duration: exposureDuration, gain: gain)
  }

  // MARK: Focus

  /// 0 is nearest, 1 furthest.
  public var lensPosition: Double? { value(.lens, controls.lens) }

  /// What decides over the focus: the session's loop, without its point, or the camera.
  public var focusMode: FocusMode? {
    let controls = controls
    switch state.withLock(\.run)?.focusMode {
    case .continuous: return .continuous()
    case .auto: return .autoOnce()
    case .locked, .custom: return .locked(lensPosition: lensPosition)
    case nil: break
    }
    guard controls.lens != nil || controls.autoFocus != nil else { return nil }
    if let auto = controls.autoFocus, value(of: auto) != 0 {
      return value(of: auto).map { _ in .continuous() }
    }
    return .locked(lensPosition: lensPosition)
  }

  // MARK: The rest

  /// In kelvins.
  public var whiteBalanceRange: ClosedRange<Double>? {
    controls.find("white_balance_temperature").map { $0.minimum...$0.maximum }
  }

  public var whiteBalanceMode: WhiteBalanceMode? {
    let controls = controls
    let kelvins = controls.find("white_balance_temperature")
    if let auto = controls.autoWhiteBalance {
      guard let now = value(of: auto) else { return nil }
      if now != 0 { return .continuous }
    } else if kelvins == nil {
      return nil
    }
    return .locked(kelvins: value(of: kelvins))
  }

  /// Of the camera's own zoom. 1 is the whole picture.
  public var zoomRange: ClosedRange<Double>? {
    controls.zoom.map { 1...$0.maximum / $0.base }
  }

  public var zoomFactor: Double? {
    controls.zoom.flatMap { zoom in value(of: zoom.name).map { $0 / zoom.base } }
  }

  public var torchMode: TorchMode? {
    let controls = controls
    guard let led = controls.find("led_mode"), let torch = controls.choice("torch", of: led),
      let now = value(of: led)
    else { return nil }
    guard now == torch else { return .off }
    guard let light = controls.find("intensity_torch_mode"), light.maximum > light.minimum,
      let level = value(of: light)
    else { return .on() }
    return .on(level: (level - light.minimum) / (light.maximum - light.minimum))
  }

  public var isHDREnabled: Bool? {
    controls.find("wide_dynamic_range", "hdr_sensor_mode").flatMap { control in
      value(of: control).map { $0 != control.minimum }
    }
  }

  /// Other programs that have the camera open: their names and numbers. Empty for other devices. Asks the
  /// system: some ten milliseconds.
  public var holders: [String] {
    guard case .camera(let info) = kind else { return [] }
    return Self.listed(info)?.holders ?? []
  }
}
