internal import Sprocket
internal import SprocketStages

/// What a mode of a device comes to: values of the camera's controls, a setting of a loop of the session's,
/// or a ramp of the zoom.
struct DeviceSetting {
  var values: DeviceControls.Values = []
  var loop: LoopSetting?
  var ramp: ZoomRamp.Change?

  init(
    _ values: DeviceControls.Values = [], loop: LoopSetting? = nil, ramp: ZoomRamp.Change? = nil
  ) { (self.values, self.loop, self.ramp) = (values, loop, ramp) }
}

/// What one of the session's loops is set to.
struct LoopSetting: Sendable {
  /// A value that the loop is to write by itself.
  struct Value: Sendable {
    let role: ControlUnit.Role
    /// The control's name, and its number.
    let name: String
    let number: Double
    /// In the role's unit, as the control can have it.
    let value: Double
  }

  let loop: CaptureDevice.Loop
  /// The point first, the loop's own setting last.
  var changes: [SettingsChange] = []
  /// Empty in modes in which the loop decides.
  var values: [Value] = []
}

// Stages that steer the camera by what they measure decide where they are in the chain; the camera's
// automatics do where they are not. Both have the ranges of the camera's controls.
extension DeviceControls {
  func setting(for mode: FocusMode) throws(CaptureError) -> DeviceSetting {
    guard stages.contains("autofocus") else { return DeviceSetting(try values(for: mode)) }
    var setting = LoopSetting(loop: .focus)
    switch mode {
    case .locked(nil): setting.changes = [focus { $0.mode = .locked }]
    case .locked(let position?):
      // The camera's own: it throws for a position out of range.
      let written = try values(for: mode)
      setting.values = loopValues([(.lens, lens)], of: written)
      let target = setting.values.first?.value ?? position
      setting.changes = [focus { ($0.mode, $0.position) = (.custom, target) }]
    case .autoOnce(let point): setting.changes = at(point) + [focus { $0.mode = .auto }]
    case .continuous(let point): setting.changes = at(point) + [focus { $0.mode = .continuous }]
    }
    return DeviceSetting(loop: setting)
    func at(_ point: Point?) -> [SettingsChange] {
      point.map { point in
        [SettingsChange("focus", of: FocusScore.Settings.self) { $0.point = point }]
      } ?? []
    }
  }

  func setting(for mode: ExposureMode) throws(CaptureError) -> DeviceSetting {
    guard stages.contains("autoexposure") else { return DeviceSetting(try values(for: mode)) }
    var setting = LoopSetting(loop: .exposure)
    switch mode {
    case .locked: setting.changes = [exposure { $0.mode = .locked }]
    case .autoOnce(let point): setting.changes = at(point) + [exposure { $0.mode = .auto }]
    case .continuous(let point): setting.changes = at(point) + [exposure { $0.mode = .continuous }]
    case .custom(let duration, let factor):
      let whole = try completed(duration, factor)
      let written = try values(for: .custom(duration: whole.duration, gain: whole.gain))
      setting.values = loopValues([(.exposure, self.exposure), (.gain, gain)], of: written)
      let time = setting.values.first { $0.role == .exposure }?.value
      let factor = setting.values.first { $0.role == .gain }?.value
      setting.changes = [
        exposure { settings in
          settings.mode = .custom
          if let time { settings.exposure = time }
          if let factor { settings.gain = factor }
        }
      ]
    }
    return DeviceSetting(loop: setting)
    func at(_ point: Point?) -> [SettingsChange] {
      point.map { point in
        [
          SettingsChange("meter", of: ExposureMeter.Settings.self) {
            ($0.mode, $0.point) = (.spot, point)
          }
        ]
      } ?? []
    }
  }

  /// What is left out stays as it is now: the loop has both values or none.
  private func completed(
    _ duration: Duration?, _ factor: Double?
  ) throws(CaptureError) -> (duration: Duration?, gain: Double?) {
    var (duration, factor) = (duration, factor)
    if duration == nil, let time = try present(.exposure, exposure, "exposure time") {
      duration = .nanoseconds(Int64(nearest: time * 1000))
    }
    if factor == nil { factor = try present(.gain, gain, "gain") }
    return (duration, factor)
  }

  /// The value of a control in its role's unit; `nil` if the camera has no such control.
  private func present(
    _ role: ControlUnit.Role, _ control: ControlDescription?, _ what: String
  ) throws(CaptureError) -> Double? {
    guard let control, let unit = ControlUnit(role, of: control), let range = unit.range else {
      return nil
    }
    guard let number = now(control) else {
      throw CaptureError(
        .controlUnsupported, "\(device) does not tell its \(what); give both, the time and the gain"
      )
    }
    return min(max(unit.value(of: number), range.lowerBound), range.upperBound)
  }

  private func loopValues(
    _ roles: [(role: ControlUnit.Role, control: ControlDescription?)], of written: Values
  ) -> [LoopSetting.Value] {
    roles.compactMap { role, control in
      guard let control, let unit = ControlUnit(role, of: control),
        let number = written.last(where: { $0.name == control.name })?.value
      else { return nil }
      return LoopSetting.Value(
        role: role, name: control.name, number: number, value: unit.value(of: number))
    }
  }

  private func focus(
    _ choose: (inout NewValues<AutoFocus.Settings>) -> Void
  ) -> SettingsChange { SettingsChange("autofocus", of: AutoFocus.Settings.self, choose) }

  private func exposure(
    _ choose: (inout NewValues<AutoExposure.Settings>) -> Void
  ) -> SettingsChange { SettingsChange("autoexposure", of: AutoExposure.Settings.self, choose) }
}
