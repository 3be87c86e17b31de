// A session: camera and microphone, switching, torch, focus, exposure that settles and locks, a still, a
// movie and its thumbnail.

import ArticleTools
import Sprocket
import SprocketCapture

@MainActor final class SessionCamera {
  private let arguments: Arguments
  private let session: CaptureSession
  private let photos = PhotoOutput()
  private let movies = MovieFileOutput()
  private var photoLink: VideoLink?
  private var listeners: [Task<Void, Never>] = []

  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    session = try CaptureSession()
  }

  // MARK: Setting up

  func setUp() async throws {
    let (errors, interruptions) = (session.runtimeErrors, session.interruptions)
    listeners = [
      Task { for await error in errors { say("runtime error: \(error)") } },
      Task { for await interruption in interruptions { say("interruption: \(interruption)") } },
    ]
    say("preset: \(await session.preset)")
    let camera = try DeviceInput(arguments.back)
    say("can add the camera", await session.canAdd(camera))
    let added = try await session.configure { c throws(CaptureError) in
      c.add(camera)
      c.add(try DeviceInput(arguments.microphone))
      c.preset = .medium
      c.add(movies)
      return c.add(photos)
    }
    photoLink = added.link(for: .video)
    say("can add it again", await session.canAdd(camera))
    try await session.start()
    say("running: \(session.isRunning) with \(await session.outputs.count) outputs")
  }

  // MARK: Switching

  func switchCameras() async throws {
    guard let front = arguments.front else { return say("switch: no, one camera was named") }
    let known = await session.canSwitchCamera
    say("can switch: \(known), to \(await session.inactiveCamera?.localizedName ?? "none")")
    for camera in [front, arguments.back] {
      try await session.switchCamera(to: camera)
      say("switched: \(await session.activeCamera?.localizedName ?? "none")")
    }
  }

  // MARK: Light

  func light() async throws {
    let camera = arguments.back
    say("flash: \(camera.hasFlash ? "yes" : "none")")
    say("torch", camera.supports(TorchMode.on()))
    try await attempt("torch on, then off") {
      try await camera.withConfiguration { c in c.setTorch(.on(level: 0.5)) }
      try await camera.withConfiguration { c in c.setTorch(.off) }
      return "done"
    }
  }

  // MARK: Focus and exposure

  /// Adds stages that control focus and exposure at a point. Few cameras have their own points of interest.
  /// The stages need a lens and an exposure that can be set.
  func addLoops() async throws {
    for stages in [[StageChoice.focus(), .autoFocus()], [.meter(), .autoExposure()]] {
      let names = stages.map(\.plugin.name).joined(separator: " and ")
      try await attempt("stages \(names)", accepting: failsToSettle) {
        try await self.session.configure { c in c.stages += stages }
        return "added"
      }
    }
    // The first frames with the new stages come.
    try await wait(.milliseconds(300))
  }

  func focus(at point: Point) async throws {
    let camera = arguments.back
    guard say("tap to focus", camera.supports(FocusMode.autoOnce(at: point))) else { return }
    try await attempt("focus", accepting: failsToSettle) {
      try await camera.withConfiguration { c in c.setFocus(.autoOnce(at: point)) }
      try await camera.settle(.focus, within: .seconds(3))
      return "lens at \(rounded(camera.lensPosition))"
    }
  }

  /// In AVFoundation an observer of `adjustingExposure` that removes itself. Here it is a call that waits.
  func exposeThenLock(at point: Point) async throws {
    let camera = arguments.back
    guard say("tap to expose", camera.supports(ExposureMode.autoOnce(at: point))) else { return }
    try await attempt("expose, then lock", accepting: failsToSettle) {
      try await camera.exposeThenLock(at: point, within: .seconds(3))
      let locked = camera.exposureDuration
      try await wait(.milliseconds(300))
      let isKept = camera.exposureDuration == locked
      return "locked at \(milliseconds(locked)), kept \(isKept)"
    }
  }

  // MARK: A still and a movie

  func captureStill() async throws {
    try photoLink?.setOrientation(.halfTurn)
    let photo = try await photos.photo()
    try photo.write(to: arguments.path("session.jpg"))
    say("still: session.jpg, \(photo.fileData.count) bytes, with a half turn")
  }

  func recordMovie() async throws {
    let path = arguments.path("session.mov")
    let recording = try movies.startRecording(to: path)
    try await wait(.milliseconds(1500))
    recording.stop()
    let result = await recording.finished()
    if let error = result.error, !result.isUsable { throw error }
    say("movie: session.mov, \(milliseconds(result.duration)), usable \(result.isUsable)")
    try await makeThumbnail(of: path, arguments.path("session-thumbnail.jpg"))
    // The same path again is refused, and the file stays as it is.
    do throws(CaptureError) {
      _ = try movies.startRecording(to: path)
    } catch {
      say("movie again: no, \(error)")
    }
  }

  /// An engine of its own reads the movie's first frame and writes it as a small JPEG.
  private func makeThumbnail(of movie: String, _ path: String) async throws {
    let size = TargetSize(width: 160, height: 160)
    let engine = try Engine(
      source: FileSource(path: movie), stages: [.resize { ($0.size, $0.mode) = (size, .fit) }],
      sinks: [StillSink(path: path, hasThumbnail: false, isSingle: true)],
      options: RunOptions(frameLimit: 1))
    try engine.start()
    // Waiting by `sleep` keeps the thread free; an engine for one frame needs some milliseconds.
    for _ in 0..<500 where !engine.wait(for: .zero) { try await wait(.milliseconds(10)) }
    if let error = engine.summary.errors.first { throw error }
    say("thumbnail: session-thumbnail.jpg")
  }

  // MARK: Errors

  /// What a call throws comes on `runtimeErrors`, too: a program has one place that shows them.
  func fail() async throws {
    do {
      try await session.configure { c in c.preset = .size(CameraSize(12_345, 6789)) }
    } catch {
      say("refused: \(error.code)")
    }
    try await wait(.milliseconds(100))
    say("running: \(session.isRunning)")
  }

  func end() async {
    await session.stop()
    for listener in listeners { listener.cancel() }
    say("stopped")
  }
}

await article("session-camera") { arguments in
  let camera = try SessionCamera(arguments)
  try await camera.setUp()
  try await camera.switchCameras()
  try await camera.light()
  try await camera.addLoops()
  try await camera.focus(at: Point(x: 0.3, y: 0.4))
  try await camera.exposeThenLock(at: Point(x: 0.7, y: 0.4))
  try await camera.captureStill()
  try await camera.recordMovie()
  try await camera.fail()
  await camera.end()
}
