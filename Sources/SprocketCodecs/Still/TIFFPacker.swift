internal import SprocketCore
internal import SprocketTIFF

/// Makes TIFF files: one uncompressed strip of pixels behind the directories.
///
/// One instance serves one thread. Memory is allocated when it is made.
final class TIFFPacker: Packer {
  /// Where pixels begin. A whole page, so that writers may store aligned numbers there.
  private static let start = 4096

  private let raster: StillRaster
  private let writer: StillRasterWriter
  private var exif: ExifWriter
  private var tiff = TIFFWriter(capacity: start)

  static func capacity(_ raster: StillRaster) -> Int { start + raster.byteCount }

  init(_ raster: StillRaster, _ facts: StillFacts) {
    self.raster = raster
    writer = StillRasterWriter(raster)
    exif = ExifWriter(facts)
  }

  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    var pixels = bytes._mutatingExtracting(Self.start..<Self.start + raster.byteCount)
    guard writer.write(frame, into: &pixels) else { return nil }
    let strip = ExifWriter.Strip(
      width: raster.width, height: raster.height, bits: raster.bits, samples: raster.samples,
      offset: Self.start)
    let links = exif.begin(frame, &tiff, strip: strip)
    tiff.endDirectory()
    exif.addExif(frame, &tiff, linkedAt: links.exif, .tiff)
    tiff.copy(to: &bytes, filledUpTo: Self.start)
    return Self.start + raster.byteCount
  }
}

extension TIFFWriter {
  /// Copies the structure to the start of `bytes`, and zeros up to `end`.
  func copy(to bytes: inout MutableSpan<UInt8>, filledUpTo end: Int) {
    copy(to: &bytes)
    for index in min(count, end)..<end { bytes[index] = 0 }
  }
}
