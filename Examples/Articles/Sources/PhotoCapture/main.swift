// Photographs with a delegate: each callback in its order, a bracket, raw files, and a live photo.

import ArticleTools
import Sprocket
import SprocketCapture

/// Prints each callback of a capture, and writes its photographs.
@MainActor final class CaptureDelegate: @MainActor PhotoCaptureDelegate {
  private let path: (CapturedPhoto) -> String
  private(set) var failure: CaptureError?
  private(set) var files: [String] = []

  /// `path` names the file of each photograph.
  init(_ path: @escaping (CapturedPhoto) -> String) { self.path = path }

  private func note(_ callback: String, _ resolved: ResolvedPhotoSettings) {
    say("capture \(resolved.uniqueID): \(callback)")
  }

  // MARK: Progress, each once

  func photoOutput(_ output: PhotoOutput, willBeginCaptureFor resolved: ResolvedPhotoSettings) {
    let size = resolved.size
    note(
      "willBegin, \(resolved.expectedPhotoCount) expected of \(size.width)x\(size.height), "
        + "flash \(resolved.isFlashEnabled)", resolved)
  }

  /// A program plays its shutter sound here.
  func photoOutput(_ output: PhotoOutput, willCapturePhotoFor resolved: ResolvedPhotoSettings) {
    note("willCapture", resolved)
  }

  func photoOutput(_ output: PhotoOutput, didCapturePhotoFor resolved: ResolvedPhotoSettings) {
    note("didCapture", resolved)
  }

  func photoOutput(
    _ output: PhotoOutput, didFinishCaptureFor resolved: ResolvedPhotoSettings,
    error: CaptureError?
  ) {
    note("didFinish", resolved)
    failure = failure ?? error
  }

  // MARK: Results

  /// Once for each format and step of the bracket, also for one that failed.
  func photoOutput(_ output: PhotoOutput, didFinishProcessing photo: CapturedPhoto) {
    let step = photo.bracketStep.map { " \($0)" } ?? ""
    note("photo \(photo.photoCount) \(photo.format)\(step)", photo.resolved)
    if let thumbnail = photo.thumbnail {
      note("thumbnail of \(thumbnail.count) bytes", photo.resolved)
    }
    do throws(CaptureError) {
      let path = path(photo)
      try photo.write(to: path)
      files.append(path)
    } catch {
      failure = failure ?? error
    }
  }

  /// The moment is over: an app takes its "LIVE" sign away. The file is not complete.
  func photoOutput(
    _ output: PhotoOutput, didFinishRecordingLiveMovieTo path: String,
    for resolved: ResolvedPhotoSettings
  ) {
    note("didRecordLiveMovie", resolved)
  }

  func photoOutput(_ output: PhotoOutput, didFinishProcessing movie: LivePhotoMovie) {
    let (length, moment) = (milliseconds(movie.duration), milliseconds(movie.photoDisplayTime))
    note("liveMovie of \(length), photo at \(moment)", movie.resolved)
    failure = failure ?? movie.error
  }
}

@MainActor func capture(
  _ what: String, _ settings: consuming PhotoSettings, _ output: PhotoOutput,
  to path: @escaping (CapturedPhoto) -> String
) async throws {
  say("\(what): capture \(settings.uniqueID)")
  let delegate = CaptureDelegate(path)
  try await output.capture(settings, delegate: delegate)
  if let failure = delegate.failure { throw failure }
  say("\(what): \(delegate.files.count) files")
}

/// A photograph, a copy of its settings for another one, a bracket, a flash, and a live photo.
@MainActor func processed(_ arguments: Arguments) async throws {
  let photos = PhotoOutput(
    formats: [.jpeg, .png],
    liveMovies: .init(before: .milliseconds(700), after: .milliseconds(700)))
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(arguments.back))
    c.add(try DeviceInput(arguments.microphone))
    c.preset = .medium
    c.add(photos)
  }
  try await session.start()
  // A live photo has the time before it, once that has passed.
  try await wait(.milliseconds(1200))

  let single = PhotoSettings(.jpeg, .png)
  // Settings are used up by a capture. A copy has an identity of its own.
  let again = single.copy()
  try await capture("single", single, photos) { arguments.path("single.\($0.format)") }
  try await capture("again", again, photos) { arguments.path("again.\($0.format)") }

  var flash = PhotoSettings()
  flash.flashMode = .on
  do throws(CaptureError) {
    _ = try photos.capture(flash)
  } catch {
    say("flash: no, \(error)")
  }

  var bracket = PhotoSettings(.jpeg)
  bracket.bracket = [.bias(-1), .bias(0), .bias(1)]
  do {
    try await capture("bracket", bracket, photos) {
      arguments.path("bracket-\($0.photoCount).jpeg")
    }
  } catch let error as CaptureError where lacks.contains(error.code) {
    say("bracket: no, \(error)")
  }

  var live = PhotoSettings(.jpeg)
  live.livePhotoMoviePath = arguments.path("live.mov")
  try await capture("live", live, photos) { _ in arguments.path("live.jpeg") }
  await session.stop()
}

/// A camera with a Bayer sensor gives its mosaic as a DNG, and the stage `debayer` makes the JPEG of it.
@MainActor func raw(_ arguments: Arguments) async throws {
  var sensor = SceneSettings()
  sensor.format = .bayerRGGB12
  let scene = SceneDevice(sensor, sizes: [CameraSize(640, 480)])
  let isScene = arguments.back.deviceType == .scene
  let camera =
    isScene ? CaptureDevice(scene: scene, name: "raw scene", position: .back) : arguments.back
  let photos = PhotoOutput(formats: [.jpeg, .dng])
  let session = try CaptureSession()
  try await attempt("raw") {
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .medium
      c.stages = [.debayer()]
      c.add(photos)
    }
    try await session.start()
    try await capture("raw and processed", PhotoSettings(.dng, .jpeg), photos) {
      arguments.path("raw.\($0.format)")
    }
    return camera.localizedName
  }
  await session.stop()
}

await article("photo-capture") { arguments in
  try await processed(arguments)
  try await raw(arguments)
}
