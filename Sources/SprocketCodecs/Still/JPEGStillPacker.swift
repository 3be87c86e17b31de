public import SprocketCore
internal import SprocketJPEG
internal import SprocketTIFF

/// Makes JPEG files with EXIF. Of frames that are encoded it makes the whole file; of a camera's own JPEG
/// only what comes before the image (`CameraStill`), so that its bytes are not copied.
///
/// One instance serves one thread. Memory is allocated when it is made.
public final class JPEGStillPacker: Packer {
  /// Most bytes before the image: two markers (4) and the largest segment (65,535), rounded up to even.
  public static let headRoom = 2 + 2 + 65_535 + 1

  private let packer: JPEGPacker?
  private let thumbnail: StillThumbnail?
  private var exif: ExifWriter
  private var tiff = TIFFWriter(capacity: 65_535 - 2 - 6)

  /// `needs` are those of frames that are encoded; `nil` for a camera's own JPEGs. With `turn` each file gets
  /// the orientation that it has then.
  public init(
    _ needs: JPEGPacker.Requirements?, quality: Int, origin: FrameOrigin, _ format: FrameFormat,
    hasThumbnail: Bool, turn: OrientationSetting? = nil
  ) throws(RunError) {
    packer = if let needs { try JPEGPacker(needs, quality: quality) } else { nil }
    let subsampling = needs?.subsampling ?? format.image?.subsampling
    thumbnail =
      hasThumbnail
      ? subsampling.flatMap {
        StillThumbnail(width: format.width, height: format.height, $0)
      } : nil
    exif = ExifWriter(StillFacts(origin, format, turn: turn))
  }

  public func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    guard let packer else {
      writeExif(frame, of: frame.encoded)
      return writeHead(&bytes)
    }
    let start = Self.headRoom
    var rest = bytes._mutatingExtracting(start..<bytes.count)
    guard let count = packer.pack(frame, into: &rest) else { return nil }
    writeExif(frame, of: bytes.span.extracting(start..<start + count))
    let head = writeHead(&bytes)
    for index in 2..<count { bytes[head + index - 2] = bytes[start + index] }
    return head + count - 2
  }

  private func writeExif(_ frame: borrowing FrameView, of jpeg: Span<UInt8>) {
    // Behind the marker, the length, "Exif" and two zeros.
    let segment = CameraStill.exif(in: jpeg) ?? 0..<0
    let own = jpeg.extracting(min(segment.lowerBound + 10, segment.upperBound)..<segment.upperBound)
    let header = TIFFHeader(own)
    let links = exif.begin(frame, &tiff, own: header, in: own)
    let link = tiff.endDirectory()
    exif.addExif(frame, &tiff, linkedAt: links.exif, .jpeg)
    thumbnail?.make(of: jpeg) { small in addThumbnail(small, linkedAt: link) }
  }

  private func addThumbnail(_ small: Span<UInt8>, linkedAt link: Int) {
    guard !small.isEmpty, small.count < tiff.memory.count - tiff.count - 128 else { return }
    tiff.beginDirectory(room: 6, linkedAt: link)
    tiff.add(.compression, short: 6)
    tiff.add(.xResolution, 72, over: 1)
    tiff.add(.yResolution, 72, over: 1)
    tiff.add(.resolutionUnit, short: 2)
    let place = tiff.add(.jpegOffset, long: 0)
    tiff.add(.jpegByteCount, long: UInt32(small.count))
    tiff.endDirectory()
    if let start = tiff.append(small) { tiff.set(UInt32(start), at: place) }
  }

  /// Start of image, and EXIF's segment. Returns the number of bytes.
  private func writeHead(_ bytes: inout MutableSpan<UInt8>) -> Int {
    let length = 2 + 6 + tiff.count
    // Two markers, the length, "Exif" and two zeros.
    bytes[0] = 0xFF
    bytes[1] = 0xD8
    bytes[2] = 0xFF
    bytes[3] = 0xE1
    bytes[4] = UInt8(truncatingIfNeeded: length >> 8)
    bytes[5] = UInt8(truncatingIfNeeded: length)
    bytes[6] = 0x45
    bytes[7] = 0x78
    bytes[8] = 0x69
    bytes[9] = 0x66
    bytes[10] = 0
    bytes[11] = 0
    tiff.copy(to: &bytes, at: 12)
    return 12 + tiff.count
  }
}

/// A camera's own JPEG as a file: what a ``JPEGStillPacker`` made in place of its first two bytes, and the
/// rest, without a segment of EXIF that the camera wrote.
public enum CameraStill {
  /// Where a segment of EXIF lies in a JPEG, with its marker; `nil` where there is none.
  public static func exif(in jpeg: Span<UInt8>) -> Range<Int>? { JPEGStructure.exif(in: jpeg) }

  /// The small JPEG in a JPEG's EXIF; `nil` where there is none.
  public static func thumbnail(in jpeg: [UInt8]) -> [UInt8]? {
    guard let exif = exif(in: jpeg.span) else { return nil }
    let segment = Array(jpeg[exif])
    let start = segment.indices.dropLast(2).first {
      segment[$0] == 0xFF && segment[$0 + 1] == 0xD8 && segment[$0 + 2] == 0xFF
    }
    return start.map { Array(segment[$0...]) }
  }
}
