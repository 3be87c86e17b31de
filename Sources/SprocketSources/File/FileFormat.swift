internal import SprocketCore
internal import SprocketLibAV

// Formats and colour as libavformat's wrapper names them, in Sprocket's words.

extension Color {
  /// What a file says of frames in `format`. Where it says nothing, YUV is limited range, and grey and
  /// RGB are full range, as FFmpeg has it. RGB becomes YUV by BT.601.
  init(_ color: MediaColor, _ format: PixelFormat) {
    let isRGB = format.isRGB
    let isGrey = format.isGrey
    let range: Range =
      switch color.range {
      case .full: .full
      case .limited: isRGB ? .full : .limited
      case .unspecified: isRGB || isGrey ? .full : .limited
      }
    let matrix: Matrix =
      switch color.matrix {
      case .bt601: .bt601
      case .bt709: .bt709
      case .bt2020: .bt2020
      case .unspecified, .rgb, .other: .unspecified
      }
    let transfer: Transfer =
      switch color.transfer {
      case .bt709: .bt709
      case .srgb: .srgb
      case .linear: .linear
      case .gamma22: .gamma22
      case .gamma28: .gamma28
      case .pq: .pq
      case .hlg: .hlg
      case .unspecified, .other: .unspecified
      }
    let chromaSite: ChromaSite =
      switch color.chromaSite {
      case .center: .center
      case .topLeft: .topLeft
      // FFmpeg's own default.
      case .left, .unspecified, .other: .left
      }
    let codes = color.codes
    self.init(
      range: range, matrix: isRGB ? .bt601 : matrix, transfer: transfer, chromaSite: chromaSite,
      codes: Codes(
        primaries: codes.primaries, transfer: codes.transfer, matrix: isRGB ? 2 : codes.matrix))
  }
}

extension Presentation {
  /// What the header says; upright where the file has another angle.
  init(_ display: MediaDisplay) {
    self.init(
      orientation: display.orientation.flatMap { Orientation(rawValue: UInt8($0)) } ?? .upright,
      pixelAspect: PixelAspect(display.pixelAspect), fieldOrder: FieldOrder(display.fieldOrder))
  }

  /// Takes pixel aspect and field order from `frame` if the header does not give them. The field
  /// order comes from the first frame only: in a partly interlaced film it may change many times,
  /// and each change would begin an epoch.
  mutating func learn(from frame: borrowing DecodedFrame, isFirst: Bool, header: MediaDisplay?) {
    if header?.pixelAspect == nil, let own = frame.pixelAspect { pixelAspect = PixelAspect(own) }
    if isFirst, fieldOrder == .unknown, frame.fieldOrder != .progressive {
      fieldOrder = FieldOrder(frame.fieldOrder)
    }
  }
}

extension PixelAspect {
  /// Unknown where the file does not say, or says what does not fit.
  init(_ ratio: MediaRational?) {
    self.init(
      ratio.flatMap { Int32(exactly: $0.numerator) } ?? 0,
      ratio.flatMap { Int32(exactly: $0.denominator) } ?? 0)
  }
}

extension FieldOrder {
  init(_ order: MediaDisplay.FieldOrder) {
    self =
      switch order {
      case .unknown: .unknown
      case .progressive: .progressive
      case .topFirst: .topFirst
      case .bottomFirst: .bottomFirst
      }
  }
}

extension FrameRate {
  /// Unknown where the file does not say, or says what does not fit.
  init(_ rate: MediaRational?) {
    guard let rate, let frames = Int32(exactly: rate.numerator),
      let seconds = Int32(exactly: rate.denominator)
    else {
      self = .unknown
      return
    }
    self.init(frames: frames, seconds: seconds)
  }

  /// Nanoseconds from one frame to the next; 25 frames per second where the rate is unknown, as
  /// libavformat has it.
  var frameNanoseconds: Int64 {
    frames > 0 ? Int64(seconds) * 1_000_000_000 / Int64(frames) : 40_000_000
  }
}

extension RunError {
  /// Why a file cannot be opened.
  init(opening error: MediaError) {
    let code: Code = error.isOfMachine ? .failed : .usage
    self.init(error.code == .interrupted ? .interrupted : code, error.description)
  }
}

extension CaptureSlot {
  /// Lends the memory of the frame that a source holds: the packet or the picture. Without either, the frame
  /// has no bytes.
  mutating func lend(_ packet: inout EncodedPacket?, _ picture: inout DecodedFrame?) {
    if let packet = packet.take() {
      let image = unsafe ImageStorage(packet)
      let count = unsafe packet.bytes.count
      unsafe lend(image, byteCount: count, handle: packet.leak())
    } else if let picture = picture.take() {
      let image = unsafe ImageStorage(picture)
      let count = format.pixelFormat.byteCount(width: picture.width, height: picture.height)
      unsafe lend(image, byteCount: count, handle: picture.leak())
    } else {
      filled(0)
    }
  }
}

extension ImageStorage {
  /// The planes of a decoded frame, in libavcodec's memory: read only.
  init(_ picture: borrowing DecodedFrame) {
    unsafe self.init()
    for index in 0..<picture.format.planeCount {
      let plane = unsafe picture.plane(index)
      unsafe planes[index] = PlaneStorage(
        base: UnsafeMutablePointer(mutating: plane.base), stride: plane.stride,
        bytesPerRow: plane.bytesPerRow, rows: plane.rows)
    }
  }

  /// The bytes of a packet, in libavformat's memory: read only.
  init(_ packet: borrowing EncodedPacket) {
    unsafe self.init()
    let bytes = unsafe packet.bytes
    guard let base = bytes.baseAddress else { return }
    unsafe planes[0] = PlaneStorage(
      base: UnsafeMutablePointer(mutating: base), stride: bytes.count, bytesPerRow: bytes.count,
      rows: 1)
  }
}
