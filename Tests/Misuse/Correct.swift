// What is right compiles.
import SprocketCapture

@MainActor final class Controller {
  let photos = PhotoOutput()
  var taken = 0

  func begin(_ session: CaptureSession, _ camera: CaptureDevice) async throws {
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      taken += 1
      return c.add(photos)
    }
    try added.link(for: .video).setOrientation(.quarterTurn)
    let settings = PhotoSettings(.jpeg)
    let next = settings.copy()
    try await photos.capture(settings, delegate: self)
    try await photos.capture(next, delegate: self)
  }
}

extension Controller: @MainActor PhotoCaptureDelegate {
  func photoOutput(_ output: PhotoOutput, didFinishProcessing photo: CapturedPhoto) { taken += 1 }
}
