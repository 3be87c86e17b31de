// Bug 1: a configuration of a device ends with its braces, whatever happens in them.
// error: missing reinitialization of inout parameter 'c' after consume
import SprocketCapture

struct Holder: ~Copyable { var kept: CaptureDevice.Configuration }

func keep(_ camera: CaptureDevice) async throws {
  var holder: Holder?
  try await camera.withConfiguration { c in holder = Holder(kept: c) }
  _ = consume holder
}
