internal import SprocketCodecs
internal import SprocketCore
internal import SprocketMCAP

/// A message that is a picture, by its schema and encoding.
enum ReplayImageKind: Sendable {
  /// `foxglove.CompressedImage`, in Protocol Buffers.
  case compressed
  /// `foxglove.RawImage`, in Protocol Buffers.
  case raw
  /// `sensor_msgs/msg/CompressedImage` of ROS 2, in CDR.
  case rosCompressed
  /// `sensor_msgs/msg/Image` of ROS 2, in CDR.
  case rosRaw

  init?(schema: String?, encoding: String) {
    switch (schema, encoding) {
    case ("foxglove.CompressedImage", "protobuf"): self = .compressed
    case ("foxglove.RawImage", "protobuf"): self = .raw
    case ("sensor_msgs/msg/CompressedImage", "cdr"): self = .rosCompressed
    case ("sensor_msgs/msg/Image", "cdr"): self = .rosRaw
    default: return nil
    }
  }

  var isCompressed: Bool { self == .compressed || self == .rosCompressed }
}

/// The fields of a picture's message, which may be foreign or damaged.
struct ReplayImage {
  /// Of the message's bytes, those that are the image.
  private(set) var data = 0..<0
  private(set) var width = 0
  private(set) var height = 0
  /// From one row to the next, in bytes.
  private(set) var step = 0
  /// When the picture was taken, nanoseconds, as its sender says; `nil` where it does not.
  private(set) var stamp: Int64?
  /// Encoding of a raw image, format of a compressed one.
  private var name = 0..<0
  /// Numbers of 16 bits have their upper byte first, which is not read.
  private var isBigEndian = false
  private let kind: ReplayImageKind
  private var isCompressed: Bool { kind.isCompressed }

  /// `nil` where the fields make no sense.
  init?(_ bytes: Span<UInt8>, _ kind: ReplayImageKind) {
    self.kind = kind
    if kind == .rosRaw || kind == .rosCompressed {
      guard readROS(bytes) else { return nil }
      return
    }
    var fields = ProtobufFields()
    while let field = fields.next(bytes) {
      switch field.value {
      case .fixed32(let number): take(field.number, Int(number))
      case .bytes(let range) where field.number == 1: readStamp(bytes.extracting(range))
      case .bytes(let range): take(field.number, range)
      case .varint, .other: break
      }
    }
    if !fields.isWhole { return nil }
  }

  private mutating func take(_ field: UInt64, _ number: Int) {
    switch field {
    case 2 where !isCompressed: width = number
    case 3 where !isCompressed: height = number
    case 5 where !isCompressed: step = number
    default: break
    }
  }

  private mutating func take(_ field: UInt64, _ range: Range<Int>) {
    if field == (isCompressed ? 2 : 6) { data = range }
    if field == (isCompressed ? 3 : 4) { name = range }
  }

  /// `google.protobuf.Timestamp`: seconds, and nanoseconds.
  private mutating func readStamp(_ bytes: Span<UInt8>) {
    var fields = ProtobufFields()
    var (seconds, rest) = (Int64(0), Int64(0))
    while let field = fields.next(bytes) {
      guard case .varint(let number) = field.value else { continue }
      if field.number == 1 { seconds = Int64(truncatingIfNeeded: number) }
      if field.number == 2 { rest = Int64(truncatingIfNeeded: number) }
    }
    setStamp(seconds, rest)
  }

  private mutating func setStamp(_ seconds: Int64, _ rest: Int64) {
    let time = Int128(seconds) * 1_000_000_000 + Int128(rest)
    stamp = time == 0 ? nil : Int64(clamping: time)
  }

  /// Reads a message of ROS 2. The order of its fields is fixed. Returns false if the bytes are too few.
  private mutating func readROS(_ bytes: Span<UInt8>) -> Bool {
    guard var fields = CDRFields(bytes), let seconds = fields.word(bytes),
      let rest = fields.word(bytes), fields.text(bytes) != nil
    else { return false }
    setStamp(Int64(Int32(bitPattern: seconds)), Int64(rest))
    if kind == .rosRaw {
      guard let height = fields.word(bytes), let width = fields.word(bytes) else { return false }
      (self.height, self.width) = (Int(height), Int(width))
    }
    guard let name = fields.text(bytes) else { return false }
    self.name = name
    if kind == .rosRaw {
      guard let isBig = fields.byte(bytes), let step = fields.word(bytes) else { return false }
      (isBigEndian, self.step) = (isBig != 0, Int(step))
    }
    guard let data = fields.bytes(bytes) else { return false }
    self.data = data
    return true
  }

  /// Bytes without padding, where rows of a picture have `row` of them.
  func count(row: Int, rows: Int) -> Int {
    guard row > 0, step > row else { return data.count }
    return data.count >= step * (rows - 1) + row ? row * rows : data.count
  }

  /// The format of a message that comes without a session; `nil` where it is not one that is known.
  func format(_ bytes: Span<UInt8>) -> FrameFormat? {
    if isCompressed {
      guard isJPEG(bytes), let header = EncodedFrame(checking: bytes.extracting(data)),
        let image = header.image
      else { return nil }
      return header.described(
        FrameFormat(
          pixelFormat: .mjpeg, image: image, width: header.width, height: header.height,
          color: .jpeg, rate: .unknown))
    }
    guard let pixels = pixelFormat(bytes), (1...65_535).contains(width),
      (1...65_535).contains(height), !isBigEndian || !pixels.isDeep
    else { return nil }
    let row = pixels.plane(0, width: width, height: height).bytesPerRow
    // Rows of several planes cannot have padding that one number tells of.
    guard step == row || (pixels.planeCount == 1 && step > row) else { return nil }
    let isYUV =
      switch pixels.layout {
      case .planar(.gray, _, _), .packedGray, .rgb, .rgbWords, .bayer, .encoded: false
      case .planar, .semiPlanar420, .semiPlanar420Words, .packed422: true
      }
    return FrameFormat(
      pixelFormat: pixels, width: width, height: height,
      color: Color(range: isYUV ? .limited : .full), rate: .unknown)
  }

  /// ROS says "rgb8; jpeg compressed bgr8", too.
  private func isJPEG(_ bytes: Span<UInt8>) -> Bool {
    let words = String(decoding: name.map { bytes[$0] }, as: UTF8.self)
      .split { !$0.isLetter && !$0.isNumber }
    return words.contains { $0.lowercased() == "jpeg" || $0.lowercased() == "jpg" }
  }

  private func pixelFormat(_ bytes: Span<UInt8>) -> PixelFormat? {
    for (word, format) in Self.encodings where bytes.equals(word, name) { return format }
    for format in PixelFormat.allCases where !format.isEncoded {
      if Array(format.fourcc.utf8).elementsEqual(name.map { bytes[$0] }) { return format }
    }
    return nil
  }

  /// Names of `foxglove.RawImage`, and their other names.
  private static let encodings: [(StaticString, PixelFormat)] = [
    ("yuyv", .yuyv), ("yuv422_yuy2", .yuyv), ("uyvy", .uyvy), ("yuv422", .uyvy), ("nv12", .nv12),
    ("mono8", .grey), ("8UC1", .grey), ("mono16", .y16), ("16UC1", .y16), ("rgb8", .rgb24),
    ("rgba8", .rgba32), ("bgra8", .bgra32), ("rgb16", .rgb48), ("rgba16", .rgba64),
    ("bgr8", .bgr24), ("8UC3", .bgr24), ("bayer_rggb8", .bayerRGGB), ("bayer_grbg8", .bayerGRBG),
    ("bayer_gbrg8", .bayerGBRG), ("bayer_bggr8", .bayerBGGR), ("bayer_rggb16", .bayerRGGB16),
    ("bayer_grbg16", .bayerGRBG16), ("bayer_gbrg16", .bayerGBRG16), ("bayer_bggr16", .bayerBGGR16),
  ]
}
