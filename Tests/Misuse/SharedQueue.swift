// Bug 10: each data output has a thread of its own; pictures and sound cannot be given the same one.
// error: extra argument 'queue' in call
import SprocketCapture

func hear(_ queue: any SerialExecutor) -> AudioDataOutput {
  AudioDataOutput(onBlock: { _, _ in }, queue: queue)
}
