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
    guard let still = StillFormat(ending: path) else {
      throw CaptureError(
        .fileRefused, "a photograph cannot be called \(path): use .jpg, .png, .tif or .dng")
    }
    let format = PhotoFormat(still)
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

  /// Records for that long, or until the task is cancelled. Returns what was recorded; throws if nothing
  /// usable was.
  public func record(
    to path: String, quality: Quality = .high, maximumDuration: Duration
  ) async throws(CaptureError) -> RecordingResult {
    var limits = RecordingLimits()
    limits.duration = maximumDuration
    let output = MovieFileOutput(limits: limits)
    let session = try await start(quality.preset, output)
    let result: RecordingResult
    do throws(CaptureError) {
      let recording = try output.startRecording(to: path)
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
    _ preset: SessionPreset, _ output: some CaptureOutput
  ) async throws(CaptureError) -> CaptureSession {
    let session = try CaptureSession()
    let input = try DeviceInput(device)
    try await session.configure { c in
      c.add(input)
      c.preset = preset
      c.add(output)
    }
    try await session.start()
    return session
  }
}
