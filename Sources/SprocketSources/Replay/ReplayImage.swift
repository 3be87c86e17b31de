internal import SprocketCodecs
internal import SprocketCore
internal import SprocketMCAP

/// The fields of a `foxglove.CompressedImage` or `foxglove.RawImage` in Protocol Buffers; the message may
/// be foreign or damaged.
struct ReplayImage {
  /// Of the message's bytes, those that are the image.
  private(set) var data = 0..<0
  private(set) var width = 0
  private(set) var height = 0
  /// From one row to the next, in bytes.
  private(set) var step = 0
  /// Encoding of a raw image, format of a compressed one.
  private var name = 0..<0
  private let isCompressed: Bool

  /// `nil` where the fields make no sense.
  init?(_ bytes: Span<UInt8>, isCompressed: Bool) {
    self.isCompressed = isCompressed
    var fields = ProtobufFields()
    while let field = fields.next(bytes) {
      switch field.value {
      case .fixed32(let number): take(field.number, Int(number))
      case .bytes(let range): take(field.number, range)
      case .other: break
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

  /// Bytes without padding, where rows of a picture have `row` of them.
  func count(row: Int, rows: Int) -> Int {
    guard row > 0, step > row else { return data.count }
    return data.count >= step * (rows - 1) + row ? row * rows : data.count
  }

  /// The format of a message that comes without a session; `nil` where it is not one that is known.
  func format(_ bytes: Span<UInt8>) -> FrameFormat? {
    if isCompressed {
      guard bytes.equals("jpeg", name) || bytes.equals("jpg", name),
        let header = EncodedFrame(checking: bytes.extracting(data)), let image = header.image
      else { return nil }
      return header.described(
        FrameFormat(
          pixelFormat: .mjpeg, image: image, width: header.width, height: header.height,
          color: .jpeg, rate: .unknown))
    }
    guard let pixels = pixelFormat(bytes), (1...65_535).contains(width),
      (1...65_535).contains(height)
    else { return nil }
    let row = pixels.plane(0, width: width, height: height).bytesPerRow
    // Rows of several planes cannot have padding that one number tells of.
    guard step == row || (pixels.planeCount == 1 && step > row) else { return nil }
    let isYUV =
      switch pixels.layout {
      case .planar(.gray, _, _), .packedGray, .rgb, .bayer, .jpeg: false
      case .planar, .semiPlanar420, .semiPlanar420Words, .packed422: true
      }
    return FrameFormat(
      pixelFormat: pixels, width: width, height: height,
      color: Color(range: isYUV ? .limited : .full), rate: .unknown)
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
    ("bgr8", .bgr24), ("8UC3", .bgr24), ("bayer_rggb8", .bayerRGGB), ("bayer_grbg8", .bayerGRBG),
    ("bayer_gbrg8", .bayerGBRG), ("bayer_bggr8", .bayerBGGR), ("bayer_rggb16", .bayerRGGB16),
    ("bayer_grbg16", .bayerGRBG16), ("bayer_gbrg16", .bayerGBRG16), ("bayer_bggr16", .bayerBGGR16),
  ]
}
