public import SprocketCore
internal import SprocketV4L2

/// A control of a camera, with the value that it has at the moment.
public struct CameraControlInfo: Sendable {
  public let description: ControlDescription
  /// The heading that the driver puts it under.
  public let group: String
  /// `nil` where it has none, as a button.
  public let value: Double?
  public let isReadOnly: Bool
  /// Another control has taken over.
  public let isInactive: Bool
  /// Flags of the driver by the words of `v4l2-ctl`, such as `volatile`: the hardware changes it by itself.
  public let flags: [String]
  /// Of a text what it says; else `nil`.
  public let text: String?
  /// Elements of an array in each of its dimensions; empty for all other kinds.
  public let dimensions: [Int]
  /// Frames from the driver's answer until the picture shows a value, as an earlier run measured it; `nil` if
  /// none did.
  public let delay: Int?

  init(_ control: V4L2Control, of device: borrowing V4L2Device, delay: Int?) {
    self.delay = delay
    description = ControlDescription(control)
    group = control.group
    isReadOnly = control.isReadOnly
    isInactive = control.isInactive
    flags = control.flagNames
    dimensions = control.dimensions
    let isReadable = !control.isWriteOnly
    value =
      isReadable && control.isNumber ? (try? device.value(of: control)).map { Double($0) } : nil
    text = isReadable ? device.words(of: control) : nil
  }
}
