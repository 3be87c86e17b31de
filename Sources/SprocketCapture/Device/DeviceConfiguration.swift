internal import Sprocket

extension CaptureDevice {
  /// Settings of a camera that hold together: they are written as one batch when `withConfiguration` ends.
  /// What is refused is collected, and thrown there; then none is written.
  public struct Configuration: ~Copyable {
    private let controls: DeviceControls
    /// By name; a later value replaces an earlier one.
    private(set) var values: DeviceControls.Values = []
    /// Settings of the session's own loops.
    private(set) var loops: [SettingsChange] = []
    private(set) var refusals: [CaptureError] = []

    init(_ controls: DeviceControls) { self.controls = controls }

    public mutating func setFocus(_ mode: FocusMode) {
      if let loop = controls.loop(for: mode) { return loops.append(contentsOf: loop) }
      add { c throws(CaptureError) in try c.values(for: mode) }
    }

    public mutating func setExposure(_ mode: ExposureMode) {
      if let loop = controls.loop(for: mode) { return loops.append(contentsOf: loop) }
      add { c throws(CaptureError) in try c.values(for: mode) }
    }

    public mutating func setWhiteBalance(_ mode: WhiteBalanceMode) {
      add { c throws(CaptureError) in try c.values(for: mode) }
    }

    /// The camera's own zoom: 1 is the whole picture.
    public mutating func setZoom(_ factor: Double) {
      add { c throws(CaptureError) in try c.values(forZoom: factor) }
    }

    public mutating func setTorch(_ mode: TorchMode) {
      add { c throws(CaptureError) in try c.values(for: mode) }
    }

    /// Whether the sensor merges exposures into one picture of a wide range of light.
    public mutating func setHDR(_ isOn: Bool) {
      add { c throws(CaptureError) in try c.values(forHDR: isOn) }
    }

    /// Any control by its name, in its own numbers (docs/cameras.md).
    public mutating func set(_ control: String, _ value: Double) {
      add { c throws(CaptureError) in try c.value(value, of: control) }
    }

    private mutating func add(
      _ make: (DeviceControls) throws(CaptureError) -> DeviceControls.Values
    ) {
      do throws(CaptureError) {
        for new in try make(controls) {
          values.removeAll { $0.name == new.name }
          values.append(new)
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
  /// for that at most 3 s. Calls of one actor return in their order. Settings of a loop of the session's take
  /// time: `settle` waits for it. Throws `.cancelled` if the session stops, or takes another camera or format
  /// meanwhile.
  ///
  /// Throws if the camera has no such control, or cannot have such a value, and if the driver refuses.
  @discardableResult
  public nonisolated(nonsending) func withConfiguration(
    _ body: (inout Configuration) throws(CaptureError) -> Void
  ) async throws(CaptureError) -> ControlChange {
    var configuration = Configuration(controls)
    try body(&configuration)
    if let refusal = CaptureError(all: configuration.refusals) { throw refusal }
    let values = configuration.values
    let change: ControlChange
    if let run = state.withLock(\.run) {
      try run.check(configuration.loops)
      change = try await run.write(values)
      try run.set(configuration.loops)
    } else {
      change = try write(values)
    }
    // What a button did is done.
    let kept = values.filter { controls.find($0.name)?.kind != .button }
    let replaced = controls.decided(by: values)
    state.withLock { state in
      for name in replaced { state.wanted[name] = nil }
      for (name, value) in kept { state.wanted[name] = value }
    }
    return change
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
    if let port = state.withLock(\.run)?.engine?.description.controls {
      return DeviceControls(
        device: localizedName, controls: port.controls,
        stages: state.withLock(\.run)?.stages ?? [])
    }
    let known: [ControlDescription] =
      switch kind {
      case .camera(let info): info.controls.filter { !$0.isReadOnly }.map(\.description)
      case .scene: SceneSource.controls
      case .microphone, .sceneMicrophone, .other, .otherSound: []
      }
    return DeviceControls(device: localizedName, controls: known)
  }

  private func answer(_ question: (DeviceControls) throws(CaptureError) -> Void) -> Answer {
    do throws(CaptureError) {
      try question(controls)
      return .yes
    } catch {
      return .no(error)
    }
  }

  public func supports(_ mode: FocusMode) -> Answer {
    answer { c throws(CaptureError) in
      guard let loop = c.loop(for: mode) else {
        _ = try c.values(for: mode)
        return
      }
      try state.withLock(\.run)?.check(loop)
    }
  }

  public func supports(_ mode: ExposureMode) -> Answer {
    answer { c throws(CaptureError) in
      guard let loop = c.loop(for: mode) else {
        _ = try c.values(for: mode)
        return
      }
      try state.withLock(\.run)?.check(loop)
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
