// Bug 8: what waits for the camera ends by itself; there is no observer to be removed.
// error: has no member 'addObserver'
import SprocketCapture

func wait(_ camera: CaptureDevice) {
  camera.addObserver(camera, forKeyPath: "adjustingExposure")
}
