// A photo output takes no sound.
// error: type 'VideoMedia' has no member 'audio'
import SprocketCapture

func listen(_ added: Added<PhotoOutput>) {
  _ = added.link(for: .audio)
}
