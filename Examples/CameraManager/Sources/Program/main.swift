import CameraManager
import Foundation
import SprocketCapture

/// A folder of pictures as a camera, five a second, each at its time.
func camera(showing folder: String, _ size: CameraSize) -> CaptureDevice {
  let rate = FrameRate(frames: 5)
  let format = DeviceFormat(size, .grey, rates: .range(rate, rate))
  return CaptureDevice(name: folder, position: .front, formats: [format]) {
    (choice) throws(RunError) in
    let request = FormatRequest()
    return try FileSource.kind.make(argument: folder, values: ["pace": "real"], request: request)
  }
}

/// `camera-manager [--camera] [OUT [FOLDER WIDTHxHEIGHT]]`: with pictures, with the machine's cameras, or
/// with the synthetic scenes.
@MainActor func run(_ arguments: [String]) async throws {
  let isReal = arguments.contains("--camera")
  let paths = arguments.filter { $0 != "--camera" }
  let manager = CameraManager(cameras: isReal ? nil : CaptureDevice.scenes)
  manager.writeFilesToFolder = paths.first ?? "."
  manager.showErrorsToUsers = true

  let preview = try await manager.addPreviewLayerToView(width: 640, height: 480)
  print("ready: \(manager.currentCameraStatus()), flash: \(manager.hasFlash)")
  if manager.hasFrontCamera {
    try await manager.setCameraDevice(.front)
    print("front camera")
    try await manager.setCameraDevice(.back)
  }
  if await manager.canSetPreset(.hd1280x720)?.isYes ?? false {
    try await manager.setCameraOutputQuality(.hd1280x720)
  }
  print("quality: \(manager.cameraOutputQuality)")
  let picture = try await manager.capturePicture()
  print("picture: \(picture.path ?? "not written")")

  try await manager.zoom(2)
  print("zoom: \(manager.zoomScale) of \(manager.maxZoomScale)")
  try await wait("the preview") { preview.newestFrame != nil }
  do { try await manager.focus(atX: 160, y: 120) } catch { print("focus: \(error)") }
  print("tapped")
  let zoomed = try await manager.capturePicture()
  print("zoomed picture: \(zoomed.path ?? "not written")")

  try await manager.setCameraOutputMode(.videoOnly)
  try manager.startRecordingVideo()
  try await Task.sleep(for: .seconds(2))
  print("recorded so far: \(manager.recordedDuration)")
  let movie = try await manager.stopVideoRecording()
  print("movie: \(movie.path) of \(movie.duration)")
  await manager.stopAndRemoveCaptureSession()

  guard paths.count > 2, let size = CameraSize(paths[2]) else { return }
  try await readCodes(camera(showing: paths[1], size))
}

@MainActor func readCodes(_ camera: CaptureDevice) async throws {
  let manager = CameraManager(cameras: [camera])
  try await manager.setCameraDevice(.front)
  try await manager.addPreviewLayerToView(width: 640, height: 480)
  var texts: Set<String> = []
  try await manager.startQRCodeDetection { text in
    if texts.insert(text).inserted { print("code: \(text)") }
  }
  try await wait("a code") { !texts.isEmpty }
  try await wait("the end of the pictures") { !manager.cameraIsReady }
  await manager.stopAndRemoveCaptureSession()
}

/// Waits until something is so, for 10 s at most.
@MainActor func wait(_ what: String, until isSo: () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(10)
  while !isSo() {
    guard ContinuousClock.now < end else { throw CaptureError(.timedOut, "\(what) has not come") }
    try await Task.sleep(for: .milliseconds(20))
  }
}

extension CameraSize {
  /// As `640x480`.
  init?(_ text: String) {
    let sides = text.split(separator: "x").compactMap { Int($0) }
    guard sides.count == 2 else { return nil }
    self.init(sides[0], sides[1])
  }
}

do {
  try await run(Array(CommandLine.arguments.dropFirst()))
} catch {
  print("camera-manager: \(error)")
  exit(1)
}
