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

  /// What decides over the exposure: the session's loop, without its point, or the camera. `.autoOnce`
  /// becomes `.locked` when the loop has done its work.
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
    if state.withLock(\.isExposureLocked) { return .locked }
    return .custom(duration: exposureDuration, gain: gain)
  }

  // MARK: Focus

  /// 0 is nearest, 1 furthest.
  public var lensPosition: Double? { value(.lens, controls.lens) }

  /// What decides over the focus: the session's loop, without its point, or the camera. `.autoOnce`
  /// becomes `.locked` when the loop has done its work.
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
    } else if kelvins == nil, whiteBalanceGainRange == nil {
      return nil
    }
    if kelvins == nil, let gains = whiteBalanceGains {
      return .gains(red: gains.red, blue: gains.blue)
    }
    return .locked(kelvins: value(of: kelvins))
  }

  private var balances: [ControlDescription] {
    let controls = controls
    return ["red_balance", "blue_balance"].compactMap { controls.find($0) }
      .filter { $0.defaultValue ?? 1 > 0 }
  }

  /// The gains of red and blue over green that are set; 1 is what the camera begins with. `nil` where the
  /// camera has no controls for both (`WhiteBalanceMode.gains`).
  public var whiteBalanceGains: (red: Double, blue: Double)? {
    let gains = balances.compactMap { value(.gain, $0) }
    return gains.count == 2 ? (gains[0], gains[1]) : nil
  }

  /// Gains that both red and blue can have.
  public var whiteBalanceGainRange: ClosedRange<Double>? {
    let ranges = balances.compactMap { range(.gain, $0) }
    guard ranges.count == 2, ranges[0].overlaps(ranges[1]) else { return nil }
    return ranges[0].clamped(to: ranges[1])
  }

  /// Of the camera's own zoom. 1 is the whole picture.
  public var zoomRange: ClosedRange<Double>? {
    controls.zoom.map { 1...$0.control.maximum / $0.base }
  }

  public var zoomFactor: Double? {
    controls.zoom.flatMap { zoom in value(of: zoom.control).map { $0 / zoom.base } }
  }

  /// Whether the zoom goes to a factor by itself (`Configuration.rampZoom`).
  public var isRampingZoom: Bool { state.withLock(\.run)?.isRampingZoom ?? false }

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
