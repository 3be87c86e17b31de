/// A time in which a running session gets no frames, or no sound, and which it waits out by itself.
public enum SessionInterruption: Sendable, Hashable {
  /// Why no frames come, or no sound.
  public enum Reason: Sendable, Hashable {
    /// The device was unplugged. The session goes on when it is back, and no other program has it.
    case deviceDisconnected
    /// Another program took the camera while it was unplugged, or stalled. The session goes on when that
    /// program closes it.
    case deviceInUse
    /// The camera is there and gives no frames, or the microphone no sound.
    case noFrames
  }

  /// The interruption has begun. The reason is the one at that time; it is not updated later.
  case began(Reason)
  /// Frames flow again. `after` is the time without frames, exact to 0.2 s.
  case ended(after: Duration)
  /// The microphone gives no sound. Pictures and movies go on; movies are silent meanwhile.
  case soundBegan(Reason)
  /// Sound comes again, or the microphone was removed. `after` is the time without sound.
  case soundEnded(after: Duration)
}
