// Bug 6: a writer's input is made for a format, so that no first frame is spent to learn it.
// error: missing argument for parameter #1 in call
import SprocketCapture

func prepare(_ writer: AssetWriter) throws {
  try writer.add(AssetWriter.VideoInput())
}
