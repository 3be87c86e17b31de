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
    /// `format.color`. Chroma that is finer is averaged, samples of more than 8 bits lose the lower ones.
    case nv12
    /// Blue, green, red and 255, a byte each: what `--pipe bgr` makes of the picture.
    case bgra

    package var parts: FrameParts {
      switch self {
      case .image, .nv12, .bgra: .image
      case .luma(let scale): .luma(scale)
      case .encoded: .encoded
      }
    }
  }

  public let record: FrameRecord
  /// Of the frame in the run.
  public let format: FrameFormat
  /// Where the points of the frame in the run lie in the sensor's picture; the lens is `format.lens`.
  public let sensorMap: SensorMap
  /// The layout of `bytes`: `format.image`, `.grey` for luma, the source's format for its own bytes.
  public let pixels: PixelFormat
  /// In pixels; of luma, after it was reduced.
  public let width: Int
  public let height: Int
  /// The planes of `pixels` one behind the other, rows without padding; `pixels.plane` has their sizes.
  public let bytes: [UInt8]

  /// `packed` is the picture as blue, green and red, for `.bgra`.
  package init(_ frame: borrowing FrameView, _ content: Content, packed: Span<UInt8> = Span()) {
    record = frame.record
    format = frame.format
    sensorMap = frame.sensorMap
    var bytes: [UInt8] = []
    switch content {
    case .image:
      pixels = frame.image.format
      (width, height) = (format.width, format.height)
      bytes.reserveCapacity(pixels.byteCount(width: width, height: height))
      for plane in 0..<pixels.planeCount { bytes.append(frame.image[plane: plane]) }
    case .luma(let scale):
      pixels = .grey
      (width, height) = format.lumaSize(scale)
      bytes.reserveCapacity(width * height)
      bytes.append(frame.luma(scale))
    case .encoded:
      pixels = format.pixelFormat
      (width, height) = (format.width, format.height)
      bytes.reserveCapacity(record.byteCount)
      for plane in 0..<pixels.planeCount { bytes.append(frame.sourcePlane(plane)) }
    case .nv12:
      pixels = .nv12
      (width, height) = (format.width, format.height)
      bytes.reserveCapacity(pixels.byteCount(width: width, height: height))
      bytes.appendNV12(frame.image, format)
    case .bgra:
      pixels = .bgr32
      (width, height) = (format.width, format.height)
      bytes.reserveCapacity(pixels.byteCount(width: width, height: height))
      bytes.appendBGRA(packed)
    }
    self.bytes = bytes
  }

  /// Where the point (`x`, `y`) of the frame in the run lies in the sensor's picture. In pixels; whole
  /// numbers are the middles of pixels.
  public func sensorPoint(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
    sensorMap.sensorPoint(x, y, through: format.lens)
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
