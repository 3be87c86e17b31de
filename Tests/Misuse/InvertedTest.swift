// Bug 7: a question is answered with a reason, and is no Bool to be turned round by mistake.
// error: cannot convert value of type 'Answer' to expected condition type 'Bool'
import SprocketCapture

func open(_ session: CaptureSession) async {
  if await session.canSet(.hd1920x1080) { return }
}
