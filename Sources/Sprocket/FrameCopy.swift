public import SprocketCore

/// A frame in memory of its own, to be kept for as long as it is needed.
public struct FrameCopy: Sendable {
  /// What is copied of a frame.
  public enum Content: Sendable, Hashable {
    /// The picture, planar.
    case image
    /// Full-range 8-bit luma, whatever the source.
    case luma(LumaScale)
    /// The source's own bytes, such as a JPEG.
    case encoded
    /// Luma, and a plane of interleaved chroma for each 2x2 pixels, 8 bits, in the range and matrix of
    /// `color`. Chroma that is finer is averaged, samples of more than 8 bits lose the lower ones.
    case nv12
    /// Blue, green, red and 255, a byte each: what `--pipe bgr` makes of the picture.
    case bgra
    /// Red, green and blue, a byte each: what `--pipe rgb` makes of the picture.
    case rgb

    /// What is read of a frame that is lent.
    package var parts: FrameParts {
      switch self {
      case .image, .nv12, .bgra, .rgb: .image
      case .luma(let scale): .luma(scale)
      case .encoded: .encoded
      }
    }
  }

  /// Number, time and camera settings of the frame; of a copy of the program's own, its time.
  public internal(set) var record: FrameRecord
  /// The format that the frame had in the run; `pictureFormat` if a program made the copy.
  public internal(set) var format: FrameFormat
  /// The camera and the date of the frame, for files that are made of the copy; empty where a program made
  /// the picture.
  public internal(set) var origin: FrameOrigin
  /// Where the points of the frame in the run lie in the sensor's picture; the lens is `format.lens`.
  public internal(set) var sensorMap: SensorMap
  /// The layout of `bytes`: `format.image`, `.grey` for luma, the source's format for its own bytes.
  public let pixels: PixelFormat
  /// In pixels; of luma, after it was reduced.
  public let width: Int
  public let height: Int
  /// How the samples of `bytes` stand for light: `format.color` of YUV; luma and RGB have full range.
  public let color: Color
  /// The planes of `pixels` one behind the other, rows without padding; `pixels.plane` has their sizes.
  public let bytes: [UInt8]

  init(
    _ bytes: [UInt8], _ pixels: PixelFormat, _ format: FrameFormat, _ record: FrameRecord
  ) {
    (self.bytes, self.pixels, self.format, self.record) = (bytes, pixels, format, record)
    (width, height, color, sensorMap) = (format.width, format.height, format.color, SensorMap())
    origin = .unknown
  }

  /// `packed` is the picture as red, green and blue, or in the other order, for `.rgb` and `.bgra`.
  init(_ frame: borrowing FrameView, _ content: Content, packed: Span<UInt8>) {
    record = frame.record
    origin = frame.origin
    format = frame.format
    sensorMap = frame.sensorMap
    var bytes: [UInt8] = []
    switch content {
    case .image: pixels = frame.image.format
    case .luma: pixels = .grey
    case .encoded: pixels = format.pixelFormat
    case .nv12: pixels = .nv12
    case .bgra: pixels = .bgr32
    case .rgb: pixels = .rgb24
    }
    var size = (width: format.width, height: format.height)
    if case .luma(let scale) = content { size = format.lumaSize(scale) }
    (width, height) = size
    color = content.color(of: format)
    bytes.reserveCapacity(
      content == .encoded ? record.byteCount : pixels.byteCount(width: width, height: height))
    switch content {
    case .image:
      for plane in 0..<pixels.planeCount { bytes.append(frame.image[plane: plane]) }
    case .luma(let scale): bytes.append(frame.luma(scale))
    case .encoded:
      for plane in 0..<pixels.planeCount { bytes.append(frame.sourcePlane(plane)) }
    case .nv12: bytes.appendNV12(frame.image, format)
    case .bgra: bytes.appendBGRA(packed)
    case .rgb: unsafe packed.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }
    self.bytes = bytes
  }

  /// A copy of a frame that a `FrameCopier` has had packed.
  package init(_ frame: borrowing PackedFrame, _ content: Content) {
    self.init(frame.view, content, packed: content.packing == nil ? Span() : frame.packed)
  }

  /// Where the point (`x`, `y`) of the frame in the run lies in the sensor's picture. In pixels; whole
  /// numbers are the middles of pixels.
  public func sensorPoint(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    sensorMap.sensorPoint(x, y, through: format.lens)
  }
}

extension FrameCopy.Content {
  fileprivate func color(of format: FrameFormat) -> Color {
    var color = format.color
    switch self {
    case .image, .encoded: break
    case .nv12:
      // The mean of two columns lies between them.
      let chroma = format.image?.subsampling
      if chroma == .yuv444 || chroma == .yuv440 { color.chromaSite = .center }
    case .luma, .bgra, .rgb:
      // What YUV is made of, once more.
      (color.range, color.matrix, color.codes.matrix) = (.full, .bt601, 2)
      color.chromaSite = .center
    }
    return color
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ plane: borrowing Plane) {
    for y in 0..<plane.rows {
      let row = plane[row: y]
      unsafe row.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
  }
}
