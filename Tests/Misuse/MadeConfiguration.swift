// A configuration is made by `configure` alone.
// error: initializer is inaccessible
import SprocketCapture

func make() {
  let configuration = CaptureSession.Configuration()
  _ = consume configuration
}
