public import SprocketCore
internal import SprocketJPEG
internal import SprocketTIFF

/// Reads kind and orientation from the bytes of a picture's file, without decoding it.
public enum PictureFile {
  public static func isJPEG(_ bytes: Span<UInt8>) -> Bool { begins(bytes, [0xFF, 0xD8, 0xFF]) }

  /// Where the image begins in a file that is a JPEG; `nil` for all others. With `isNamedJPEG` a few bytes
  /// may come before it.
  public static func jpegStart(in bytes: Span<UInt8>, isNamedJPEG: Bool) -> Int? {
    let isJPEG = isJPEG(bytes)
    guard isJPEG || isNamedJPEG else { return nil }
    guard let structure = try? JPEGStructure(headerOf: bytes),
      isJPEG || structure.start <= mostStrayBytes
    else { return isJPEG ? 0 : nil }
    return structure.start
  }

  /// Maximum number of bytes before the image in a file named `.jpg`. A larger value may take an embedded
  /// preview of another kind of file for the picture.
  private static let mostStrayBytes = 512

  /// Returns the orientation, from EXIF in a JPEG, a PNG (`eXIf`) or a WebP, from a TIFF's own
  /// directory, or from an AVIF's properties; upright where nothing is said.
  ///
  /// Cost: segments are skipped; nothing is allocated.
  public static func orientation(of bytes: Span<UInt8>) -> Orientation {
    if begins(bytes.extracting(min(4, bytes.count)...), Array("ftyp".utf8)) {
      return PictureBoxes.orientation(bytes)
    }
    guard let header = tiffRange(in: bytes).flatMap({ TIFFHeader(bytes.extracting($0)) }) else {
      return .upright
    }
    return header.orientation.flatMap { Orientation(rawValue: $0) } ?? .upright
  }

  /// Returns true if a PNG or an AVIF is a film: its pictures have times of their own.
  public static func isFilm(_ bytes: Span<UInt8>) -> Bool {
    isPNG(bytes) ? chunk("acTL", of: bytes, before: "IDAT") != nil : PictureBoxes.isFilm(bytes)
  }

  /// Returns true if an AVIF has a picture of its transparency. libavcodec does not read that picture.
  public static func hasAlphaItem(_ bytes: Span<UInt8>) -> Bool { PictureBoxes.hasAlpha(bytes) }

  /// Returns true if the first page of a TIFF has luma and chroma of full range. Pages have it that do not
  /// say otherwise (TIFF 6.0, section 20 and 21, `ReferenceBlackWhite`). libavcodec says nothing of it.
  public static func isFullRange(_ bytes: Span<UInt8>) -> Bool {
    guard !isJPEG(bytes), let directory = TIFFDirectory(bytes) else { return false }
    return (directory.ratio(.referenceBlackWhite, in: bytes) ?? 0) < 1
  }

  /// A page of a TIFF.
  public struct Page: Sendable, Equatable {
    /// Where its directory begins, in bytes.
    public let start: Int
    /// The header points at this page. Readers that know one page show this one.
    public let isFirst: Bool
    public let orientation: Orientation
    /// Why it is not read, in words such as "a TIFF in tiles"; `nil` for one that is. libavcodec gives black
    /// pictures of these without an error.
    public let unread: String?
  }

  /// The pages of a TIFF, copies of less resolution left out; none of another file, nor of a DNG, which has
  /// one picture. `isCut`: the file ends before its last page.
  public static func pages(_ bytes: Span<UInt8>) -> (pages: [Page], isCut: Bool) {
    guard !isJPEG(bytes), let first = TIFFDirectory(bytes),
      first.integer(.dngVersion, in: bytes) == nil
    else { return ([], false) }
    let (found, isCut) = TIFFDirectory.pages(of: bytes)
    let pages = found.map {
      Page(
        start: $0.start, isFirst: $0.start == first.start,
        orientation: $0.directory.integer(.orientation, in: bytes).flatMap {
          UInt8(exactly: $0).flatMap { Orientation(rawValue: $0) }
        } ?? .upright, unread: unread($0.directory, bytes))
    }
    return (pages, isCut)
  }

  /// Makes a page the first of the file, which is the one that libavcodec decodes.
  public static func show(_ page: Page, in bytes: inout MutableSpan<UInt8>) {
    TIFFDirectory.showPage(at: page.start, in: &bytes)
  }

  private static func unread(_ directory: TIFFDirectory, _ bytes: Span<UInt8>) -> String? {
    if directory.integer(.tileOffsets, in: bytes) != nil { return "a TIFF in tiles" }
    switch directory.integer(.compression, in: bytes) {
    case 6, 7: return "a TIFF compressed as JPEG"
    default: break
    }
    return directory.integer(.fillOrder, in: bytes) == 2
      ? "a TIFF whose bits lie in reverse order" : nil
  }

  /// Where a TIFF structure lies: EXIF's, or the whole file.
  static func tiffRange(in bytes: Span<UInt8>) -> Range<Int>? {
    if isJPEG(bytes) {
      // Behind the marker, the length, "Exif" and two zeros.
      guard let segment = CameraStill.exif(in: bytes), segment.count > 10 else { return nil }
      return segment.lowerBound + 10..<segment.upperBound
    }
    if isPNG(bytes) { return chunk("eXIf", of: bytes) }
    if begins(bytes, Array("RIFF".utf8)) { return webPExif(bytes) }
    return 0..<bytes.count
  }

  private static func isPNG(_ bytes: Span<UInt8>) -> Bool {
    begins(bytes, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
  }

  /// Finds the contents of the first chunk of that name in a PNG. A chunk has a length, four letters,
  /// contents and a checksum of four bytes (PNG, third edition, 5.3).
  private static func chunk(
    _ name: String, of bytes: Span<UInt8>, before end: String = "IEND"
  ) -> Range<Int>? {
    let (letters, last) = (Array(name.utf8), Array(end.utf8))
    var place = 8
    while place <= bytes.count - 12 {
      let length = (0..<4).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }
      guard length <= bytes.count - place - 12 else { return nil }
      let start = place + 8
      let found = bytes.extracting(place + 4..<start)
      if begins(found, letters) { return start..<start + length }
      if begins(found, last) { return nil }
      place = start + length + 4
    }
    return nil
  }

  /// Finds EXIF in a WebP. A chunk has four letters, a length, contents, and a byte where the length is
  /// odd (RFC 9649, 2.3 and 2.7.1.5). Some programs write "Exif" and two zeros before it, as JPEGs have.
  private static func webPExif(_ bytes: Span<UInt8>) -> Range<Int>? {
    var place = 12
    while place <= bytes.count - 8 {
      let length = (0..<4).reduce(0) { $0 | Int(bytes[place + 4 + $1]) << (8 * $1) }
      guard length <= bytes.count - place - 8 else { return nil }
      let start = place + 8
      if begins(bytes.extracting(place..<start), Array("EXIF".utf8)) {
        let contents = bytes.extracting(start..<start + length)
        return start + (begins(contents, Array("Exif\0\0".utf8)) ? 6 : 0)..<start + length
      }
      place = start + length + length % 2
    }
    return nil
  }

  private static func begins(_ bytes: Span<UInt8>, _ start: [UInt8]) -> Bool {
    bytes.count >= start.count && start.indices.allSatisfy { bytes[$0] == start[$0] }
  }
}
