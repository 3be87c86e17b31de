import SprocketCapture

/// Records clips one after the other, of either camera, and makes one film of them.
@MainActor final class ClipRecorder {
  private let session: CaptureSession
  private let movies = MovieFileOutput()
  private let folder: String
  private var current: Recording?
  /// Files of the clips, in order.
  private(set) var clips: [String] = []
  private var count = 0

  init(folder: String) throws(CaptureError) {
    self.folder = folder
    session = try CaptureSession()
  }

  func start(_ camera: CaptureDevice, _ microphone: CaptureDevice?) async throws(CaptureError) {
    let movies = movies
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      if let microphone { c.add(try DeviceInput(microphone)) }
      c.preset = .vga640x480
      c.add(movies)
    }
    try await session.start()
  }

  func flip(to camera: CaptureDevice) async throws(CaptureError) {
    try await session.switchCamera(to: camera)
  }

  /// Records until `end`.
  func begin() throws(CaptureError) {
    count += 1
    current = try movies.startRecording(to: "\(folder)/clip-\(count).mov")
  }

  /// Waits until the clip is so long, without its pauses.
  func wait(for length: Duration) async throws {
    while movies.recordedDuration < length { try await Task.sleep(for: .milliseconds(10)) }
  }

  func pause() throws(CaptureError) { try movies.pauseRecording() }
  func resume() throws(CaptureError) { try movies.resumeRecording() }

  func end() async throws -> RecordingResult? {
    guard let recording = current else { return nil }
    recording.stop()
    let result = await recording.finished()
    if let error = result.error { throw error }
    clips.append(result.path)
    return result
  }

  /// Leaves out the latest clip. Its file stays.
  func undo() -> String? { clips.popLast() }

  func stop() async { await session.stop() }

  func film() throws(RunError) -> Composition {
    var film = Composition()
    for clip in clips { try film.append(clip) }
    return film
  }
}
