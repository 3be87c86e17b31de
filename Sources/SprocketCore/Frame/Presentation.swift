internal import Synchronization

/// How pictures are to be shown: what a recording keeps beside their samples. Stages and unpacking
/// leave the samples as the sensor has them, whatever stands here.
public struct Presentation: Sendable, Hashable, BitwiseCopyable {
  public var orientation: Orientation
  public var pixelAspect: PixelAspect
  public var fieldOrder: FieldOrder

  /// Upright, and nothing is known of the rest.
  public init(
    orientation: Orientation = .upright, pixelAspect: PixelAspect = .unknown,
    fieldOrder: FieldOrder = .unknown
  ) {
    self.orientation = orientation
    self.pixelAspect = pixelAspect
    self.fieldOrder = fieldOrder
  }
}

/// What has to be done to a picture before it stands upright; numbers are those of EXIF
/// (tag 274, `Orientation`).
public enum Orientation: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  case upright = 1
  /// Exchange left and right.
  case mirrored = 2
  /// Turn by 180 degrees.
  case halfTurn = 3
  /// Exchange top and bottom.
  case flipped = 4
  /// Exchange rows and columns.
  case transposed = 5
  /// Turn clockwise by 90 degrees: most telephones that are held upright.
  case quarterTurn = 6
  /// Exchange rows and columns, then turn by 180 degrees.
  case transversed = 7
  /// Turn clockwise by 270 degrees.
  case threeQuarterTurn = 8
}

/// Width of a pixel over its height, as a fraction in lowest terms.
public struct PixelAspect: Sendable, Hashable, BitwiseCopyable {
  /// 0 where the aspect is unknown; players take such pixels for square.
  public let width: Int32
  public let height: Int32

  /// Unknown where either number is not positive.
  public init(_ width: Int32, _ height: Int32) {
    guard width > 0, height > 0 else {
      (self.width, self.height) = (0, 1)
      return
    }
    var (common, rest) = (width, height)
    while rest > 0 { (common, rest) = (rest, common % rest) }
    self.width = width / common
    self.height = height / common
  }

  public static let unknown = PixelAspect(0, 1)
  public static let square = PixelAspect(1, 1)

  /// Neither square nor unknown.
  public var isOblong: Bool { self != .unknown && self != .square }
}

/// Whether the lines of a picture are of one moment, or every other line is half a frame later.
public enum FieldOrder: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  case unknown, progressive
  /// Interlaced: the first line and every second after it are the earlier ones.
  case topFirst
  /// Interlaced: the second line and every second after it are the earlier ones.
  case bottomFirst

  public var isInterlaced: Bool { self == .topFirst || self == .bottomFirst }
}

/// An orientation that may change while a run goes on: recordings and stills that are given one take it in
/// place of the pictures' own, each as it begins.
public final class OrientationSetting: Sendable {
  private let number: Atomic<UInt8>

  public init(_ value: Orientation = .upright) { number = Atomic(value.rawValue) }

  public var value: Orientation {
    get { Orientation(rawValue: number.load(ordering: .relaxed)) ?? .upright }
    set { number.store(newValue.rawValue, ordering: .relaxed) }
  }
}

extension FrameFormat {
  /// Whether one file can hold pictures of both formats. An encoder converts the samples of pictures,
  /// `isEncoded`, to those of the first.
  package func hasPictures(like other: FrameFormat, isEncoded: Bool) -> Bool {
    guard width == other.width, height == other.height else { return false }
    let (mine, others) = (presentation, other.presentation)
    // Greys have no matrix.
    let matrices = Set([color.matrix, other.color.matrix]).subtracting([.unspecified])
    return isEncoded
      ? color.range == other.color.range && matrices.count < 2
        && mine.orientation == others.orientation
        && mine.fieldOrder.isInterlaced == others.fieldOrder.isInterlaced
        && (mine.fieldOrder == others.fieldOrder || !mine.fieldOrder.isInterlaced)
        && (mine.pixelAspect == others.pixelAspect
          || !mine.pixelAspect.isOblong && !others.pixelAspect.isOblong)
      : image == other.image && color == other.color && mine == others
        && hasFieldImages == other.hasFieldImages && packets == other.packets
  }
}
