internal import Foundation
public import SprocketCapture

public enum CaptureContent: Sendable {
  case imageData([UInt8])
  /// A picture that was written to a file, too.
  case asset([UInt8], path: String)

  /// The bytes of a JPEG.
  public var asData: [UInt8] {
    switch self { case .imageData(let data), .asset(let data, _): data }
  }
}

public enum CaptureResult: Sendable {
  case success(content: CaptureContent)
  case failure(CaptureError)
}

public typealias QRCodeDetectionHandler = @MainActor (Result<String, CaptureError>) -> Void

// Pictures, movies and codes.
extension CameraManager {
  /// The longest wait for a picture, or for a movie's end. Larger: a hanging camera is noticed later.
  private static let limit = Duration.seconds(20)

  /// Takes a picture, and writes it to `writeFilesToFolder` if that is set.
  public func capturePicture() async throws(CaptureError) -> CaptureContent {
    let photo = try await capture()
    guard let folder = writeFilesToFolder else { return .imageData(photo.fileData) }
    let path = Self.path(in: folder, "picture", "jpg")
    try await showing { () throws(CaptureError) in try photo.write(to: path) }
    return .asset(photo.fileData, path: path)
  }

  /// Takes a picture without writing it.
  public func capturePictureData() async throws(CaptureError) -> [UInt8] {
    try await capture().fileData
  }

  public func capturePictureWithCompletion(
    _ imageCompletion: @escaping @MainActor (CaptureResult) -> Void
  ) {
    Task {
      do throws(CaptureError) { imageCompletion(.success(content: try await capturePicture())) } catch {
        imageCompletion(.failure(error))
      }
    }
  }

  public func capturePictureDataWithCompletion(
    _ imageCompletion: @escaping @MainActor (CaptureResult) -> Void
  ) {
    Task {
      do throws(CaptureError) {
        imageCompletion(.success(content: .imageData(try await capturePictureData())))
      } catch { imageCompletion(.failure(error)) }
    }
  }

  private func capture() async throws(CaptureError) -> CapturedPhoto {
    guard cameraOutputMode == .stillImage else {
      throw fail(.settingsRefused, "the mode is \(cameraOutputMode); set stillImage to take pictures")
    }
    return try await showing { [photos, flashMode] () throws(CaptureError) in
      try await within(Self.limit, "the picture") { () throws(CaptureError) in
        var settings = PhotoSettings(.jpeg)
        settings.flashMode = flashMode
        return try await photos.photo(settings)
      }
    }
  }

  private static func path(in folder: String, _ kind: String, _ ending: String) -> String {
    "\(folder)/\(kind)-\(UUID().uuidString.prefix(8)).\(ending)"
  }

  // MARK: Movies

  /// Begins a movie with the next frame.
  public func startRecordingVideo() throws(CaptureError) {
    guard cameraOutputMode != .stillImage else {
      throw fail(.settingsRefused, "the mode is stillImage; set videoOnly or videoWithMic to record")
    }
    if let recording, recording.result == nil {
      throw fail(.busy, "a movie is being recorded; call stopVideoRecording first")
    }
    do throws(CaptureError) {
      let path = Self.path(in: writeFilesToFolder ?? "/tmp", "movie", "mov")
      recording = try movies.startRecording(to: path)
    } catch { throw fail(error.code, error.description) }
  }

  /// Ends the movie, and returns when its file is complete. Throws if no movie was begun, and if there is no
  /// file that can be used.
  @discardableResult
  public func stopVideoRecording() async throws(CaptureError) -> RecordingResult {
    guard let recording else {
      throw fail(.notRunning, "no movie is being recorded; call startRecordingVideo first")
    }
    recording.stop()
    let result = try await showing { () throws(CaptureError) in
      try await within(Self.limit, "the end of the movie") { () throws(CaptureError) in
        if let result = recording.result { return result }
        for await case .didFinish(let result) in recording.events { return result }
        throw CaptureError(.cancelled, "the task was cancelled before the movie was complete")
      }
    }
    self.recording = nil
    if !result.isUsable, let error = result.error { throw fail(error.code, error.description) }
    return result
  }

  public func stopVideoRecording(
    _ completion: (@MainActor (_ path: String?, _ error: CaptureError?) -> Void)?
  ) {
    Task {
      do throws(CaptureError) {
        let result = try await stopVideoRecording()
        completion?(result.path, result.error)
      } catch { completion?(nil, error) }
    }
  }

  public var recordedDuration: Duration { movies.recordedDuration }
  public var recordedFileSize: UInt64 { movies.recordedFileSize }

  // MARK: Codes

  /// Looks for QR, EAN-8 and EAN-13 codes, and calls the handler for each that is seen, as often as it is
  /// seen: up to ten times a second.
  public func startQRCodeDetection(_ handler: @escaping QRCodeDetectionHandler) async throws(CaptureError) {
    let session = try requireSession()
    guard codes == nil else {
      throw fail(.busy, "codes are being looked for; call stopQRCodeDetection first")
    }
    let (texts, sender) = AsyncStream.makeStream(
      of: Result<String, CaptureError>.self, bufferingPolicy: .bufferingNewest(64))
    let output = MetadataOutput(types: [Codes.plugin.name]) { objects in
      for case let report as CodesReport in objects.map(\.report) {
        for code in report.found {
          let text = report.text(of: code).map { Result<String, CaptureError>.success($0) }
          sender.yield(text ?? .failure(CaptureError(.failed, "the code's bytes are no text in UTF-8")))
        }
      }
    }
    // The output's closure has the sender: the stream ends when the output is released.
    codes = output
    do throws(CaptureError) {
      try await session.configure { c in
        c.stages.append(Self.search)
        c.add(output)
      }
    } catch {
      codes = nil
      throw error
    }
    Task { [weak self, weak output] in
      for await text in texts {
        guard let output, self?.codes === output else { return }
        handler(text)
      }
    }
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
