// A camera with every control: devices, presets, focus, exposure, gain, white balance, a photograph and a
// movie.

import ArticleTools
import Sprocket
import SprocketCapture

/// What the session's stages say of its frames.
@MainActor func watch(_ camera: ManualCamera) async throws {
  try await wait(.milliseconds(1200))
  let (offset, changes) = camera.watcher.now
  say("metered: \(rounded(offset)) EV from the wanted exposure")
  say("subject area: changed \(changes) times")
}

@MainActor func lookAround(_ arguments: Arguments) {
  let found = CaptureDevice.DiscoverySession(
    types: [.builtInCamera, .externalCamera, .scene], media: .video
  ).devices
  for device in found { say("found: \(device.localizedName), looks \(device.position)") }
  say("authorization: \(arguments.back.authorization)")
  let presets: [SessionPreset] = [
    .photo, .high, .medium, .low, .cif352x288, .vga640x480, .hd1280x720, .hd1920x1080,
    .iFrame960x540, .iFrame1280x720, .inputPriority,
  ]
  for preset in presets {
    guard let why = arguments.back.supports(preset).reason else {
      say("preset \(preset): yes")
      continue
    }
    say("preset \(preset): no, \(why)")
  }
}

await article("manual-camera") { arguments in
  lookAround(arguments)
  let camera = try ManualCamera(arguments)
  try await camera.setUp()
  // By hand: the values that a user chooses.
  try await camera.focusByHand()
  try await camera.exposeByHand()
  try await camera.balanceWhite()
  try await camera.otherControls()
  try await camera.takePhoto()
  // By the session's own loops, which have points of interest, a bias, and watch the subject.
  try await camera.beginMovieMode()
  try await camera.tap(x: 120, y: 200)
  try await watch(camera)
  try await camera.recordMovie()
  try await camera.fail()
  await camera.end()
}
