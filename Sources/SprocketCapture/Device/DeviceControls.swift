internal import Sprocket

/// Which controls of a camera do what a mode asks for. Pure: of the controls' descriptions alone.
struct DeviceControls {
  typealias Values = [(name: String, value: Double)]

  let device: String
  let controls: [ControlDescription]
  /// Names of the plug-ins that the session's pictures pass: a loop among them decides over its control.
  var stages: Set<String> = []
  /// The present value of a control, in its own numbers; `nil` where it is not known.
  var now: (ControlDescription) -> Double? = { _ in nil }

  func find(_ names: String...) -> ControlDescription? {
    names.lazy.compactMap { name in controls.first { $0.name == name } }.first
  }

  func missing(_ what: String, _ remedy: String = "") -> CaptureError {
    CaptureError(
      .controlUnsupported,
      "\(device) has no control for \(what)"
        + (remedy.isEmpty ? "" : "; \(remedy)"))
  }

  private static let focusStages = "add the stages focus and autofocus to the session"
  private static let exposureStages = "add the stages meter and autoexposure to the session"

  // MARK: Focus

  var lens: ControlDescription? { find("focus_absolute", "lens") }
  var autoFocus: ControlDescription? { find("focus_automatic_continuous", "focus_auto") }

  func values(for mode: FocusMode) throws(CaptureError) -> Values {
    let off = autoFocus.map { [(name: $0.name, value: 0.0)] } ?? []
    switch mode {
    case .locked(nil):
      guard lens != nil || autoFocus != nil else { throw missing("focus") }
      return off
    case .locked(let position?):
      guard let lens, let unit = ControlUnit(.lens, of: lens) else {
        throw missing("the lens's position")
      }
      guard 0...1 ~= position else {
        throw CaptureError(
          .valueOutOfRange,
          "the lens's position of \(device) is 0, nearest, to 1, furthest, not \(position.settingText)"
        )
      }
      return off + [(lens.name, unit.number(of: position))]
    case .continuous(let point):
      guard let autoFocus else { throw missing("automatic focus", Self.focusStages) }
      guard point == nil else { throw missing("a point to focus on", Self.focusStages) }
      return [(autoFocus.name, 1)]
    case .autoOnce(let point):
      guard point == nil else { throw missing("a point to focus on", Self.focusStages) }
      guard let start = find("auto_focus_start") else {
        throw missing("focusing once", "take .continuous, then .locked()")
      }
      return off + [(start.name, start.maximum)]
    }
  }

  // MARK: Exposure

  var exposure: ControlDescription? {
    find("exposure_time_absolute", "exposure_absolute", "exposure")
  }
  var gain: ControlDescription? { find("gain", "analogue_gain") }
  var autoExposure: ControlDescription? { find("auto_exposure", "exposure_auto") }
  private var autoGain: ControlDescription? { find("gain_automatic", "autogain") }

  /// What switches automatic exposure off.
  private func manualExposure() throws(CaptureError) -> Values {
    guard let autoExposure else { return [] }
    guard let manual = choice("manual", of: autoExposure) else {
      throw CaptureError(
        .controlUnsupported,
        "\(device) always exposes by itself: \(autoExposure.name) has no manual mode")
    }
    return [(autoExposure.name, manual)]
  }

  func choice(_ beginning: String, of control: ControlDescription) -> Double? {
    guard case .menu(let choices) = control.kind else { return nil }
    return choices.first { $0.name.hasPrefix(beginning) }?.value
  }

  func values(for mode: ExposureMode) throws(CaptureError) -> Values {
    switch mode {
    case .autoOnce: throw missing("exposing once", Self.exposureStages)
    case .continuous(let point):
      guard let autoExposure else { throw missing("automatic exposure", Self.exposureStages) }
      guard point == nil else { throw missing("a point to expose for", Self.exposureStages) }
      let wanted = choice("aperture", of: autoExposure) ?? choice("auto", of: autoExposure)
      guard let wanted else { throw missing("automatic exposure") }
      return [(autoExposure.name, wanted)] + (autoGain.map { [($0.name, 1)] } ?? [])
    case .locked:
      guard exposure != nil || autoExposure != nil else { throw missing("exposure") }
      return try manualExposure()
    case .custom(let duration, let factor):
      var values = try manualExposure()
      if let duration {
        let wanted = Double(duration.nanosecondCount) / 1000
        values.append(try value(wanted, .exposure, exposure, "the exposure time", "microseconds"))
      }
      if let factor {
        if let autoGain { values.append((autoGain.name, 0)) }
        values.append(try value(factor, .gain, gain, "gain", "times the base gain"))
      }
      return values
    }
  }

  /// A value in a role's unit as the control has it. Throws if the control cannot have it.
  func value(
    _ wanted: Double, _ role: ControlUnit.Role, _ control: ControlDescription?, _ what: String,
    _ unit: String
  ) throws(CaptureError) -> (name: String, value: Double) {
    guard let control, let known = ControlUnit(role, of: control), let range = known.range else {
      throw missing(what)
    }
    guard wanted >= range.lowerBound * 0.999, wanted <= range.upperBound * 1.001 else {
      throw CaptureError(
        .valueOutOfRange,
        "\(what) of \(device) is \(range.lowerBound.settingText) to \(range.upperBound.settingText) "
          + "\(unit), not \(wanted.settingText)")
    }
    return (control.name, known.number(of: wanted))
  }

  /// Names of controls that decide over others.
  static let automatics: Set<String> = [
    "focus_automatic_continuous", "focus_auto", "auto_exposure", "exposure_auto", "gain_automatic",
    "autogain", "white_balance_automatic", "white_balance_temperature_auto",
  ]

  /// Names of the controls that automatics decide over once `values` are set.
  func decided(by values: Values) -> [String] {
    var names: [String?] = []
    for (name, value) in values {
      switch name {
      case autoFocus?.name where value != 0: names.append(lens?.name)
      case autoGain?.name where value != 0: names.append(gain?.name)
      case autoWhiteBalance?.name where value != 0:
        names += ["white_balance_temperature", "red_balance", "blue_balance"]
      case autoExposure?.name where autoExposure.flatMap({ choice("manual", of: $0) }) != value:
        names += [exposure?.name, gain?.name]
      default: break
      }
    }
    return names.compactMap { $0 }.filter { name in !values.contains { $0.name == name } }
  }

  // MARK: The rest

  var autoWhiteBalance: ControlDescription? {
    find("white_balance_automatic", "white_balance_temperature_auto")
  }

  func values(for mode: WhiteBalanceMode) throws(CaptureError) -> Values {
    let auto = autoWhiteBalance
    let off = auto.map { [(name: $0.name, value: 0.0)] } ?? []
    switch mode {
    case .continuous:
      guard let auto else { throw missing("automatic white balance") }
      return [(auto.name, 1)]
    case .autoOnce:
      guard let start = find("do_white_balance") else {
        throw missing("balancing white once", "take .continuous, then .locked()")
      }
      return off + [(start.name, start.maximum)]
    case .locked(nil):
      guard auto != nil || find("white_balance_temperature") != nil else {
        throw missing("white balance")
      }
      return off
    case .locked(let kelvins?):
      let control = find("white_balance_temperature")
      return off + [try value(kelvins, .number, control, "the colour temperature", "K")]
    case .gains(let red, let blue):
      let gains = try [("red_balance", red, "red"), ("blue_balance", blue, "blue")].map {
        (gain) throws(CaptureError) in try balance(gain.1, gain.0, gain.2)
      }
      return off + gains
    }
  }

  private func balance(
    _ factor: Double, _ name: String, _ color: String
  ) throws(CaptureError) -> (name: String, value: Double) {
    let hasKelvins = find("white_balance_temperature") != nil
    guard let control = find(name) else {
      throw missing(
        "the gain of \(color)", hasKelvins ? "set a colour temperature by .locked(kelvins:)" : "")
    }
    guard control.defaultValue ?? 1 > 0 else {
      throw CaptureError(
        .controlUnsupported,
        "\(name) of \(device) has no known unit, because its default is not above 0; "
          + "set its number by set(\"\(name)\", ...)")
    }
    return try value(factor, .gain, control, "the gain of \(color)", "times the camera's default")
  }

  /// The control of the zoom, and its number that shows the whole picture.
  var zoom: (control: ControlDescription, base: Double)? {
    guard let zoom = find("zoom_absolute"), zoom.maximum > zoom.minimum else { return nil }
    return (zoom, max(zoom.minimum, 1))
  }

  /// 1 is the whole picture.
  func values(forZoom factor: Double) throws(CaptureError) -> Values {
    guard let zoom else {
      throw missing("zoom", "add the stage resize to the session, whose region zooms")
    }
    let most = zoom.control.maximum / zoom.base
    guard factor >= 1, factor <= most else {
      throw CaptureError(
        .valueOutOfRange,
        "the zoom of \(device) is 1 to \(most.settingText), not \(factor.settingText)")
    }
    return [nearest(factor * zoom.base, of: zoom.control)]
  }

  /// A value that a control can have, nearest to a number.
  func nearest(_ number: Double, of control: ControlDescription) -> (name: String, value: Double) {
    (control.name, ControlUnit(.number, of: control)?.number(of: number) ?? number)
  }

  func values(for mode: TorchMode) throws(CaptureError) -> Values {
    guard let led = find("led_mode"), let torch = choice("torch", of: led) else {
      throw missing("a torch")
    }
    switch mode {
    case .off: return [(led.name, led.minimum)]
    case .on(nil): return [(led.name, torch)]
    case .on(let level?):
      guard let light = find("intensity_torch_mode") else { throw missing("the torch's level") }
      guard 0...1 ~= level else {
        throw CaptureError(
          .valueOutOfRange, "the torch's level of \(device) is 0 to 1, not \(level.settingText)")
      }
      let value = light.minimum + level * (light.maximum - light.minimum)
      return [nearest(value, of: light), (led.name, torch)]
    }
  }

  func values(forHDR isOn: Bool) throws(CaptureError) -> Values {
    guard let control = find("wide_dynamic_range", "hdr_sensor_mode") else {
      throw missing("pictures of a wide range of light")
    }
    return [(control.name, isOn ? control.maximum : control.minimum)]
  }

  /// A control by its own name, in its own numbers.
  func value(_ value: Double, of name: String) throws(CaptureError) -> Values {
    guard let control = find(name) else {
      throw CaptureError(
        .controlUnsupported,
        "\(device) has no control `\(name)`; "
          + knownNames(controls.map(\.name), near: name, "it has"))
    }
    guard control.takes(value) else {
      let text = value.settingText
      throw CaptureError(
        .valueOutOfRange,
        "\(name)=\(text) of \(device) is not allowed: \(control.advice(insteadOf: text))")
    }
    return [(name, value)]
  }
}

extension ControlDescription {
  fileprivate func takes(_ number: Double) -> Bool {
    switch kind {
    case .menu(let choices): choices.contains { $0.value == number }
    case .boolean: number == 0 || number == 1
    case .text, .array: false
    case .number, .button:
      number >= minimum && number <= maximum
        && (step <= 0 || abs((number - minimum).remainder(dividingBy: step)) <= step * 1e-6)
    }
  }
}
