// Bug 5: an output that was not added has no link.
// error: has no member 'link'
import SprocketCapture

func stabilize(_ output: MovieFileOutput) throws {
  try output.link(for: .video).setOrientation(.quarterTurn)
}
