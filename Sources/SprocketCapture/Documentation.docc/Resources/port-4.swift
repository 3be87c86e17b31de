import SprocketCapture

@MainActor final class PhotoCamera {
  private let session: CaptureSession
  private let photos = PhotoOutput()
  // Was AVCaptureVideoPreviewLayer: it has the newest frame for a view of any toolkit.
  private let preview = PreviewOutput(gravity: .aspectFill)

  init() throws {
    session = try CaptureSession()
  }

  func setUp() async throws {
    // A webcam on a cable has no position; a machine without a camera has scenes.
    let device =
      CaptureDevice.default(for: .video, position: .front) ?? .default(for: .video)
      ?? CaptureDevice.scenes[1]
    try await session.configure { c throws(CaptureError) in
      c.preset = .vga640x480
      c.add(try DeviceInput(device))
      c.add(photos)
      c.add(preview)
      c.stages = [.meter(), .autoExposure(), .focus(), .autoFocus()]
    }
    try await session.start()
    // Was lockForConfiguration and unlockForConfiguration. S1's "never gets in here" is an answer.
    if case .no(let why) = device.supports(WhiteBalanceMode.autoOnce) {
      print(why)
    } else {
      try await device.withConfiguration { c in c.setWhiteBalance(.autoOnce) }
    }
  }

  func changeCamera() async {
    guard let other = await session.inactiveCamera else { return }
    do {
      try await session.switchCamera(to: other)
    } catch {
      // The session goes on with the camera that it had, unless there is a preset that the other one offers.
      print(error)
      guard let preset = error.alternative else { return }
      _ = try? await session.switchCamera(to: other, preset: preset)
    }
  }

  func focus(atViewPoint x: Double, _ y: Double) async throws {
    // Was (y / height, 1 - x / width), which is right for one orientation and one gravity.
    guard let camera = await session.activeCamera, let point = preview.devicePoint(x: x, y: y)
    else {
      return
    }
    try await camera.withConfiguration { c in
      c.setFocus(.autoOnce(at: point))
      c.setExposure(.autoOnce(at: point))
    }
  }
}
