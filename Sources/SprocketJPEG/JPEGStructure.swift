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
/// strange application segments, and anything at all after the end of the image are in order. Of what
/// libjpeg-turbo or FFmpeg show without a gap in the picture, it takes bytes before the image and between
/// segments, a second start marker, and an end marker that is missing behind whole picture data: see
/// ``isRepaired``.
///
/// The format is ITU-T T.81 (ISO/IEC 10918-1), annex B.
public struct JPEGStructure: Equatable, Sendable {
  /// Where the image's start marker is, in bytes.
  public internal(set) var start = 0
  /// The image has bytes before it or between its segments, two start markers, or no end marker.
  public internal(set) var isRepaired = false
  /// The end marker is missing: the data ends, or another image begins.
  public internal(set) var lacksEnd = false
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
  /// Where the image ends, behind its end marker; what follows is padding. Without a marker it is where
  /// the data ends, or the next image begins.
  public internal(set) var byteCount = 0

  /// Sampling factors of the first component, needed to count coded units.
  var maximumFactors = (horizontal: 1, vertical: 1)
  /// Blocks of 8 x 8 samples in all components, without what fills up coded units.
  var blocks = 0
  /// The quantization tables that the components name, and those that there are, a bit for each.
  var neededQuantizers: UInt8 = 0
  var quantizers: UInt8 = 0
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
    a.start == b.start && a.isRepaired == b.isRepaired && a.lacksEnd == b.lacksEnd
      && a.width == b.width && a.height == b.height && a.componentCount == b.componentCount
      && a.subsampling == b.subsampling && a.isProgressive == b.isProgressive
      && a.hasHuffmanTables == b.hasHuffmanTables && a.restartInterval == b.restartInterval
      && a.fieldParity == b.fieldParity
      && a.scanHeaderOffset == b.scanHeaderOffset && a.scanOffset == b.scanOffset
      && a.byteCount == b.byteCount
  }

  /// Reads `jpeg` from its first byte to its end marker; throws what is wrong with it. Where the end marker
  /// is missing, all picture data is read.
  ///
  /// Cost: about 70 µs for an image of 500 kB; without an end marker as much as decoding luma, and an
  /// allocation, see ``JPEGCheck``.
  public init(_ jpeg: Span<UInt8>) throws(JPEGError) {
    var check = JPEGCheck()
    self = try check.structure(of: jpeg)
  }

  /// Reads the structure without checking the picture data of an image that has no end marker
  /// (``lacksEnd``). For frames that a source has already checked.
  public init(parsing jpeg: Span<UInt8>) throws(JPEGError) {
    try self.init(findingStartIn: jpeg)
    try readSegments(jpeg)
  }

  /// Reads the segments before the first scan alone; `byteCount` is that of `jpeg`, and whether the
  /// image is whole is not looked at. A few microseconds.
  public init(headerOf jpeg: Span<UInt8>) throws(JPEGError) {
    try self.init(findingStartIn: jpeg)
    try readSegments(jpeg, untilScan: true)
    byteCount = jpeg.count
  }

  /// Whether the data ends with an end marker, and bytes that are 0 or FF. A few nanoseconds.
  public static func endsWithMarker(_ jpeg: Span<UInt8>) -> Bool { endMarker(jpeg) != nil }

  private init(findingStartIn jpeg: Span<UInt8>) throws(JPEGError) {
    if jpeg.count >= 2, jpeg[0] == 0xFF, jpeg[1] == Marker.startOfImage { return }
    var at = 0
    while let marker = nextMarker(jpeg, from: at) {
      if jpeg[marker + 1] == Marker.startOfImage, marker + 2 < jpeg.count, jpeg[marker + 2] == 0xFF
      {
        (start, isRepaired) = (marker, true)
        return
      }
      at = marker + 2
    }
    throw .noStartOfImage
  }

  init(start: Int, isRepaired: Bool) {
    (self.start, self.isRepaired) = (start, isRepaired)
  }
}

/// Reads the structure of images one after the other, and, where an end marker is missing, whether all
/// picture data is there. Allocates for the first such image, and for each such that is progressive.
public struct JPEGCheck: ~Copyable {
  private var scans: ScanCheck?
  /// Blocks that are read of a progressive image, of all scans together: ten scans of a picture of 36
  /// megapixels. Larger: a hostile image takes longer than a second.
  private static let mostBlocks = 10_000_000

  public init() {}

  /// Reads and checks an image like ``JPEGStructure/init(_:)``.
  public mutating func structure(of jpeg: Span<UInt8>) throws(JPEGError) -> JPEGStructure {
    let structure = try JPEGStructure(parsing: jpeg)
    guard isWhole(jpeg, structure) else { throw .truncated }
    return structure
  }

  /// Whether an image that has no end marker has all its picture data. True for all others.
  public mutating func isWhole(_ jpeg: Span<UInt8>, _ structure: JPEGStructure) -> Bool {
    guard structure.lacksEnd else { return true }
    guard structure.blocks * structure.scanCount <= Self.mostBlocks || !structure.isProgressive
    else {
      return false
    }
    if scans == nil { scans = ScanCheck() }
    return scans!.isWhole(jpeg, structure)
  }
}
