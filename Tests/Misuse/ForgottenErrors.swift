// Bug 2: an error is thrown, and cannot be tested before it is set.
// error: call can throw, but it is not marked with 'try'
import SprocketCapture

func change(_ session: CaptureSession, to camera: CaptureDevice) async {
  await session.switchCamera(to: camera)
}
