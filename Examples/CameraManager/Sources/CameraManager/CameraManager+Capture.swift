internal import Foundation
public import SprocketCapture

public struct CaptureContent: Sendable {
  public let photo: CapturedPhoto
  /// `nil` if it was not written.
  public let path: String?
}

public typealias CaptureResult = Result<CaptureContent, CaptureError>
public typealias QRCodeDetectionHandler = @MainActor (String) -> Void

// Pictures, movies and codes.
extension CameraManager {
  /// The longest wait for a picture, or for a movie's end. Larger: a hanging camera is noticed later.
  private static let limit = Duration.seconds(20)

  /// Takes a picture, and writes it to `writeFilesToFolder` if that is set.
  public func capturePicture() async throws(CaptureError) -> CaptureContent {
    let photo = try await capturePictureData()
    guard let folder = writeFilesToFolder else { return CaptureContent(photo: photo, path: nil) }
    let path = Self.path(in: folder, "picture", "jpg")
    try await showing { () throws(CaptureError) in try photo.write(to: path) }
    return CaptureContent(photo: photo, path: path)
  }

  public func capturePictureWithCompletion(
    _ imageCompletion: @escaping @MainActor (CaptureResult) -> Void
  ) { answer(imageCompletion, capturePicture) }

  public func capturePictureDataWithCompletion(
    _ imageCompletion: @escaping @MainActor (Result<CapturedPhoto, CaptureError>) -> Void
  ) { answer(imageCompletion, capturePictureData) }

  /// Takes a picture without writing it.
  public func capturePictureData() async throws(CaptureError) -> CapturedPhoto {
    guard cameraOutputMode == .stillImage else {
      throw fail(.settingsRefused, "the mode is \(cameraOutputMode); set stillImage first")
    }
    return try await showing { [photos, flashMode] () throws(CaptureError) in
      try await within(Self.limit, "the picture") { () throws(CaptureError) in
        var settings = PhotoSettings(.jpeg)
        settings.flashMode = flashMode
        return try await photos.photo(settings)
      }
    }
  }

  private func answer<Value: Sendable>(
    _ completion: @escaping @MainActor (Result<Value, CaptureError>) -> Void,
    _ call: @escaping @MainActor () async throws(CaptureError) -> Value
  ) {
    Task {
      do throws(CaptureError) { completion(.success(try await call())) } catch {
        completion(.failure(error))
      }
    }
  }

  private static func path(in folder: String?, _ kind: String, _ ending: String) -> String {
    "\(folder ?? "/tmp")/\(kind)-\(UUID().uuidString.prefix(8)).\(ending)"
  }

  /// Begins a movie with the next frame.
  public func startRecordingVideo() throws(CaptureError) {
    guard cameraOutputMode != .stillImage else {
      throw fail(.settingsRefused, "the mode is stillImage; set videoOnly or videoWithMic first")
    }
    if let recording, recording.result == nil {
      throw fail(.busy, "a movie is being recorded; call stopVideoRecording first")
    }
    let path = Self.path(in: writeFilesToFolder, "movie", "mov")
    do throws(CaptureError) { recording = try movies.startRecording(to: path) } catch {
      throw show(error)
    }
  }

  /// Returns when the file is complete. Throws if there is none that can be used.
  @discardableResult
  public func stopVideoRecording() async throws(CaptureError) -> RecordingResult {
    guard let recording else {
      throw fail(.notRunning, "no movie is being recorded; call startRecordingVideo first")
    }
    recording.stop()
    let result = try await showing { () throws(CaptureError) in
      try await within(Self.limit, "the end of the movie") { () throws(CaptureError) in
        for await _ in recording.events {}
        if let result = recording.result { return result }
        throw CaptureError(.cancelled, "the task was cancelled before the movie was complete")
      }
    }
    self.recording = nil
    if !result.isUsable, let error = result.error { throw show(error) }
    return result
  }

  public func stopVideoRecording(
    _ completion: @escaping @MainActor (Result<RecordingResult, CaptureError>) -> Void
  ) { answer(completion, stopVideoRecording) }

  public var recordedDuration: Duration { movies.recordedDuration }
  public var recordedFileSize: UInt64 { movies.recordedFileSize }

  /// Looks for QR, EAN-8 and EAN-13 codes, and calls the handler for each that is seen, as often as it is
  /// seen: up to ten times a second.
  public func startQRCodeDetection(
    _ handler: @escaping QRCodeDetectionHandler
  ) async throws(CaptureError) {
    try requireSession()
    guard codes == nil else {
      throw fail(.busy, "codes are being looked for; call stopQRCodeDetection first")
    }
    let output = MetadataOutput(types: [Codes.plugin.name]) { [weak self] objects in
      let reports = objects.compactMap { $0.report as? CodesReport }
      let texts = reports.flatMap { report in report.found.compactMap { report.text(of: $0) } }
      Task { @MainActor in
        guard self?.codes != nil else { return }
        for text in texts { handler(text) }
      }
    }
    try await change { c in
      c.stages.append(Self.search)
      c.add(output)
    }
    codes = output
  }

  public func stopQRCodeDetection() async throws(CaptureError) {
    guard let output = codes else { return }
    try await change { c in
      c.remove(output)
      c.stages.removeAll { $0.plugin.name == Codes.plugin.name }
    }
    codes = nil
  }
}

/// Waits for what `work` returns, for `limit` at most. `work` must end when its task is cancelled.
private func within<Value: Sendable>(
  _ limit: Duration, _ what: String,
  _ work: @escaping @Sendable () async throws(CaptureError) -> Value
) async throws(CaptureError) -> Value {
  let result = await withTaskGroup(of: Result<Value, CaptureError>?.self) { group in
    group.addTask {
      do throws(CaptureError) { return .success(try await work()) } catch { return .failure(error) }
    }
    group.addTask {
      try? await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    return await group.next() ?? nil
  }
  guard let result else { throw CaptureError(.timedOut, "\(what) has not come within \(limit)") }
  return try result.get()
}
