internal import CSprocketLibAV

/// How a file says that its pictures are to be shown.
public struct MediaDisplay: Equatable, Sendable {
  public enum FieldOrder: Sendable { case unknown, progressive, topFirst, bottomFirst }

  /// What makes them upright, as EXIF numbers it: 1 to 8. `nil` for turns by other angles.
  public var orientation: Int?
  /// Width of a pixel over its height; `nil` where the file does not say.
  public var pixelAspect: MediaRational?
  public var fieldOrder: FieldOrder

  public init(orientation: Int? = 1, pixelAspect: MediaRational?, fieldOrder: FieldOrder) {
    self.orientation = orientation
    self.pixelAspect = pixelAspect
    self.fieldOrder = fieldOrder
  }

  /// The corresponding C functions are `av_stream_get_side_data` and `av_guess_sample_aspect_ratio`.
  init(_ stream: UnsafeMutablePointer<AVStream>) {
    var size = 0
    let data = unsafe libav.av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size)
    orientation = 1
    if let data = unsafe data, size >= 9 * 4 {
      let matrix = unsafe Span(
        _unsafeStart: UnsafeRawPointer(data).assumingMemoryBound(to: Int32.self), count: 9)
      orientation = DisplayMatrix.orientation(matrix)
    }
    pixelAspect = unsafe MediaRational(aspect: libav.av_guess_sample_aspect_ratio(nil, stream, nil))
    fieldOrder = unsafe FieldOrder(stream.pointee.codecpar.pointee.field_order)
  }

  /// Writes what `stream` is to say. `writesMatrix`: its container has a display matrix.
  ///
  /// The corresponding C function is `av_stream_new_side_data`.
  func fill(_ stream: UnsafeMutablePointer<AVStream>, writesMatrix: Bool) -> Bool {
    let parameters = unsafe stream.pointee.codecpar!
    if let pixelAspect {
      let ratio = AVRational(
        num: Int32(clamping: pixelAspect.numerator), den: Int32(clamping: pixelAspect.denominator))
      unsafe stream.pointee.sample_aspect_ratio = ratio
      unsafe parameters.pointee.sample_aspect_ratio = ratio
    }
    unsafe parameters.pointee.field_order =
      switch fieldOrder {
      case .unknown: AV_FIELD_UNKNOWN
      case .progressive: AV_FIELD_PROGRESSIVE
      // Motion-JPEG that ffmpeg makes says so, too.
      case .topFirst: AV_FIELD_TT
      case .bottomFirst: AV_FIELD_BB
      }
    guard writesMatrix, let orientation, orientation != 1 else { return true }
    let aspect = pixelAspect.map { Double($0.numerator) / Double($0.denominator) } ?? 1
    let width = unsafe (Double(parameters.pointee.width) * aspect).rounded()
    let matrix = unsafe DisplayMatrix.matrix(
      orientation, width: Int(min(width, 1e9)), height: Int(parameters.pointee.height))
    guard
      let data = unsafe libav.av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * 4)
    else { return false }
    for (index, value) in matrix.enumerated() {
      unsafe UnsafeMutableRawPointer(data).storeBytes(
        of: value, toByteOffset: 4 * index, as: Int32.self)
    }
    return true
  }
}

/// The matrix of a track header (ISO/IEC 14496-12, 8.3.2): `x' = a x + c y + tx`, `y' = b x + d y + ty`,
/// stored as a, b, u, c, d, v, tx, ty, w, in 16.16 bits but for u, v and w (2.30).
enum DisplayMatrix {
  /// Signs of a, b, c, d for each of EXIF's orientations, from 1.
  private static let signs: [(a: Int32, b: Int32, c: Int32, d: Int32)] = [
    (1, 0, 0, 1), (-1, 0, 0, 1), (-1, 0, 0, -1), (1, 0, 0, -1),
    (0, 1, 1, 0), (0, 1, -1, 0), (0, -1, -1, 0), (0, -1, 1, 0),
  ]

  /// The orientation that a matrix is, 1 to 8, whatever its scale; `nil` for other angles.
  static func orientation(_ matrix: Span<Int32>) -> Int? {
    let parts = [matrix[0], matrix[1], matrix[3], matrix[4]]
    let largest = parts.reduce(0) { max($0, $1.magnitude) }
    guard largest > 0 else { return 1 }
    // A hundredth of the scale is half a degree: the noise of files whose matrix was computed.
    let found = parts.map { $0.magnitude <= largest / 100 ? 0 : $0.signum() }
    return signs.firstIndex { [$0.a, $0.b, $0.c, $0.d] == found }.map { $0 + 1 }
  }

  /// The matrix of an orientation from 1 to 8, for pictures that are shown `width` by `height` before
  /// they are turned: their upper left corner is at 0, 0 again. The shift of sizes that 16 bits do not
  /// hold is 0.
  static func matrix(_ orientation: Int, width: Int, height: Int) -> [Int32] {
    let sign = signs[(orientation - 1) % signs.count]
    let one: Int32 = 1 << 16
    func shift(_ alongX: Int32, _ alongY: Int32) -> Int32 {
      let pixels = alongX < 0 ? width : alongY < 0 ? height : 0
      return pixels < 1 << 15 ? Int32(pixels) << 16 : 0
    }
    return [
      sign.a * one, sign.b * one, 0, sign.c * one, sign.d * one, 0, shift(sign.a, sign.c),
      shift(sign.b, sign.d), 1 << 30,
    ]
  }
}

extension MediaDisplay.FieldOrder {
  /// The parts of FFmpeg disagree about the second letter of these names. In all of its decoders
  /// the first letter is the field that is earlier in time, so only the first letter is used.
  init(_ order: AVFieldOrder) {
    self =
      switch order {
      case AV_FIELD_PROGRESSIVE: .progressive
      case AV_FIELD_TT, AV_FIELD_TB: .topFirst
      case AV_FIELD_BB, AV_FIELD_BT: .bottomFirst
      default: .unknown
      }
  }
}

extension MediaRational {
  /// `nil` for what is no aspect.
  init?(aspect: AVRational) {
    guard aspect.num > 0, aspect.den > 0 else { return nil }
    self.init(aspect)
  }
}
