import SprocketCapture

@MainActor final class PhotoCamera {
  private let session: CaptureSession
  private let photos = PhotoOutput()
  // Was AVCaptureVideoPreviewLayer: it has the newest frame for a view of any toolkit.
  private let preview = PreviewOutput(gravity: .aspectFill)

  init() throws {
    session = try CaptureSession()
  }
}
