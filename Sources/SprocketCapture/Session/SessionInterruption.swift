/// A time in which a running session gets no frames, and which it waits out by itself.
public enum SessionInterruption: Sendable, Hashable {
  /// Why no frames come.
  public enum Reason: Sendable, Hashable {
    /// The camera was unplugged. The session goes on when it is back, and no other program has it.
    case deviceDisconnected
    /// Another program took the camera while it was unplugged, or stalled. The session goes on when that
    /// program closes it.
    case deviceInUse
    /// The camera is there and gives no frames.
    case noFrames
  }

  /// The interruption has begun. The reason is the one at that time; it is not updated later.
  case began(Reason)
  /// Frames flow again. `after` is the time without frames, exact to 0.2 s.
  case ended(after: Duration)
}
