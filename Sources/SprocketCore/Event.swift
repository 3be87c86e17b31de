/// Something that happened beside the frames; it rides on the next frame that is published.
public struct Event: Sendable, Hashable, BitwiseCopyable {
  public enum Kind: UInt8, Sendable, BitwiseCopyable {
    /// A control write took effect; `value` is what the device made of it, and the frame that the
    /// event rides on is the first that shows it.
    case controlApplied
    /// The device refused a control write.
    case controlRefused
    /// The device was gone and is back.
    case replugged
    /// Nothing arrived for longer than a frame should take; `value` is the wait in milliseconds.
    case stalled
  }

  /// How many ride on one frame; the rest are counted, not kept.
  public static let perFrame = 16

  public var kind: Kind
  /// The control's index among the source's controls.
  public var control: UInt16
  /// The ticket that `ControlPort.write` gave.
  public var ticket: UInt64
  public var value: Double

  public init(kind: Kind, control: UInt16 = 0, ticket: UInt64 = 0, value: Double = 0) {
    self.kind = kind
    self.control = control
    self.ticket = ticket
    self.value = value
  }
}
