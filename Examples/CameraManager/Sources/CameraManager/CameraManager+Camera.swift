internal import Glibc
public import SprocketCapture

// Cameras, and what they are set to.
extension CameraManager {
  /// Checks the permission to open the camera, and in the mode videoWithMic the microphone. Shows no dialog.
  public func askUserForCameraPermission() async -> Bool {
    let hasSound = cameraOutputMode != .videoWithMic || microphone?.authorization == .authorized
    return currentCameraStatus() == .ready && hasSound
  }

  public func askUserForCameraPermission(_ completion: @escaping @MainActor (Bool) -> Void) {
    Task { completion(await askUserForCameraPermission()) }
  }
  public func currentCameraStatus() -> CameraState {
    guard let camera else { return .noDeviceFound }
    if case .denied(let why) = camera.authorization { return .accessDenied(why) }
    return .ready
  }

  public var hasFrontCamera: Bool { cameras.contains { $0.position == .front } }
  /// The driver of a USB webcam does not report a position. Such a camera counts as a back camera.
  private func camera(at side: CameraDevice) -> CaptureDevice? {
    if side == .front { return cameras.first { $0.position == .front } }
    return cameras.first { $0.position == .back } ?? cameras.first { $0.position == .unspecified }
  }

  private var camera: CaptureDevice? { camera(at: cameraDevice) }
  func requireCamera(_ side: CameraDevice) throws(CaptureError) -> CaptureDevice {
    if let found = camera(at: side) { return found }
    throw fail(.deviceNotFound, "there is no \(side) camera; plug one in")
  }

  private func control(
    _ body: (inout CaptureDevice.Configuration) -> Void
  ) async throws(CaptureError) {
    let camera = try requireCamera(cameraDevice)
    try await showing { () throws(CaptureError) in try await camera.withConfiguration(body) }
  }

  public func setCameraDevice(_ side: CameraDevice) async throws(CaptureError) {
    let camera = try requireCamera(side)
    try await change { c throws(CaptureError) in
      for old in c.inputs where old.device.mediaType == .video { c.remove(old) }
      c.add(try DeviceInput(camera))
      c.stages = stages(for: camera)
    }
    (cameraDevice, cropZoom) = (side, 1)
    applyOrientation()
  }

  public func canSetPreset(_ preset: SessionPreset) async -> Answer? {
    await captureSession?.canSet(preset)
  }

  public func setCameraOutputQuality(_ preset: SessionPreset) async throws(CaptureError) {
    let camera = try requireCamera(cameraDevice)
    try await change { c in
      c.preset = preset
      c.stages = stages(for: camera)
    }
    (cameraOutputQuality, cropZoom) = (preset, 1)
  }

  public func setCameraOutputMode(_ mode: CameraOutputMode) async throws(CaptureError) {
    guard mode != cameraOutputMode else { return }
    try await change { c throws(CaptureError) in try putOutputs(of: mode, into: &c) }
    cameraOutputMode = mode
    applyOrientation()
  }

  /// Of movies. One chain of stages serves all outputs, so the preview is steadied, too.
  public func setVideoStabilisationMode(_ mode: StabilizationMode) async throws(CaptureError) {
    if let addedMovies, addedMovies.state == .active {
      try await change { c in c.setPreferredStabilization(mode, of: addedMovies) }
    }
    videoStabilisationMode = mode
  }

  public var activeVideoStabilisationMode: StabilizationMode {
    addedMovies?.link(for: .video).activeStabilization ?? .off
  }

  public var hasFlash: Bool { cameras.contains(where: \.hasFlash) }
  public func hasFlash(for side: CameraDevice) -> Bool { camera(at: side)?.hasFlash ?? false }

  /// For photographs it is the flash of the next one, which refuses what the camera does not have. For movies
  /// it is the torch, now; `.auto` leaves that off.
  public func setFlashMode(_ mode: CameraFlashMode) async throws(CaptureError) {
    if cameraOutputMode != .stillImage, mode == .on || flashMode == .on {
      try await control { $0.setTorch(mode == .on ? .on() : .off) }
    }
    flashMode = mode
  }

  @discardableResult
  public func changeFlashMode() async throws(CaptureError) -> CameraFlashMode {
    try await setFlashMode(flashMode == .off ? .on : flashMode == .on ? .auto : .off)
    return flashMode
  }

  /// Tap to focus: a point of the view.
  public func focus(atX x: Double, y: Double) async throws(CaptureError) {
    guard let shown = previewOutput?.devicePoint(x: x, y: y) else {
      throw fail(.valueOutOfRange, "the view shows no part of the picture at \(x)/\(y)")
    }
    // The preview shows the part that `crop` has left.
    let point = Point(x: 0.5 + (shown.x - 0.5) / cropZoom, y: 0.5 + (shown.y - 0.5) / cropZoom)
    try await focus(at: point)
  }

  /// Focuses and exposes for a point of the sensor's picture, 0/0 top left, as `focusMode` and `exposureMode`
  /// say. Does what the camera can do of the two, and throws if it can do neither.
  public func focus(at point: Point) async throws(CaptureError) {
    let camera = try requireCamera(cameraDevice)
    var (focus, exposure) = (focusMode, exposureMode)
    if case .autoOnce = focus { focus = .autoOnce(at: point) }
    if case .continuous = focus { focus = .continuous(at: point) }
    if case .autoOnce = exposure { exposure = .autoOnce(at: point) }
    if case .continuous = exposure { exposure = .continuous(at: point) }
    let (canFocus, canExpose) = (camera.supports(focus), camera.supports(exposure).isYes)
    if let why = canFocus.reason, !canExpose { throw fail(why.code, why.description) }
    try await control { c in
      if canFocus.isYes { c.setFocus(focus) }
      if canExpose { c.setExposure(exposure) }
    }
  }

  public func changeExposureMode(_ mode: ExposureMode) async throws(CaptureError) {
    try await control { $0.setExposure(mode) }
  }

  /// Sets an exposure between the camera's shortest and longest: 0 to 1, by the fourth power, so that most of
  /// a slider's way is for short ones.
  public func changeExposureDuration(value: Double) async throws(CaptureError) {
    let range = try requireCamera(cameraDevice).exposureDurationRange ?? .zero ... .zero
    let length = range.upperBound - range.lowerBound
    let duration = range.lowerBound + length * pow(min(max(value, 0), 1), 4)
    try await changeExposureMode(.custom(duration: duration))
  }

  /// Of the camera's own zoom, else 4: with more the stage `crop` would show single pixels.
  public var maxZoomScale: Double { camera?.zoomRange?.upperBound ?? 4 }
  public var zoomScale: Double { camera?.zoomFactor ?? cropZoom }
  /// Zooms by a factor between 1 and `maxZoomScale`: by the camera where it can, else by stages. Pictures
  /// keep their size.
  public func zoom(_ scale: Double) async throws(CaptureError) {
    let camera = try requireCamera(cameraDevice)
    let factor = min(max(scale, 1), maxZoomScale)
    if camera.zoomRange != nil { return try await control { $0.setZoom(factor) } }
    guard let format = try await requireSession().activeFormat else {
      throw fail(.notRunning, "the session does not run; call resumeCaptureSession first")
    }
    try await change { c in c.stages = stages(for: camera, zoom: factor, of: format) }
    cropZoom = factor
  }

  /// Loops for what the camera lets be steered, the zoom, and the search for codes.
  func stages(
    for camera: CaptureDevice, zoom: Double = 1, of format: FrameFormat? = nil
  ) -> [StageChoice] {
    var stages: [StageChoice] = []
    if camera.exposureDurationRange != nil { stages += [.meter(), .autoExposure()] }
    let canFocus = camera.supports(FocusMode.locked(lensPosition: 0.5)).isYes
    if canFocus { stages += [.focus(), .autoFocus()] }
    if zoom > 1, let format {
      let (side, start) = (1 / zoom, (1 - 1 / zoom) / 2)
      let size = TargetSize(width: format.width, height: format.height)
      stages.append(.crop { $0.region = Region(x: start, y: start, width: side, height: side) })
      stages.append(.resize { ($0.size, $0.mode) = (size, .stretch) })
    }
    return codes == nil ? stages : stages + [Self.search]
  }
  static let search = StageChoice.codes { $0.types = CodeTypes([.qr, .ean8, .ean13]) }
}
