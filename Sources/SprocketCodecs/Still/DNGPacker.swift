internal import SprocketCore
internal import SprocketTIFF

/// Makes DNG files of a Bayer sensor's mosaics: a preview, EXIF, and the samples as they came, uncompressed.
/// Source: Adobe, Digital Negative Specification 1.4.
///
/// The camera's colours are not known: its matrix is that of a camera whose colours are sRGB's, in daylight.
///
/// One instance serves one thread. Memory is allocated when it is made.
final class DNGPacker: Packer {
  private let mosaic: MosaicStill
  private var exif: ExifWriter
  private let device: [UInt8]
  private var tiff: TIFFWriter
  private var preview: [UInt8]
  private var sums: [Int]
  private var counts: [Int]
  private let start: Int

  /// From CIE XYZ to linear sRGB (IEC 61966-2-1).
  private static let colorMatrix = [
    3.2404542, -1.5371385, -0.4985314, -0.969266, 1.8760108, 0.041556, 0.0556434, -0.2040259,
    1.0572252,
  ]

  /// Where samples begin: a whole page.
  private static func start(_ mosaic: MosaicStill) -> Int {
    (4096 + 2 * mosaic.curve.count + mosaic.previewBytes + 4095) / 4096 * 4096
  }

  static func capacity(_ mosaic: MosaicStill) -> Int { start(mosaic) + mosaic.byteCount }

  init(_ mosaic: MosaicStill, _ facts: StillFacts) {
    self.mosaic = mosaic
    exif = ExifWriter(facts)
    // Every DNG has a name of its camera (DNG 1.4, UniqueCameraModel).
    device = facts.device.isEmpty ? Array("unknown".utf8) : facts.device
    start = Self.start(mosaic)
    tiff = TIFFWriter(capacity: start)
    preview = [UInt8](repeating: 0, count: mosaic.previewBytes)
    sums = [Int](repeating: 0, count: mosaic.previewBytes)
    counts = [Int](repeating: 0, count: mosaic.previewBytes)
    let neutral = [1 / mosaic.levels.red, 1, 1 / mosaic.levels.blue]
    self.neutral = neutral
  }

  private let neutral: [Double]

  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    let plane = frame.sourcePlane(0)
    guard plane.rows >= mosaic.height,
      plane.bytesPerRow >= mosaic.samples.bytesPerRow(width: mosaic.width)
    else { return nil }
    copySamples(plane, into: &bytes)
    makePreview(plane)
    writeDirectories(frame)
    tiff.copy(to: &bytes, filledUpTo: start)
    return start + mosaic.byteCount
  }

  private func copySamples(_ plane: borrowing Plane, into bytes: inout MutableSpan<UInt8>) {
    let width = mosaic.width
    for y in 0..<mosaic.height {
      let row = plane[row: y]
      let place = start + y * width * mosaic.bits / 8
      var target = bytes._mutatingExtracting(place..<place + width * mosaic.bits / 8)
      if mosaic.bits == 8 {
        for x in 0..<width { target[x] = row[x] }
      } else {
        for x in 0..<width {
          let sample = mosaic.sample(row, x)
          target[2 * x] = UInt8(truncatingIfNeeded: sample)
          target[2 * x + 1] = UInt8(truncatingIfNeeded: sample >> 8)
        }
      }
    }
  }

  /// Means of squares, colour by colour; of squares with many rows, of their first four.
  private func makePreview(_ plane: borrowing Plane) {
    let (width, height) = mosaic.preview
    let divisor = mosaic.divisor
    for index in sums.indices { (sums[index], counts[index]) = (0, 0) }
    for y in 0..<min(height * divisor, mosaic.height) where y % divisor < 4 {
      let row = plane[row: y]
      for x in 0..<min(width * divisor, mosaic.width) {
        let index = 3 * (y / divisor * width + x / divisor) + mosaic.color(x, y)
        sums[index] += Int(mosaic.sample(row, x))
        counts[index] += 1
      }
    }
    for index in preview.indices {
      let mean = Double(sums[index]) / Double(max(1, counts[index]))
      preview[index] = mosaic.previewLevel(mean, index % 3)
    }
  }

  private func writeDirectories(_ frame: borrowing FrameView) {
    let (width, height) = mosaic.preview
    let strip = ExifWriter.Strip(
      subfile: 1, width: width, height: height, bits: 8, samples: 3, offset: 0)
    let links = exif.begin(frame, &tiff, strip: strip, hasSubIFD: true)
    addVersion(.dngVersion, 4)
    addVersion(.dngBackwardVersion, 1)
    let (device, preview) = (device, preview)
    tiff.add(.uniqueCameraModel, text: device.span)
    tiff.add(.colorMatrix1, fractions: Self.colorMatrix, isSigned: true)
    tiff.add(.asShotNeutral, fractions: neutral, isSigned: false)
    // D65.
    tiff.add(.calibrationIlluminant1, short: 21)
    tiff.endDirectory()
    exif.addExif(frame, &tiff, linkedAt: links.exif, .dng)
    writeMosaic(linkedAt: links.subIFD)
    if let place = tiff.append(preview.span) { exif.setStrip(UInt32(place), &tiff) }
  }

  private func addVersion(_ tag: TIFFTag, _ minor: UInt8) {
    let version: InlineArray<4, UInt8> = [1, minor, 0, 0]
    tiff.add(tag, bytes: version.span, as: .byte)
  }

  private func writeMosaic(linkedAt link: Int) {
    tiff.beginDirectory(room: 20, linkedAt: link)
    tiff.add(.newSubfileType, long: 0)
    tiff.add(.imageWidth, long: UInt32(mosaic.width))
    tiff.add(.imageLength, long: UInt32(mosaic.height))
    tiff.add(.bitsPerSample, short: UInt16(mosaic.bits))
    tiff.add(.compression, short: 1)
    // A mosaic of colour filters.
    tiff.add(.photometricInterpretation, short: 32_803)
    tiff.add(.stripOffsets, long: UInt32(start))
    tiff.add(.samplesPerPixel, short: 1)
    tiff.add(.rowsPerStrip, long: UInt32(mosaic.height))
    tiff.add(.stripByteCounts, long: UInt32(mosaic.byteCount))
    tiff.add(.planarConfiguration, short: 1)
    tiff.add(.cfaRepeatPatternDim, shorts: Self.two)
    let (a, b, c, d) = mosaic.pattern
    let pattern: InlineArray<4, UInt8> = [a, b, c, d]
    tiff.add(.cfaPattern, bytes: pattern.span, as: .byte)
    let planes: InlineArray<3, UInt8> = [0, 1, 2]
    tiff.add(.cfaPlaneColor, bytes: planes.span, as: .byte)
    tiff.add(.cfaLayout, short: 1)
    if !mosaic.curve.isEmpty { tiff.add(.linearizationTable, shorts: mosaic.curve) }
    tiff.add(.blackLevel, long: UInt32(mosaic.blackLevel))
    tiff.add(.whiteLevel, long: UInt32(mosaic.whiteLevel))
    tiff.endDirectory()
  }

  private static let two: [UInt16] = [2, 2]
}
