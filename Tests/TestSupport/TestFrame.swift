public import SprocketCore

/// A frame made by hand, to be shown to a stage.
public struct TestFrame {
  public let format: FrameFormat
  /// The bytes of each plane, row by row, without padding. A stage that writes changes them.
  public var planes: [[UInt8]]
  public var record = FrameRecord()
  /// What the stage takes for the present, nanoseconds on the monotonic clock.
  public var now: Int64 = 0
  /// What a stage of the order `.sequence` hears with this frame.
  public var events: [Event] = []
  /// Bytes behind each row in memory: 5, or 6 where samples are words, which are aligned. They hold
  /// 0xA5, and it is a mistake to change them.
  let padding: Int

  /// A picture of `planes`, which are of the sizes that `format` says.
  public init(
    _ format: PixelFormat, width: Int, height: Int, color: Color = .jpeg, planes: [[UInt8]]
  ) {
    precondition(planes.count == format.planeCount, "\(format) has \(format.planeCount) planes")
    for (index, plane) in planes.enumerated() {
      let size = format.plane(index, width: width, height: height)
      precondition(plane.count == size.bytesPerRow * size.rows, "plane \(index) has another size")
    }
    self.format = FrameFormat(
      pixelFormat: format, width: width, height: height, color: color, rate: .unknown)
    self.planes = planes
    padding = format.isDeep ? 6 : 5
  }

  /// A grey picture.
  public init(width: Int, height: Int, color: Color = .jpeg, luma: [UInt8]) {
    self.init(.grey, width: width, height: height, color: color, planes: [luma])
  }
}
