// Settings of a photograph are used once.
// error: 'settings' consumed more than once
import SprocketCapture

func take(_ output: PhotoOutput) throws {
  let settings = PhotoSettings(.jpeg)
  _ = try output.capture(settings)
  _ = try output.capture(settings)
}
