public import SprocketCore
internal import SprocketJPEG

/// What a source must know of a frame of Motion-JPEG before it lets it pass.
public struct EncodedFrame: Sendable, Equatable {
  /// In pixels.
  public let width: Int
  /// In pixels; of both fields, where there are two.
  public let height: Int
  /// It is two images, a field each.
  public let isFieldPair: Bool
  /// It has what `JPEGStructure.isRepaired` names.
  public let isRepaired: Bool
  /// What it is unpacked to; `nil` where `FrameUnpacker` cannot (CMYK, rare subsamplings). The rare
  /// JPEG of RGB looks here like one of YUV: see ``isUnpackable(_:)``.
  public let image: PixelFormat?

  /// Reads the whole structure of a frame: markers, lengths, its end. `nil` when it is broken, and the
  /// frame `corrupt`.
  ///
  /// `fullHeight` is the height that the container or driver tells, in pixels: where an image has half
  /// of it, or says that it is a field, a second image behind it belongs to the frame.
  ///
  /// Cost: about a hundredth of decoding. Allocates for a frame without an end marker: see ``Reader``.
  public init?(checking bytes: Span<UInt8>, fullHeight: Int? = nil) {
    var reader = Reader()
    do throws(Fault) {
      self = try reader.read(bytes, fullHeight: fullHeight)
    } catch {
      return nil
    }
  }

  /// Why a frame cannot be passed on as whole, as far as it is worth telling apart.
  public enum Fault: Error, Sendable {
    /// Markers and lengths do not fit each other.
    case broken
    /// It is larger than is taken, or than its own bytes can be.
    case impossibleSize
    /// Decoding it could take minutes.
    case tooManyScans
    /// The JPEG is of a kind that is not read: coded arithmetically, lossless, or with more than 8 bits.
    case unsupported
  }

  /// Reads the frames of a stream, one after the other. It allocates memory for frames without an end marker
  /// only: once for the first of them, and for each progressive one.
  public struct Reader: ~Copyable {
    private var check = JPEGCheck()

    public init() {}

    /// Reads a frame like `init(checking:fullHeight:)`, and throws the reason if the frame is broken.
    public mutating func read(
      _ bytes: Span<UInt8>, fullHeight: Int? = nil
    ) throws(Fault) -> EncodedFrame {
      do throws(JPEGError) {
        return try EncodedFrame(bytes, fullHeight, &check)
      } catch {
        switch error {
        case .tooManyScans: throw .tooManyScans
        case .unsupportedProcess: throw .unsupported
        case .imageTooLarge, .missingData: throw .impossibleSize
        default: throw .broken
        }
      }
    }
  }

  private init(
    _ bytes: Span<UInt8>, _ fullHeight: Int?, _ check: inout JPEGCheck
  ) throws(JPEGError) {
    let structure = try check.structure(of: bytes)
    width = structure.width
    image = structure.subsampling.map { PixelFormat($0) }
    let mayBePair =
      structure.fieldParity != 0
      || fullHeight.map { (2 * structure.height - 1...2 * structure.height + 1) ~= $0 } ?? false
    if mayBePair, let fields = FieldImages(bytes, first: structure),
      fields.isMarked || fields.height == fullHeight
    {
      guard check.isWhole(bytes.extracting(fields.secondOrigin..<bytes.count), fields.second) else {
        throw .truncated
      }
      isRepaired = structure.isRepaired || fields.second.isRepaired
      height = fields.height
      isFieldPair = true
    } else {
      isRepaired = structure.isRepaired
      height = structure.height
      isFieldPair = false
    }
  }

  /// `format` as this frame has it. Which of two fields comes first `format` says; where it does not it is
  /// `unsaid`. What the images say of themselves is not believed: files exist in which it is wrong, and
  /// FFmpeg passes it over.
  public func described(_ format: FrameFormat, unsaid: FieldOrder = .topFirst) -> FrameFormat {
    var found = FrameFormat(
      pixelFormat: format.pixelFormat, image: image, width: width, height: height,
      color: format.color, rate: format.rate, presentation: format.presentation)
    found.hasFieldImages = isFieldPair
    if isFieldPair {
      let order = format.presentation.fieldOrder
      found.presentation.fieldOrder = order.isInterlaced ? order : unsaid
    }
    return found
  }

  /// Whether `FrameUnpacker` has planes for a JPEG that is in order. Asks the decoder, which it makes
  /// anew: for the first frame of a stream.
  public static func isUnpackable(_ bytes: Span<UInt8>) -> Bool {
    do throws(JPEGError) {
      var decoder = try JPEGDecoder()
      return try decoder.header(bytes).subsampling != nil
    } catch {
      return false
    }
  }
}
