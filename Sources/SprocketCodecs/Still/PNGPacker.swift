internal import Glibc
internal import SprocketCore
internal import SprocketDeflate
internal import SprocketTIFF

/// Makes PNG files with EXIF (`eXIf`) and the number of significant bits (`sBIT`).
///
/// Source: W3C, Portable Network Graphics (PNG) Specification, third edition.
///
/// One instance serves one thread. Memory is allocated when it is made.
@safe
final class PNGPacker: Packer {
  /// Of 12; 6 is zlib's usual. Larger: smaller files, and slower.
  private static let level: Int32 = 4
  /// Bytes of a file besides its pixels.
  private static let room = 8192

  private let raster: StillRaster
  private let writer: StillRasterWriter
  private let compressor: ZlibCompressor
  private var exif: ExifWriter
  private var tiff = TIFFWriter(capacity: ExifWriter.room + 1024)
  /// Pixels, and behind them filtered rows.
  private let memory: UnsafeMutablePointer<UInt8>

  static func capacity(_ raster: StillRaster) -> Int {
    ZlibCompressor.mostBytes(for: filteredCount(raster)) + room
  }

  static func workingBytes(_ raster: StillRaster) -> Int {
    raster.workingBytes + raster.byteCount + filteredCount(raster)
  }

  private static func filteredCount(_ raster: StillRaster) -> Int {
    raster.byteCount + raster.height
  }

  init(_ raster: StillRaster, _ facts: StillFacts) throws(RunError) {
    let count = raster.byteCount + Self.filteredCount(raster)
    guard let compressor = ZlibCompressor(level: Self.level),
      let memory = unsafe pictureMemory(count)
    else {
      throw RunError(
        .failed, "no memory to make PNG files; use a smaller size or fewer workers",
        change: .size, .workers)
    }
    unsafe self.memory = unsafe memory
    self.raster = raster
    self.compressor = compressor
    writer = StillRasterWriter(raster)
    exif = ExifWriter(facts)
  }

  deinit { unsafe free(memory) }

  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    var pixels = unsafe MutableSpan(_unsafeStart: memory, count: raster.byteCount)
    guard writer.write(frame, into: &pixels) else { return nil }
    filter()
    let links = exif.begin(frame, &tiff)
    tiff.endDirectory()
    exif.addExif(frame, &tiff, linkedAt: links.exif, .png)
    return writeFile(&bytes)
  }

  private func writeFile(_ bytes: inout MutableSpan<UInt8>) -> Int? {
    var file = PNGFile()
    file.begin(&bytes)
    file.beginChunk("IHDR", &bytes)
    file.append(UInt32(raster.width), &bytes)
    file.append(UInt32(raster.height), &bytes)
    file.append(UInt8(raster.bits), &bytes)
    // Grey, or red, green and blue; deflate, the standard filters, not interlaced.
    file.append(raster.samples == 1 ? UInt8(0) : 2, &bytes)
    for _ in 0..<3 { file.append(UInt8(0), &bytes) }
    file.endChunk(&bytes)
    file.beginChunk("sBIT", &bytes)
    for _ in 0..<raster.samples { file.append(UInt8(raster.significantBits), &bytes) }
    file.endChunk(&bytes)
    file.beginChunk("eXIf", &bytes)
    tiff.copy(to: &bytes, at: file.count)
    file.skip(tiff.count)
    file.endChunk(&bytes)
    file.beginChunk("IDAT", &bytes)
    let rows = unsafe Span(
      _unsafeStart: UnsafePointer(memory + raster.byteCount), count: Self.filteredCount(raster))
    var rest = bytes._mutatingExtracting(file.count..<bytes.count - 16)
    guard let count = compressor.compress(rows, into: &rest) else { return nil }
    file.skip(count)
    file.endChunk(&bytes)
    file.beginChunk("IEND", &bytes)
    file.endChunk(&bytes)
    return file.count
  }

  /// Each row becomes differences to what Paeth's predictor says (filter 4), which photographs compress best
  /// with; words become big-endian.
  private func filter() {
    let step = raster.samples * raster.bits / 8
    let rowCount = step * raster.width
    if raster.bits == 16 { swapBytes() }
    let pixels = unsafe Span(_unsafeStart: UnsafePointer(memory), count: raster.byteCount)
    var filtered = unsafe MutableSpan(
      _unsafeStart: memory + raster.byteCount, count: Self.filteredCount(raster))
    for y in 0..<raster.height {
      let row = pixels.extracting(y * rowCount..<(y + 1) * rowCount)
      let start = y * (rowCount + 1)
      var target = filtered._mutatingExtracting(start..<start + rowCount + 1)
      // The first row has nothing above: differences to the left (filter 1).
      target[0] = y == 0 ? 1 : 4
      let above = pixels.extracting(max(0, y - 1) * rowCount..<max(1, y) * rowCount)
      for x in 0..<step { target[1 + x] = y == 0 ? row[x] : row[x] &- above[x] }
      if y == 0 {
        for x in step..<max(step, rowCount) { target[1 + x] = row[x] &- row[x - step] }
      } else {
        predict(row, above, step, into: &target)
      }
    }
  }

  private func predict(
    _ row: Span<UInt8>, _ above: Span<UInt8>, _ step: Int, into target: inout MutableSpan<UInt8>
  ) {
    let count = row.count
    precondition(above.count == count && target.count == count + 1)
    for x in step..<max(step, count) {
      let (a, b, c) = (Int16(row[x - step]), Int16(above[x]), Int16(above[x - step]))
      let (fromA, fromB, fromC) = (abs(b &- c), abs(a &- c), abs(a &+ b &- c &- c))
      let predicted = fromA <= fromB && fromA <= fromC ? a : fromB <= fromC ? b : c
      target[1 + x] = row[x] &- UInt8(truncatingIfNeeded: predicted)
    }
  }

  private func swapBytes() {
    var pixels = unsafe MutableSpan(_unsafeStart: memory, count: raster.byteCount)
    for index in 0..<pixels.count / 2 {
      let low = pixels[2 * index]
      pixels[2 * index] = pixels[2 * index + 1]
      pixels[2 * index + 1] = low
    }
  }
}

/// The structure of a PNG file: its signature, and chunks with their length and checksum.
struct PNGFile {
  private(set) var count = 0
  private var chunk = 0

  mutating func begin(_ bytes: inout MutableSpan<UInt8>) {
    append(0x8950_4E47 as UInt32, &bytes)
    append(0x0D0A_1A0A as UInt32, &bytes)
  }

  mutating func beginChunk(_ name: StaticString, _ bytes: inout MutableSpan<UInt8>) {
    chunk = count
    append(0 as UInt32, &bytes)
    for index in 0..<4 { append(unsafe name.utf8Start[index], &bytes) }
  }

  mutating func endChunk(_ bytes: inout MutableSpan<UInt8>) {
    var checksum = CRC32()
    checksum.update(bytes.span.extracting(chunk + 4..<count))
    let end = count
    count = chunk
    append(UInt32(end - chunk - 8), &bytes)
    count = end
    append(checksum.value, &bytes)
  }

  mutating func append(_ byte: UInt8, _ bytes: inout MutableSpan<UInt8>) {
    bytes[count] = byte
    count += 1
  }

  /// Big-endian.
  mutating func append(_ number: UInt32, _ bytes: inout MutableSpan<UInt8>) {
    for index in 0..<4 { append(UInt8(truncatingIfNeeded: number >> (24 - 8 * index)), &bytes) }
  }

  /// Skips bytes that the caller wrote.
  mutating func skip(_ bytes: Int) { count += bytes }
}
