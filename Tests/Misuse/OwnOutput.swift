// What a session does not know how to run cannot be given to it.
// error: initializer is inaccessible
import SprocketCapture

final class Foreign: CaptureOutput {
  let core = OutputCore("mine")
}
