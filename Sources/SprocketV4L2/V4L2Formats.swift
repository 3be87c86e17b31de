// What a device offers, and what it was set to.

/// A pixel format that a device offers.
public struct V4L2FormatOffer: Hashable, Sendable {
  public var fourCC: V4L2FourCC
  /// The driver's words.
  public var text: String
  /// libv4l2 makes it of another format (`V4L2_FMT_FLAG_EMULATED`).
  public var isEmulated: Bool

  public init(fourCC: V4L2FourCC, text: String = "", isEmulated: Bool = false) {
    self.fourCC = fourCC
    self.text = text
    self.isEmulated = isEmulated
  }
}

/// Sizes that a device offers for a format, in pixels.
public enum V4L2Sizes: Hashable, Sendable {
  case discrete([V4L2Size])
  /// Every `step` from the smallest to the largest; a continuous range has steps of 1.
  case stepwise(smallest: V4L2Size, largest: V4L2Size, step: V4L2Size)
}

/// In pixels.
public struct V4L2Size: Hashable, Sendable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }
}

/// From one frame to the next, in seconds as a fraction.
public struct V4L2Interval: Hashable, Sendable {
  public var numerator: UInt32
  public var denominator: UInt32

  public init(_ numerator: UInt32, _ denominator: UInt32) {
    self.numerator = numerator
    self.denominator = denominator
  }

  /// 0 where the driver says nothing sensible.
  public var framesPerSecond: Double {
    numerator == 0 ? 0 : Double(denominator) / Double(numerator)
  }
}

/// Intervals that a device offers for a format and size.
public enum V4L2Intervals: Hashable, Sendable {
  case discrete([V4L2Interval])
  /// Anything between the two, in steps; a continuous range, too.
  case stepwise(shortest: V4L2Interval, longest: V4L2Interval)
}

/// The format that a device is set to.
public struct V4L2Format: Hashable, Sendable {
  public var fourCC: V4L2FourCC
  /// In pixels.
  public var size: V4L2Size
  /// From one row of the first plane to the next; 0 for encoded frames.
  public var bytesPerLine: Int
  /// The same for the second and third piece of memory, where a frame lies in several.
  public var otherBytesPerLine: [Int] = []
  /// The most that one frame takes.
  public var imageBytes: Int
  /// How the lines of a frame were taken.
  public var field: V4L2Field
  /// Pieces of memory: 1 but with some formats of the multi-planar interface.
  public var memoryPlanes: Int
  /// `V4L2_COLORSPACE_*`, `V4L2_XFER_FUNC_*`, `V4L2_YCBCR_ENC_*`, `V4L2_QUANTIZATION_*`; 0 is the
  /// default.
  public var colorspace: UInt32
  public var transfer: UInt32
  public var encoding: UInt32
  public var quantization: UInt32

  public init(
    fourCC: V4L2FourCC, size: V4L2Size, bytesPerLine: Int, imageBytes: Int,
    field: V4L2Field = .progressive, memoryPlanes: Int = 1, colorspace: UInt32 = 0,
    transfer: UInt32 = 0,
    encoding: UInt32 = 0, quantization: UInt32 = 0
  ) {
    self.fourCC = fourCC
    self.size = size
    self.bytesPerLine = bytesPerLine
    self.imageBytes = imageBytes
    self.field = field
    self.memoryPlanes = memoryPlanes
    self.colorspace = colorspace
    self.transfer = transfer
    self.encoding = encoding
    self.quantization = quantization
  }
}

/// How the lines of a frame were taken (`V4L2_FIELD_*`).
public enum V4L2Field: Hashable, Sendable {
  /// All at once, or the driver does not say.
  case progressive
  /// Every other line half a frame later, all in their places; which are later depends on the video
  /// standard, or is said.
  case interlaced, interlacedTopFirst, interlacedBottomFirst
  /// One field alone, half of the lines; or top and bottom by turns.
  case single
  /// Both fields, one behind the other.
  case sequential

  /// The number that the kernel's "Field Order" chapter gives it; of `single` and `sequential`, one of those.
  var number: UInt32 {
    switch self {
    case .progressive: 1
    case .interlaced: 4
    case .interlacedTopFirst: 8
    case .interlacedBottomFirst: 9
    case .single: 7
    case .sequential: 5
    }
  }

  /// From the number that the kernel's "Field Order" chapter gives it.
  init(_ number: UInt32) {
    self =
      switch number {
      case 2, 3, 7: .single
      case 4: .interlaced
      case 8: .interlacedTopFirst
      case 9: .interlacedBottomFirst
      case 5, 6: .sequential
      default: .progressive
      }
  }
}
