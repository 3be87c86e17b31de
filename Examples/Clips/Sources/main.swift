import Foundation
import SprocketCapture

/// Two synthetic cameras that flash at each whole second, and a microphone that beeps then.
func scene(_ name: String, _ position: CaptureDevice.Position, seed: UInt64) -> CaptureDevice {
  var settings = SceneSettings()
  (settings.seed, settings.flash, settings.genlock) = (seed, 3, true)
  let size = CameraSize(640, 480)
  return CaptureDevice(
    scene: SceneDevice(settings, sizes: [size]), name: name, position: position)
}

var hearing = SceneMicrophoneSettings()
hearing.genlock = true

/// `clips [OUT]`: with the machine's camera and microphone where there are some, or with the scenes.
@MainActor func run(_ folder: String) async throws {
  let real = CaptureDevice.default(for: .video)
  let back = real ?? scene("back", .back, seed: 1)
  let front =
    real == nil ? scene("front", .front, seed: 2) : CaptureDevice.devices(for: .video).last ?? back
  let microphone =
    real == nil ? CaptureDevice(sceneMicrophone: hearing) : CaptureDevice.default(for: .audio)
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

  let recorder = try ClipRecorder(folder: folder)
  try await recorder.start(back, microphone)
  func record(_ length: Duration, pausedAt pause: Duration? = nil) async throws {
    try recorder.begin()
    if let pause {
      try await recorder.wait(for: pause)
      try recorder.pause()
      try await Task.sleep(for: .milliseconds(700))
      try recorder.resume()
    }
    try await recorder.wait(for: length)
    if let clip = try await recorder.end() { print("clip: \(clip.path) \(clip.duration)") }
  }
  try await record(.seconds(2))
  if front !== back { try await recorder.flip(to: front) }
  try await record(.seconds(3), pausedAt: .milliseconds(1300))
  try await record(.seconds(1))
  print("undone: \(recorder.undo() ?? "nothing")")
  if front !== back { try await recorder.flip(to: back) }
  try await record(.seconds(2))
  try await record(.milliseconds(1500))
  await recorder.stop()

  var film = try recorder.film()
  let whole = film.duration
  try film.remove(.milliseconds(1200)..<(.milliseconds(1700)))
  let made = try await film.export(to: "\(folder)/film.mov")
  print("film: \(made.path), \(made.pictures) pictures, \(made.duration) of \(whole)")
  print(made.reasonForEncoding.map { "encoded: \($0)" } ?? "copied")

  let asset = try Asset(path: made.path)
  let middle = asset.duration / 2
  try Data(try await asset.photograph(at: middle)).write(to: URL(filePath: "\(folder)/middle.jpg"))
  try Data(try await asset.thumbnail(at: .zero)).write(to: URL(filePath: "\(folder)/thumbnail.jpg"))
  print("asset: \(asset.duration), \(asset.tracks.map(\.codec)), \(asset.frameRate ?? 0) frames/s")
}

do {
  try await run(CommandLine.arguments.dropFirst().first ?? "taken")
} catch {
  print("\(error)")
  exit(1)
}
