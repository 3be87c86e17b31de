// A delegate without the function that gets the photographs is none.
// error: does not conform to protocol 'PhotoCaptureDelegate'
import SprocketCapture

final class Controller: PhotoCaptureDelegate {
  func photoOutput(_ output: PhotoOutput, willBeginCaptureFor resolved: ResolvedPhotoSettings) {}
}
