internal import Sprocket

/// A camera for a photograph or a recording in one call.
///
///     try await Camera().photo(to: "me.jpg")
///     let result = try await Camera(position: .front).record(to: "me.mov", maximumDuration: .seconds(20))
public struct Camera: Sendable {
  /// How much of the camera is used: the sizes of `SessionPreset`.
  public enum Quality: Sendable, Hashable {
    case low, medium, high

    var preset: SessionPreset {
      switch self {
      case .low: .low
      case .medium: .medium
      case .high: .high
      }
    }
  }

  public let device: CaptureDevice

  /// The first camera that may be opened. Throws if there is none, or none may be opened.
  public init(position: CaptureDevice.Position = .unspecified) throws(CaptureError) {
    guard let device = CaptureDevice.default(for: .video, position: position) else {
      throw CaptureError(
        .deviceNotFound, "there is no camera; plug one in, or take Camera(CaptureDevice.scenes[0])")
    }
    self.init(device)
  }

  public init(_ device: CaptureDevice) { self.device = device }

  /// Takes a photograph with all pixels of the camera. The path's ending says what it is: `.jpg`, `.png`,
  /// `.tif` or `.dng`.
  @discardableResult
  public func photo(to path: String, overwrite: Bool = false) async throws(CaptureError)
    -> CapturedPhoto
  {
    guard let format = StillFormat(ending: path) else {
      throw CaptureError(
        .fileRefused, "a photograph cannot be called \(path): use .jpg, .png, .tif or .dng")
    }
    let output = PhotoOutput(formats: [format])
    let session = try await start(.photo, output)
    let photo: CapturedPhoto
    do throws(CaptureError) {
      photo = try await output.photo(PhotoSettings(format))
    } catch {
      await session.stop()
      throw error
    }
    await session.stop()
    try photo.write(to: path, overwrite: overwrite)
    return photo
  }

  /// Records for that long, or until the task is cancelled, with the sound of the first microphone that may
  /// be opened, unless another one or `nil` is given. Returns what was recorded; throws if nothing usable
  /// was. It also ends where the camera gives no frames, 30 s later than it should.
  public func record(
    to path: String, quality: Quality = .high, maximumDuration: Duration,
    microphone: CaptureDevice? = .default(for: .audio)
  ) async throws(CaptureError) -> RecordingResult {
    var limits = RecordingLimits()
    limits.duration = maximumDuration
    let output = MovieFileOutput(limits: limits)
    let session = try await start(quality.preset, output, microphone)
    let result: RecordingResult
    do throws(CaptureError) {
      let recording = try output.startRecording(to: path)
      let timer = Task {
        try await Task.sleep(for: maximumDuration + .seconds(30))
        recording.stop()
        // A camera without frames ends nothing.
        await session.stop()
      }
      defer { timer.cancel() }
      result = await withTaskCancellationHandler {
        await recording.finished()
      } onCancel: {
        recording.stop()
      }
    } catch {
      await session.stop()
      throw error
    }
    await session.stop()
    if let error = result.error, !result.isUsable { throw error }
    return result
  }

  private func start(
    _ preset: SessionPreset, _ output: some CaptureOutput, _ microphone: CaptureDevice? = nil
  ) async throws(CaptureError) -> CaptureSession {
    let session = try CaptureSession()
    let inputs = try [device, microphone].compactMap { $0 }.map { (device) throws(CaptureError) in
      try DeviceInput(device)
    }
    try await session.configure { c in
      for input in inputs { c.add(input) }
      c.preset = preset
      c.add(output)
    }
    try await session.start()
    return session
  }
}
