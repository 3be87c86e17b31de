internal import SprocketCodecs
public import SprocketCore
public import SprocketTestMemory

/// A frame for tests: pixels of any format, or a JPEG.
public struct TestFrame: Sendable {
  public var format: FrameFormat
  /// The bytes of each plane, row by row, without padding; for a JPEG, its bytes.
  public var planes: [[UInt8]]
  public var record = FrameRecord()
  /// Where its points lie in the sensor's picture: for a `StageUnderTest`, and of what stages have written.
  public var sensorMap = SensorMap()
  /// The current time for the stage, in nanoseconds of the monotonic clock. Used by `StageUnderTest` only.
  public var now: Int64 = 0
  /// Events that a stage of the order `.sequence` receives with this frame. Used by `StageUnderTest` only; a
  /// `TestCamera` has steps for events.
  public var events: [Event] = []

  /// A picture of `planes`, which must have the sizes that `format` gives.
  public init(
    _ format: PixelFormat, width: Int, height: Int, color: Color = .jpeg, planes: [[UInt8]]
  ) {
    contract(
      !format.isEncoded,
      "makes a picture of \(format.fourcc), which is encoded; take another format, or `TestFrame(jpeg:)`"
    )
    contract(
      planes.count == format.planeCount,
      "makes a picture of \(planes.count) planes, and \(format.fourcc) has \(format.planeCount); "
        + "give each its bytes")
    for (index, plane) in planes.enumerated() {
      let size = format.plane(index, width: width, height: height)
      contract(
        plane.count == size.bytesPerRow * size.rows,
        "makes plane \(index) of \(plane.count) bytes; give it \(size.rows) rows of \(size.bytesPerRow)"
      )
    }
    self.format = FrameFormat(
      pixelFormat: format, width: width, height: height, color: color, rate: .unknown)
    self.planes = planes
  }

  /// A grey picture, row by row.
  public init(width: Int, height: Int, color: Color = .jpeg, luma: [UInt8]) {
    self.init(.grey, width: width, height: height, color: color, planes: [luma])
  }

  /// A picture filled with `pattern`, different in each plane. Samples stay within the format's bits.
  public init(
    _ format: PixelFormat, width: Int, height: Int, color: Color = .jpeg, _ pattern: TestPattern,
    seed: UInt64 = 1
  ) {
    let upperBits = UInt8((1 << (max(format.bitsPerSample, 9) - 8)) - 1)
    let planes = (0..<format.planeCount).map { index in
      let size = format.plane(index, width: width, height: height)
      let bytes = pattern.bytes(size.bytesPerRow * size.rows, seed: seed &+ UInt64(index))
      guard format.isDeep else { return bytes }
      return bytes.enumerated().map { $0.offset % 2 == 1 ? $0.element & upperBits : $0.element }
    }
    self.init(format, width: width, height: height, color: color, planes: planes)
  }

  /// A JPEG for `TestCamera`; `StageUnderTest` takes only pixels. Throws if its structure is broken or it
  /// cannot be unpacked.
  public init(jpeg bytes: [UInt8], color: Color = .jpeg) throws(RunError) {
    guard let frame = EncodedFrame(checking: bytes.span), let image = frame.image else {
      throw RunError(
        .usage, "these \(bytes.count) bytes are no JPEG that can be unpacked; give another one")
    }
    format = FrameFormat(
      pixelFormat: .mjpeg, image: image, width: frame.width, height: frame.height, color: color,
      rate: .unknown)
    planes = [bytes]
  }

  /// The first difference from `planes`, such as "plane 1, row 0, byte 7: 12 and not 13"; `nil` if they are
  /// equal.
  public func difference(from planes: [[UInt8]]) -> String? {
    guard planes.count == self.planes.count else {
      return "\(self.planes.count) planes and not \(planes.count)"
    }
    for (index, (mine, other)) in zip(self.planes, planes).enumerated() where mine != other {
      guard mine.count == other.count else {
        return "plane \(index): \(mine.count) bytes and not \(other.count)"
      }
      let pixels = format.pixelFormat
      let width =
        pixels.isEncoded
        ? mine.count : pixels.plane(index, width: format.width, height: format.height).bytesPerRow
      guard let at = zip(mine, other).enumerated().first(where: { $1.0 != $1.1 })?.offset else {
        continue
      }
      return
        "plane \(index), row \(at / width), byte \(at % width): \(mine[at]) and not \(other[at])"
    }
    return nil
  }

  /// All formats that the engine makes pictures of: none that is encoded, and no mosaics.
  public static let formats = PixelFormat.allCases.filter { !$0.isEncoded && $0.imageFormat != nil }

  /// Widths and heights that loops over rows, blocks and subsampled planes often get wrong.
  public static let sizes = [(1, 1), (2, 2), (3, 3), (1, 9), (9, 1), (17, 5), (32, 16), (101, 7)]
}
