public import SprocketCapture

public typealias CameraFlashMode = PhotoSettings.FlashMode
public enum CameraDevice: Sendable, Hashable { case front, back }
public enum CameraOutputMode: Sendable, Hashable { case stillImage, videoWithMic, videoOnly }

public enum CameraState: Sendable, Hashable {
  case ready
  /// With a sentence that says what to do.
  case accessDenied(String)
  case noDeviceFound
}

/// The public interface of the library CameraManager for iOS, over a capture session.
///
/// What can fail is set by a function `setX`: one configuration of the session, which throws its error. The
/// property then keeps its value.
@MainActor public final class CameraManager {
  public private(set) var captureSession: CaptureSession?
  /// The newest frame for a view, and the view's geometry. `nil` before the set-up.
  public private(set) var previewOutput: PreviewOutput?
  public internal(set) var cameraDevice = CameraDevice.back
  public internal(set) var cameraOutputMode = CameraOutputMode.stillImage
  public internal(set) var cameraOutputQuality = SessionPreset.high
  public internal(set) var flashMode = CameraFlashMode.off
  public internal(set) var videoStabilisationMode = StabilizationMode.off
  /// What has to be done to a picture before it stands upright. A program that knows how the device is held
  /// sets it at each turn.
  public var imageOrientation = Orientation.upright { didSet { applyOrientation() } }
  public var shouldFlipFrontCameraImage = false { didSet { applyOrientation() } }
  /// How a tap focuses and exposes; the tap's point replaces the mode's.
  public var focusMode = FocusMode.continuous()
  public var exposureMode = ExposureMode.continuous()
  /// Pictures and movies are written to this folder. `nil`: movies go to /tmp, and pictures are not written.
  public var writeFilesToFolder: String?
  /// Whether `showErrorBlock` is called for each error.
  public var showErrorsToUsers = false
  public var showErrorBlock: @MainActor (_ erTitle: String, _ erMessage: String) -> Void = {
    print("\($0): \($1)")
  }

  private let given: [CaptureDevice]?
  private(set) var cameras: [CaptureDevice]
  let microphone: CaptureDevice?
  private(set) var photos = PhotoOutput()
  private(set) var movies = MovieFileOutput()
  private var previewLink: VideoLink?
  private var photoLink: VideoLink?
  var addedMovies: Added<MovieFileOutput>?
  var codes: MetadataOutput?
  var recording: Recording?
  /// Of the zoom by the stage `crop`; 1 is the whole picture.
  var cropZoom = 1.0
  private var errors: Task<Void, Never>?

  /// `nil`: those of the machine.
  public init(cameras: [CaptureDevice]? = nil, microphone: CaptureDevice? = nil) {
    (given, self.cameras) = (cameras, cameras ?? CaptureDevice.devices(for: .video))
    self.microphone = microphone ?? CaptureDevice.default(for: .audio)
  }

  /// Makes and starts a session with a preview for a view of that size. A second call changes the size.
  @discardableResult
  public func addPreviewLayerToView(
    width: Double, height: Double, newCameraOutputMode: CameraOutputMode? = nil
  ) async throws(CaptureError) -> PreviewOutput {
    let mode = newCameraOutputMode ?? cameraOutputMode
    if let previewOutput, captureSession != nil {
      (previewOutput.geometry.viewWidth, previewOutput.geometry.viewHeight) = (width, height)
      try await setCameraOutputMode(mode)
      return previewOutput
    }
    cameras = given ?? CaptureDevice.devices(for: .video)
    let session = try CaptureSession()
    let stream = session.runtimeErrors
    errors?.cancel()
    errors = Task { [weak self] in for await error in stream { self?.show(error) } }
    let camera = try requireCamera(cameraDevice)
    // An output belongs to one session only.
    (photos, movies) = (PhotoOutput(), MovieFileOutput())
    let preview = PreviewOutput(view: (width, height), gravity: .aspectFill)
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = cameraOutputQuality
      c.stages = stages(for: camera)
      try putOutputs(of: mode, into: &c)
      return c.add(preview)
    }
    try await session.start()
    (captureSession, previewOutput, cameraOutputMode) = (session, preview, mode)
    previewLink = added.link(for: .video)
    applyOrientation()
    return preview
  }

  /// Stops the session; a recording is completed. All that was set stays.
  public func stopCaptureSession() async { await captureSession?.stop() }
  /// Starts the session again, or makes a new one after `stopAndRemoveCaptureSession`.
  public func resumeCaptureSession() async throws(CaptureError) {
    if let captureSession { return try await captureSession.start() }
    guard let view = previewOutput?.geometry else {
      throw fail(.notRunning, "there is no preview yet; call addPreviewLayerToView first")
    }
    try await addPreviewLayerToView(width: view.viewWidth, height: view.viewHeight)
  }

  /// Stops the session and lets all devices go. The camera is then the one at the back.
  public func stopAndRemoveCaptureSession() async {
    await stopCaptureSession()
    errors?.cancel()
    (captureSession, codes, recording, cropZoom, cameraDevice) = (nil, nil, nil, 1, .back)
  }

  public var cameraIsReady: Bool { captureSession?.isRunning ?? false }
  /// One change of the session. Before the set-up there is nothing to change.
  func change(
    _ body: (inout CaptureSession.Configuration) throws(CaptureError) -> Void
  ) async throws(CaptureError) { try await captureSession?.configure(body) }

  @discardableResult
  func requireSession() throws(CaptureError) -> CaptureSession {
    if let captureSession { return captureSession }
    throw fail(.notRunning, "there is no capture session; call addPreviewLayerToView first")
  }

  func putOutputs(
    of mode: CameraOutputMode, into c: inout CaptureSession.Configuration
  ) throws(CaptureError) {
    for output in c.outputs where output === photos || output === movies { c.remove(output) }
    for input in c.inputs where input.device.mediaType == .audio { c.remove(input) }
    guard mode != .stillImage else {
      photoLink = c.add(photos).link(for: .video)
      return
    }
    let added = c.add(movies)
    c.setPreferredStabilization(videoStabilisationMode, of: added)
    addedMovies = added
    if mode == .videoWithMic, let microphone { c.add(try DeviceInput(microphone)) }
    if mode == .videoWithMic, microphone == nil {
      throw CaptureError(.deviceNotFound, "there is no microphone; plug one in, or take videoOnly")
    }
  }

  func applyOrientation() {
    let isMirrored = shouldFlipFrontCameraImage && cameraDevice == .front
    for case let link? in [previewLink, photoLink, addedMovies?.link(for: .video)] {
      // Only a link of an output that has left the session refuses it.
      try? link.setOrientation(imageOrientation)
      try? link.setMirrored(isMirrored)
    }
  }

  @discardableResult
  func show(_ error: CaptureError) -> CaptureError {
    if showErrorsToUsers { showErrorBlock("Camera", error.description) }
    return error
  }

  func fail(_ code: CaptureError.Code, _ sentence: String) -> CaptureError {
    show(CaptureError(code, sentence))
  }

  @discardableResult
  func showing<Value>(
    _ call: () async throws(CaptureError) -> Value
  ) async throws(CaptureError) -> Value {
    do throws(CaptureError) { return try await call() } catch { throw show(error) }
  }
}
