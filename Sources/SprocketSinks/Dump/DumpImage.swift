internal import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP

/// How frames of one format become messages of `foxglove.CompressedImage` or `foxglove.RawImage`.
///
/// The image's bytes are the last field, so that all before it is a short text and the bytes need not
/// be moved. (Fields may come in any order: Protocol Buffers, "Encoding".)
struct DumpImage {
  /// The frame's bytes are compressed already.
  let isStored: Bool
  let format: FrameFormat
  /// Bytes of a whole unpadded frame; 0 for an encoded one.
  let byteCount: Int
  /// Added to the channel's number.
  private let base: UInt16
  /// The fields between the time and the bytes, and the tag of these.
  private let fields: [UInt8]

  /// The longest start of a message: the time, the fields and the length of the bytes.
  static let longestStart = 160

  init(_ format: FrameFormat, _ part: DumpPart) {
    self.format = format
    base = part.base
    let pixels = format.pixelFormat
    isStored = pixels.isEncoded
    byteCount = pixels.byteCount(width: format.width, height: format.height)
    var message = ProtobufMessage()
    if pixels.isEncoded {
      message.add(3, "jpeg")
      message.add(4, part.frameID)
      fields = message.bytes + ProtobufMessage.tag(2, .bytes)
    } else {
      message.add(7, part.frameID)
      message.add(2, fixed: UInt32(format.width))
      message.add(3, fixed: UInt32(format.height))
      message.add(4, pixels.foxgloveEncoding)
      let row = pixels.plane(0, width: format.width, height: format.height).bytesPerRow
      message.add(5, fixed: UInt32(row))
      fields = message.bytes + ProtobufMessage.tag(6, .bytes)
    }
  }

  /// Among the source's channels.
  var channel: UInt16 { isStored ? DumpChannel.compressedImage : DumpChannel.rawImage }

  /// The room that a packed frame takes at worst.
  var packedCapacity: Int {
    MCAPMessagePacker.capacity(dataCount: Self.longestStart + byteCount)
  }

  /// Bytes of the frame that are there: a frame may be cut off, and a driver may count padding.
  func count(_ frame: borrowing FrameView) -> Int {
    if isStored { return frame.record.byteCount }
    var there = 0
    for index in 0..<format.pixelFormat.planeCount {
      let plane = frame.sourcePlane(index)
      there += plane.bytesPerRow * plane.rows
    }
    return min(frame.record.byteCount, there)
  }

  func message(_ record: FrameRecord) -> MCAPMessage {
    MCAPMessage(
      channel: base + channel, sequence: UInt32(truncatingIfNeeded: record.sequence),
      logTime: record.captured.logTime)
  }

  /// Everything before the image's bytes, of which there are `count`.
  func appendStart(_ captured: Timestamp, count: Int, to text: inout TextBuffer)
    throws(RunError)
  {
    try text.append(protobufTime: captured.nanoseconds)
    text.append(fields.span)
    try text.append(varint: UInt64(count))
  }
}

extension TextTarget where Self: ~Copyable {
  /// Appends field 1 of a message: a `google.protobuf.Timestamp`.
  mutating func append(protobufTime time: Int64) throws(RunError) {
    let (seconds, nanoseconds) = time.secondsAndNanoseconds
    // A message within: its tag and length, then two numbers with one byte of tag each.
    let length =
      1 + ProtobufMessage.length(UInt64(bitPattern: seconds)) + 1
      + ProtobufMessage.length(UInt64(nanoseconds))
    try append(ProtobufMessage.tagByte(1, .bytes))
    try append(UInt8(length))
    try append(ProtobufMessage.tagByte(1, .number))
    try append(varint: UInt64(bitPattern: seconds))
    try append(ProtobufMessage.tagByte(2, .number))
    try append(varint: UInt64(nanoseconds))
  }
}

extension Timestamp {
  /// As MCAP has it: unsigned, so that what lies before 0 becomes 0.
  var logTime: UInt64 { UInt64(max(nanoseconds, 0)) }
}

extension Int64 {
  /// Nanoseconds as `google.protobuf.Timestamp` has them: the fraction counts forward, always.
  fileprivate var secondsAndNanoseconds: (Int64, Int64) {
    let (seconds, rest) = quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? (seconds - 1, rest + 1_000_000_000) : (seconds, rest)
  }
}

extension PixelFormat {
  /// The name in `foxglove.RawImage` (the comment of its field `data`, and the documentation of the
  /// schema), where it has one; else V4L2's four characters.
  var foxgloveEncoding: String {
    switch layout {
    case .packed422(.yuyv): "yuyv"
    case .packed422(.uyvy): "uyvy"
    case .semiPlanar420(.blueFirst): "nv12"
    case .planar(.gray, .eight, _): "mono8"
    case .planar(.gray, .sixteen, _): "mono16"
    case .rgb(.rgb): "rgb8"
    case .rgb(.bgr): "bgr8"
    case .rgb(.rgba): "rgba8"
    case .rgb(.bgra): "bgra8"
    case .rgbWords(let words): words == .rgba ? "rgba16" : "rgb16"
    case .bayer(let order, .eight): "bayer_\(order)8"
    // ROS alone has these (`sensor_msgs/image_encodings.hpp`).
    case .bayer(let order, .sixteen): "bayer_\(order)16"
    case .encoded, .planar, .semiPlanar420(.redFirst), .semiPlanar420Words, .packedGray,
      .rgb(.bgrx),
      .rgb(.xrgb), .rgb(.argb), .bayer:
      fourcc
    }
  }
}
