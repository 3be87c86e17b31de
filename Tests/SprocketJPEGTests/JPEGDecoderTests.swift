import SprocketJPEG
import SprocketPixels
import TestExpectations
import TestSupport
import Testing

@Suite struct JPEGDecoderTests {
  @Test(.enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)))
  func decodesACameraFrameWithoutHuffmanTablesAsFFmpegDoes() throws {
    try #require(Tool.find("ffmpeg") != nil)
    let jpeg = try TestData.bytes("mjpeg/mjpeg.jpg")
    var decoder = try JPEGDecoder()
    let header = try decoder.header(jpeg.span)
    expectEqual(header.width, 960)
    expectEqual(header.height, 720)
    expectEqual(header.subsampling, .yuv422)
    var image = TestImage(.yuv422, width: 960, height: 720, padding: 5)
    try image.decode(jpeg, with: &decoder)
    // FFmpeg's own transform is not libjpeg's: samples may differ by a level or so.
    let expected = try Tool.run(
      "ffmpeg",
      [
        "-flags", "bitexact", "-i", TestData.path("mjpeg/mjpeg.jpg"), "-pix_fmt", "yuvj422p", "-f",
        "rawvideo", "-",
      ])
    var offset = 0
    for plane in 0..<3 {
      let (columns, rows) = (plane == 0 ? 960 : 480, 720)
      let (worst, total) = difference(
        image.planes[plane], stride: image.strides[plane], expected, offset: offset, columns, rows)
      expectAtMost(worst, 3)
      expectLess(Double(total) / Double(columns * rows), 0.5)
      offset += columns * rows
    }
    try expectEqual(decodeLuma(jpeg, width: 960, height: 720, with: &decoder), image.luma)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)),
    arguments: [
      ("mjpeg/mjpeg.jpg", 960, 720), ("mjpeg/test.mjpeg", 640, 480),
      ("mjpeg/multiple-0xff-before-eoi.jpg", 640, 480),
    ])
  func takesRealCameraFramesAsUndamaged(name: String, width: Int, height: Int) throws {
    var decoder = try JPEGDecoder()
    let jpeg = try TestData.bytes(name)
    _ = try decodeLuma(jpeg, width: width, height: height, with: &decoder)
    _ = try decodeLuma(jpeg, width: width, height: height, scale: .eighth, with: &decoder)
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)),
    arguments: JPEGScale.allCases)
  func scaledLumaIsNearTheBoxMean(scale: JPEGScale) throws {
    let jpeg = try TestData.bytes("mjpeg/test.mjpeg")
    var decoder = try JPEGDecoder()
    let full = try decodeLuma(jpeg, width: 640, height: 480, with: &decoder)
    let scaled = try decodeLuma(jpeg, width: 640, height: 480, scale: scale, with: &decoder)
    let side = scale.rawValue
    var (worst, total) = (0.0, 0.0)
    for y in 0..<480 / side {
      for x in 0..<640 / side {
        var sum = 0
        for dy in 0..<side {
          for dx in 0..<side { sum += Int(full[(y * side + dy) * 640 + x * side + dx]) }
        }
        let error = abs(Double(sum) / Double(side * side) - Double(scaled[y * (640 / side) + x]))
        worst = max(worst, error)
        total += error
      }
    }
    let mean = total / Double(640 / side * (480 / side))
    print("luma at 1/\(side): worst \(worst), mean \(mean) levels from the box mean")
    if scale == .full { expectEqual(worst, 0) }
    if scale == .eighth { expectAtMost(worst, 1.5) }
    expectLess(mean, 1)
  }

  @Test(arguments: ChromaSubsampling.allCases, [(64, 48), (37, 29), (16, 1), (1, 1), (130, 7)])
  func returnsWhatWasEncodedAtOddSizesAndWideStrides(
    subsampling: ChromaSubsampling, size: (Int, Int)
  ) throws {
    let source = TestImage.smooth(subsampling, width: size.0, height: size.1, padding: 11)
    let jpeg = try source.encoded(quality: 100)
    let structure = try JPEGStructure(jpeg.span)
    expectEqual(structure.width, size.0)
    expectEqual(structure.height, size.1)
    expectEqual(structure.subsampling, subsampling)
    expectEqual(structure.byteCount, jpeg.count)
    expectTrue(structure.hasHuffmanTables)

    var decoder = try JPEGDecoder()
    var image = TestImage(subsampling, width: size.0, height: size.1, padding: 3)
    try image.decode(jpeg, with: &decoder)
    for plane in 0..<subsampling.planeCount {
      for row in 0..<subsampling.planeHeight(plane, imageHeight: size.1) {
        let columns = subsampling.planeWidth(plane, imageWidth: size.0)
        for column in 0..<columns {
          let was = Int(source.planes[plane][row * source.strides[plane] + column])
          let now = Int(image.planes[plane][row * image.strides[plane] + column])
          expectAtMost(abs(was - now), 3)
        }
        for column in columns..<image.strides[plane] {
          expectEqual(image.planes[plane][row * image.strides[plane] + column], 0xEE)
        }
      }
    }
    for scale in JPEGScale.allCases {
      let luma = try decodeLuma(
        jpeg, width: size.0, height: size.1, scale: scale, padding: 2, with: &decoder)
      let columns = scale.scaled(size.0)
      for row in 0..<scale.scaled(size.1) {
        expectEqual(luma[row * (columns + 2) + columns], 0xEE)
      }
    }
  }

  @Test func refusesAnImageOfAnotherSizeOrSubsampling() throws {
    let jpeg = try TestImage.smooth(.yuv422, width: 64, height: 32).encoded(quality: 90)
    var decoder = try JPEGDecoder()
    #expect(throws: JPEGError.unexpectedImage(width: 64, height: 32)) {
      _ = try decodeLuma(jpeg, width: 128, height: 64, with: &decoder)
    }
    var other = TestImage(.yuv420, width: 64, height: 32)
    #expect(throws: JPEGError.unexpectedImage(width: 64, height: 32)) {
      try other.decode(jpeg, with: &decoder)
    }
  }

  @Test func goesOnAfterADamagedImage() throws {
    let jpeg = try TestImage.smooth(.yuv420, width: 320, height: 240).encoded(quality: 90)
    let cut = Array(jpeg[..<(jpeg.count / 2)])
    var decoder = try JPEGDecoder()
    for _ in 0..<3 {
      #expect(throws: JPEGError.damagedData) {
        _ = try decodeLuma(cut, width: 320, height: 240, with: &decoder)
      }
      #expect(throws: JPEGError.self) {
        _ = try decodeLuma([0xFF, 0xD8, 0xFF, 0xD9], width: 320, height: 240, with: &decoder)
      }
      _ = try decodeLuma(jpeg, width: 320, height: 240, with: &decoder)
    }
  }

  @Test func refusesABufferThatMightBeTooSmall() throws {
    let needed = try #require(
      JPEGEncoder.maximumSize(width: 64, height: 48, subsampling: .yuv420))
    expectAtLeast(needed, 64 * 48 * 3 / 2)
    expectNil(JPEGEncoder.maximumSize(width: 65501, height: 1, subsampling: .gray))
    let samples = TestBuffer(repeating: 128, count: 64 * 48)
    defer { withExtendedLifetime(samples) {} }
    var output = [UInt8](repeating: 0, count: needed - 1)
    var encoder = try JPEGEncoder()
    let plane = unsafe PlaneBytes(UnsafeBufferPointer(samples.memory), stride: 64)
    var span = output.mutableSpan
    #expect(throws: JPEGError.bufferTooSmall(needed: needed)) {
      _ = try encoder.encode(
        width: 64, height: 48, subsampling: .yuv420, y: plane, u: plane, v: plane, quality: 90,
        into: &span)
    }
  }
}

extension TestImage {
  /// Luma without padding.
  var luma: [UInt8] {
    (0..<height).flatMap { row in planes[0][row * strides[0]..<row * strides[0] + width] }
  }
}

/// The largest and the summed difference of two planes.
private func difference(
  _ a: [UInt8], stride: Int, _ b: [UInt8], offset: Int, _ columns: Int, _ rows: Int
) -> (worst: Int, total: Int) {
  var (worst, total) = (0, 0)
  for row in 0..<rows {
    for column in 0..<columns {
      let error = abs(Int(a[row * stride + column]) - Int(b[offset + row * columns + column]))
      worst = max(worst, error)
      total += error
    }
  }
  return (worst, total)
}
