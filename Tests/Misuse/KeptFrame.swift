// A frame is lent for the call of a data output.
// error: 'frame' is borrowed and cannot be consumed
import SprocketCapture

struct Kept: ~Copyable { var frame: FrameView }

func keep() -> VideoDataOutput {
  VideoDataOutput { frame in
    let kept = Kept(frame: frame)
    _ = consume kept
  }
}
