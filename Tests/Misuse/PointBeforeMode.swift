// Bug 4: a point of interest is part of the mode, so that no mode is set before it.
// error: has no member 'setFocusPoint'
import SprocketCapture

func tap(_ camera: CaptureDevice) async throws {
  try await camera.withConfiguration { c in
    c.setFocus(.autoOnce())
    c.setFocusPoint(Point(x: 0.3, y: 0.4))
  }
}
