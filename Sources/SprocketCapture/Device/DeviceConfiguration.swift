internal import Sprocket

extension CaptureDevice {
  /// Settings of a camera that hold together: they are written as one batch when `withConfiguration` ends.
  /// What is refused is collected, and thrown there; then none is written.
  public struct Configuration: ~Copyable {
    private let controls: DeviceControls
    /// By name; a later value replaces an earlier one.
    private(set) var values: DeviceControls.Values = []
    /// What the session's own loops are set to; a later setting of a loop replaces an earlier one.
    private(set) var loops: [LoopSetting] = []
    private(set) var ramp: ZoomRamp.Change?
    /// Whether the exposure is to stay as it is; `nil` where nothing was said of it.
    private(set) var locksExposure: Bool?
    private(set) var refusals: [CaptureError] = []
    private(set) var isEmpty = true

    init(_ controls: DeviceControls) { self.controls = controls }

    /// Sets the mode of the session's loop `autofocus`, or of the camera. A position is 0, nearest, to 1.
    public mutating func setFocus(_ mode: FocusMode) {
      add { c throws(CaptureError) in try c.setting(for: mode) }
    }

    /// Sets the mode of the session's loop `autoexposure`, or of the camera. Times and gains are those of
    /// `exposureDurationRange` and `gainRange`, with a loop, too.
    public mutating func setExposure(_ mode: ExposureMode) {
      locksExposure = mode == .locked
      add { c throws(CaptureError) in try c.setting(for: mode) }
    }

    /// Colour temperatures are those of `whiteBalanceRange`, gains those of `whiteBalanceGainRange`.
    public mutating func setWhiteBalance(_ mode: WhiteBalanceMode) {
      add { c throws(CaptureError) in .init(try c.values(for: mode)) }
    }

    /// The camera's own zoom, within `zoomRange`: 1 is the whole picture. Ends a ramp.
    public mutating func setZoom(_ factor: Double) {
      add { c throws(CaptureError) in .init(try c.values(forZoom: factor)) }
    }

    /// Lets the camera's own zoom go to a factor within `zoomRange`, step by step with the frames, while the
    /// session runs. `rate` is in doublings of the factor per second, 0.01 to 100: with 1 it takes two
    /// seconds from 1 to 4. The change's frame is one after the begin of the ramp; `isRampingZoom` tells its
    /// end. It ends early with `cancelZoomRamp`, `setZoom`, another ramp or camera, and with the session's
    /// run.
    ///
    /// Refused if the camera has no zoom control or no session runs it.
    public mutating func rampZoom(to factor: Double, rate: Double) {
      add { c throws(CaptureError) in .init(ramp: .begin(try c.ramp(to: factor, rate: rate))) }
    }

    /// Ends a ramp: the zoom stays as it is. Does nothing where there is none.
    public mutating func cancelZoomRamp() { add { _ in .init(ramp: .cancel) } }

    /// A level is 0 to 1.
    public mutating func setTorch(_ mode: TorchMode) {
      add { c throws(CaptureError) in .init(try c.values(for: mode)) }
    }

    /// Whether the sensor merges exposures into one picture of a wide range of light.
    public mutating func setHDR(_ isOn: Bool) {
      add { c throws(CaptureError) in .init(try c.values(forHDR: isOn)) }
    }

    /// Any control by its name, in its own numbers (docs/cameras.md).
    public mutating func set(_ control: String, _ value: Double) {
      add { c throws(CaptureError) in .init(try c.value(value, of: control)) }
    }

    private mutating func add(
      _ make: (DeviceControls) throws(CaptureError) -> DeviceSetting
    ) {
      isEmpty = false
      do throws(CaptureError) {
        let setting = try make(controls)
        for new in setting.values {
          values.removeAll { $0.name == new.name }
          values.append(new)
          if new.name == controls.zoom?.control.name { ramp = .cancel }
        }
        if let new = setting.loop {
          loops.removeAll { $0.loop == new.loop }
          loops.append(new)
        }
        if let new = setting.ramp {
          values.removeAll { $0.name == controls.zoom?.control.name }
          ramp = new
        }
      } catch {
        refusals.append(error)
      }
    }
  }

  /// Changes settings of the camera as one batch: all of them, or none. They also hold whenever a session
  /// starts the camera later.
  ///
  /// In a running session it returns when a frame has come that shows all of them, and says which; it waits
  /// for that at most 3 s. Calls of one actor return in their order. A mode of a loop of the session's shows
  /// when the loop has it; what the loop does then takes time: `settle` waits for it. Throws `.cancelled` if
  /// the session stops, or takes another camera, format or stage meanwhile.
  ///
  /// Throws if the camera has no such control, or cannot have such a value, and if the driver refuses.
  @discardableResult
  public nonisolated(nonsending) func withConfiguration(
    _ body: (inout Configuration) throws(CaptureError) -> Void
  ) async throws(CaptureError) -> ControlChange {
    try await change(within: SessionRun.controlPatience, body)
  }

  /// Changes settings as `withConfiguration` does, with another limit.
  nonisolated(nonsending) func change(
    within limit: Duration, _ body: (inout Configuration) throws(CaptureError) -> Void
  ) async throws(CaptureError) -> ControlChange {
    var configuration = Configuration(controls)
    try body(&configuration)
    if let refusal = CaptureError(all: configuration.refusals) { throw refusal }
    guard !configuration.isEmpty else { return ControlChange(firstFrame: nil, values: [:]) }
    let values = configuration.values
    let change: ControlChange
    if let run = state.withLock(\.run) {
      let loops = configuration.loops
      try run.check(loops.flatMap(\.changes))
      change = try await run.write(values, loops, configuration.ramp, within: limit)
    } else if case .begin = configuration.ramp {
      throw CaptureError(
        .notRunning,
        "no session runs \(localizedName), so its zoom cannot ramp; start one, or use setZoom")
    } else {
      change = try write(values)
    }
    keep(values, locksExposure: configuration.locksExposure)
    return change
  }

  /// Keeps what holds whenever a session starts the camera later.
  private func keep(_ values: DeviceControls.Values, locksExposure: Bool?) {
    let controls = controls
    // What a button did is done.
    var kept = values.filter { controls.find($0.name)?.kind != .button }
    let replaced = controls.decided(by: values)
    let light = [controls.exposure, controls.gain].compactMap { $0 }
    if locksExposure == true, controls.stages.contains(Loop.exposure.rawValue) {
      // A loop that is locked begins locked later, with what it has now.
      kept += light.compactMap { control in controls.now(control).map { (control.name, $0) } }
    }
    let isSetByHand = values.contains { value in light.contains { $0.name == value.name } }
    state.withLock { state in
      for name in replaced { state.wanted[name] = nil }
      for (name, value) in kept { state.wanted[name] = value }
      if let locks = locksExposure ?? (isSetByHand ? false : nil) { state.isExposureLocked = locks }
    }
  }

  /// Writes to a camera that no session runs.
  private func write(_ values: DeviceControls.Values) throws(CaptureError) -> ControlChange {
    let made = Dictionary(values.map { ($0.name, $0.value) }) { _, last in last }
    guard case .camera(let info) = kind, !values.isEmpty else {
      return ControlChange(firstFrame: nil, values: made)
    }
    do throws(RunError) {
      let change = try info.write(values.map { ($0.name, $0.value.settingText) })
      let pairs = change.controls.map { ($0.description.name, $0.value) }
      return ControlChange(
        firstFrame: nil, values: Dictionary(pairs) { _, last in last })
    } catch {
      throw CaptureError(error, .controlUnsupported)
    }
  }

  // MARK: What is supported

  var controls: DeviceControls {
    let now: (ControlDescription) -> Double? = { self.value(of: $0.name) }
    if let port = state.withLock(\.run)?.engine?.description.controls {
      return DeviceControls(
        device: localizedName, controls: port.controls,
        stages: state.withLock(\.run)?.stages ?? [], now: now)
    }
    let known: [ControlDescription] =
      switch kind {
      case .camera(let info): info.controls.filter { !$0.isReadOnly }.map(\.description)
      case .scene: SceneSource.controls
      case .microphone, .sceneMicrophone, .other, .otherSound: []
      }
    return DeviceControls(device: localizedName, controls: known, now: now)
  }

  private func answer(_ question: (DeviceControls) throws(CaptureError) -> Void) -> Answer {
    do throws(CaptureError) {
      try question(controls)
      return .yes
    } catch {
      return .no(error)
    }
  }

  /// Whether the mode could be set now, with its point, position, time and gain.
  public func supports(_ mode: FocusMode) -> Answer {
    answer { c throws(CaptureError) in
      let setting = try c.setting(for: mode)
      try state.withLock(\.run)?.check(setting.loop?.changes ?? [])
    }
  }

  /// Whether the mode could be set now, with its point, position, time and gain.
  public func supports(_ mode: ExposureMode) -> Answer {
    answer { c throws(CaptureError) in
      let setting = try c.setting(for: mode)
      try state.withLock(\.run)?.check(setting.loop?.changes ?? [])
    }
  }

  public func supports(_ mode: WhiteBalanceMode) -> Answer {
    answer { c throws(CaptureError) in _ = try c.values(for: mode) }
  }

  public func supports(_ mode: TorchMode) -> Answer {
    answer { c throws(CaptureError) in _ = try c.values(for: mode) }
  }

  public func supportsZoom(_ factor: Double) -> Answer {
    answer { c throws(CaptureError) in _ = try c.values(forZoom: factor) }
  }

  public var supportsHDR: Answer {
    answer { c throws(CaptureError) in _ = try c.values(forHDR: true) }
  }

  public var hasTorch: Bool { supports(TorchMode.on()).isYes }
  /// No session fires a flash: V4L2's flash controls are set by `Configuration.set`.
  public var hasFlash: Bool { false }

  /// Whether a photograph may be asked for with it.
  public func supports(_ mode: PhotoSettings.FlashMode) -> Answer {
    mode == .on ? .no(noFlash) : .yes
  }

  var noFlash: CaptureError {
    CaptureError(
      .controlUnsupported, "\(localizedName) has no flash that a session fires; take .off or .auto")
  }
}
