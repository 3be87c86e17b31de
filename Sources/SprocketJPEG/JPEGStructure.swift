public import SprocketPixels

/// What the markers of a JPEG image say, and whether they make one whole image.
///
/// This is the check that every frame of a Motion-JPEG camera goes through, also when nobody decodes
/// it: a frame that USB lost a piece of is found here, for about a hundredth of the cost of decoding.
/// It reads every segment and the marker bytes within the entropy-coded data, allocates nothing, and
/// believes no length without checking it.
///
/// A header cannot make anybody reserve memory for a picture that is not there: whatever the size, an
/// image has picture data enough for it, a bit or two for each block.
///
/// It is as tolerant as cameras make necessary: fill bytes before markers, no Huffman tables, no or
/// strange application segments, and anything at all after the end of the image are in order.
///
/// The format is ITU-T T.81 (ISO/IEC 10918-1), annex B.
public struct JPEGStructure: Equatable, Sendable {
  /// In pixels.
  public internal(set) var width = 0
  /// In pixels.
  public internal(set) var height = 0
  /// 1 for gray, 3 for YUV.
  public internal(set) var componentCount = 0
  /// `nil` if there is no ``ChromaSubsampling`` of that shape.
  public internal(set) var subsampling: ChromaSubsampling?
  /// Progressive rather than sequential.
  public internal(set) var isProgressive = false
  /// Whether the image brings Huffman tables. Motion-JPEG frames often do not and mean the standard
  /// ones, see ``JPEGHuffmanTables``.
  public internal(set) var hasHuffmanTables = false
  /// Minimum coded units between restart markers, 0 without.
  public internal(set) var restartInterval = 0
  /// What the AVI1 segment that Motion-JPEG in AVI files begins with says: 1 is a field of odd lines
  /// counted from 1 (the upper), 2 of even ones; 0 without, or for a whole picture.
  public internal(set) var fieldParity: UInt8 = 0
  /// Where the first scan's marker (SOS) is, in bytes.
  public internal(set) var scanHeaderOffset = 0
  /// Where the first entropy-coded byte is.
  public internal(set) var scanOffset = 0
  /// The length of the image through its end marker; what follows is padding.
  public internal(set) var byteCount = 0

  /// Sampling factors of the first component, needed to count coded units.
  var maximumFactors = (horizontal: 1, vertical: 1)
  /// Blocks of 8 x 8 samples in all components, without what fills up coded units.
  var blocks = 0
  /// Scans, and the entropy-coded bytes in them.
  var scanCount = 0
  var scanBytes = 0

  /// The most scans of an image. Progressive images of encoders have about ten; each one more costs the
  /// decoder another pass over all pixels, so that a picture of a megabyte could take minutes.
  /// libturbojpeg has the same limit (`TJFLAG_LIMITSCANS`).
  static let mostScans = 500
  /// The most pixels of an image: 16,384 x 16,384, more than any camera has.
  static let mostPixels = 1 << 28

  public static func == (a: Self, b: Self) -> Bool {
    a.width == b.width && a.height == b.height && a.componentCount == b.componentCount
      && a.subsampling == b.subsampling && a.isProgressive == b.isProgressive
      && a.hasHuffmanTables == b.hasHuffmanTables && a.restartInterval == b.restartInterval
      && a.fieldParity == b.fieldParity
      && a.scanHeaderOffset == b.scanHeaderOffset && a.scanOffset == b.scanOffset
      && a.byteCount == b.byteCount
  }

  /// Reads `jpeg` from its first byte to its end marker; throws what is wrong with it.
  ///
  /// Cost: about 70 µs for an image of 500 kB.
  public init(_ jpeg: Span<UInt8>) throws(JPEGError) {
    guard jpeg.count >= 2, jpeg[0] == 0xFF, jpeg[1] == Marker.startOfImage else {
      throw .noStartOfImage
    }
    try readSegments(jpeg)
  }

  /// Reads the segments before the first scan alone; `byteCount` is that of `jpeg`, and whether the
  /// image is whole is not looked at. A few microseconds.
  public init(headerOf jpeg: Span<UInt8>) throws(JPEGError) {
    guard jpeg.count >= 2, jpeg[0] == 0xFF, jpeg[1] == Marker.startOfImage else {
      throw .noStartOfImage
    }
    try readSegments(jpeg, untilScan: true)
    byteCount = jpeg.count
  }
}

/// The second bytes of the markers that matter here (T.81, table B.1).
enum Marker {
  static let startOfFrameBaseline: UInt8 = 0xC0
  static let startOfFrameExtended: UInt8 = 0xC1
  static let startOfFrameProgressive: UInt8 = 0xC2
  static let huffmanTables: UInt8 = 0xC4
  static let arithmeticConditioning: UInt8 = 0xCC
  static let restart: ClosedRange<UInt8> = 0xD0...0xD7
  static let startOfImage: UInt8 = 0xD8
  static let endOfImage: UInt8 = 0xD9
  static let startOfScan: UInt8 = 0xDA
  static let quantizationTables: UInt8 = 0xDB
  static let restartInterval: UInt8 = 0xDD
  static let application: ClosedRange<UInt8> = 0xE0...0xEF
  static let comment: UInt8 = 0xFE
}
