import ArticleTools
import Sprocket
import SprocketCapture

/// The session with its outputs. Each step prints what came of it.
@MainActor final class ManualCamera {
  let arguments: Arguments
  let device: CaptureDevice
  let session: CaptureSession
  let watcher = Watcher()
  private let photos = PhotoOutput()
  private let movies = MovieFileOutput()
  /// For a view of 480x640 points, which the picture fills.
  private let preview = PreviewOutput(.nv12, view: (480, 640), gravity: .aspectFill)
  private var links: [VideoLink] = []
  private var listeners: [Task<Void, Never>] = []

  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    device = arguments.back
    session = try CaptureSession()
  }

  // MARK: Photo mode

  /// All of it is one change: what is refused is thrown at its end, and then nothing holds.
  func setUp() async throws {
    let (errors, interruptions) = (session.runtimeErrors, session.interruptions)
    listeners = [
      Task { for await error in errors { say("runtime error: \(error)") } },
      Task { for await interruption in interruptions { say("interruption: \(interruption)") } },
    ]
    links = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(device))
      c.add(try DeviceInput(arguments.microphone))
      c.preset = .medium
      return [
        c.add(photos).link(for: .video), c.add(movies).link(for: .video),
        c.add(preview).link(for: .video),
      ]
    }
    try await session.start()
    let format = await session.activeFormat
    say("camera: \(device.localizedName) \(format?.width ?? 0)x\(format?.height ?? 0)")
    for link in links { try link.setOrientation(.quarterTurn) }
    say("orientation: a quarter turn for photo, movie and preview")
  }

  /// With all pixels of the camera: the first frame that was exposed after the asking. Its EXIF has the
  /// settings, which hold with another preset, too.
  func takePhoto() async throws {
    try await session.configure { c in c.preset = .photo }
    let photo = try await photos.photo()
    try photo.write(to: arguments.path("manual.jpg"))
    let size = photo.resolved.size
    say("photo: manual.jpg \(size.width)x\(size.height)")
  }

  // MARK: Movie mode

  /// Another preset, and stages: loops that meter, expose and focus, one that watches the subject, and one
  /// that holds the picture still. Frames of it are marked as a discontinuity.
  func beginMovieMode() async throws {
    try await session.configure { c in
      c.preset = .medium
      c.add(watcher.output)
      c.stages = [.motion(), .meter()]
    }
    // The bias is the loop's: the picture is to be 0.5 EV brighter than what is metered.
    let loops: [[StageChoice]] = [
      [.autoExposure { $0.bias = 0.5 }], [.focus(), .autoFocus()],
      [.stabilize { $0.crop = 0.08 }],
    ]
    for stages in loops {
      let names = stages.map(\.plugin.name).joined(separator: " and ")
      try await attempt("stages \(names)", accepting: failsToSettle) {
        try await self.session.configure { c in c.stages += stages }
        return "added"
      }
    }
    try await wait(.milliseconds(300))
  }

  /// A tap focuses and exposes at a point: both modes have it, and are one change.
  func tap(x: Double, y: Double) async throws {
    guard let point = preview.devicePoint(x: x, y: y) else {
      return say("tap: beside the picture")
    }
    say("tap: \(x)/\(y) of the view is \(rounded(point.x))/\(rounded(point.y)) of the camera")
    if say("focus at a point", device.supports(FocusMode.autoOnce(at: point))) {
      try await attempt("focus", accepting: failsToSettle) {
        try await self.device.withConfiguration { c in c.setFocus(.autoOnce(at: point)) }
        try await self.device.settle(.focus, within: .seconds(3))
        return "lens at \(rounded(self.device.lensPosition))"
      }
    }
    if say("expose at a point", device.supports(ExposureMode.continuous(at: point))) {
      try await attempt("exposure", accepting: failsToSettle) {
        try await self.device.withConfiguration { c in c.setExposure(.continuous(at: point)) }
        try await self.device.settle(.exposure, within: .seconds(3))
        let time = milliseconds(self.device.exposureDuration)
        return "\(time), gain \(rounded(self.device.gain))"
      }
    }
  }

  /// Recording until it is stopped; the delegate gets both callbacks.
  func recordMovie() async throws {
    let delegate = MovieDelegate()
    let path = arguments.path("manual.mov")
    let recording = Task { await movies.record(to: path, delegate: delegate) }
    try await wait(.milliseconds(1200))
    movies.stopRecording()
    await recording.value
    guard let result = delegate.result else { return }
    if let error = result.error, !result.isUsable { throw error }
    say("movie: manual.mov, \(milliseconds(result.duration)), usable \(result.isUsable)")
  }

  // MARK: Errors

  /// A preset that no camera has: the session goes on as it was, and the error is also a runtime error.
  func fail() async throws {
    do {
      try await session.configure { c in c.preset = .size(CameraSize(12_345, 6789)) }
    } catch {
      say("refused: \(error)")
    }
    try await wait(.milliseconds(100))
    say("running: \(session.isRunning) with preset \(await session.preset)")
  }

  func end() async {
    await session.stop()
    for listener in listeners { listener.cancel() }
    say("stopped")
  }
}

/// Prints the events of a recording. Its functions run on the main actor.
@MainActor final class MovieDelegate: @MainActor RecordingDelegate {
  private(set) var result: RecordingResult?

  func fileOutput(_ output: MovieFileOutput, didStartRecordingTo path: String) {
    say("recording: started")
  }

  func fileOutput(_ output: MovieFileOutput, didFinishRecording result: RecordingResult) {
    say("recording: finished")
    self.result = result
  }
}
