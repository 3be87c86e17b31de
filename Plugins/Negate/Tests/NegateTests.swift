import Negate
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

private func negative(_ frame: TestFrame) throws -> [[UInt8]] {
  var stage = try StageUnderTest(Negate(), for: frame)
  let shown = stage.process(frame)
  expectEqual(shown.verdict, .keep)
  return try #require(shown.picture).planes
}

@Test func isWhiteMinusEachSampleInEveryPlane() throws {
  let frame = TestFrame(.i420, width: 2, height: 2, planes: [[0, 16, 128, 255], [18], [52]])
  try expectEqual(negative(frame), [[255, 239, 127, 0], [237], [203]])
}

@Test func tenBitWordsStayWithinTenBits() throws {
  // 0, 1, 1023 and 512, low byte first.
  let words: [UInt8] = [0, 0, 1, 0, 0xFF, 3, 0, 2]
  let frame = TestFrame(.y10, width: 4, height: 1, planes: [words])
  // 1023, 1022, 0 and 511.
  try expectEqual(negative(frame), [[0xFF, 3, 0xFE, 3, 0, 0, 0xFF, 1]])
}

@Test func equalsItsSlowTwinInEveryFormatAndSizeAndAllocatesNothing() throws {
  let difference = try StageUnderTest.firstDifference(of: Negate()) { shown in
    guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
    guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
    return picture.difference(
      from: seen.planes.map { slowNegative($0, picture.format.pixelFormat) })
  }
  expectNil(difference)
}

/// White minus each sample, one by one.
private func slowNegative(_ bytes: [UInt8], _ format: PixelFormat) -> [UInt8] {
  guard format.isDeep else { return bytes.map { 255 - $0 } }
  let white = (1 << format.bitsPerSample) - 1
  return stride(from: 0, to: bytes.count, by: 2).flatMap { at in
    let word = white - (Int(bytes[at]) + 256 * Int(bytes[at + 1]))
    return [UInt8(word % 256), UInt8(word / 256)]
  }
}

@Test func workersDoNotChangeIt() throws {
  let pictures = (0..<20).map { TestFrame(.i420, width: 34, height: 18, .random, seed: $0 + 1) }
  try expectNil(TestRun.firstDifference(through: [.negate()]) { TestCamera(pictures) })
}

@Test(
  .enabled(if: Tool.find("ffmpeg") != nil, "ffmpeg is absent"),
  arguments: [
    (PixelFormat.i420, "yuv420p"), (.grey, "gray"), (.y16, "gray16le"),
    (.yuv420p10, "yuv420p10le"), (.yuv444p12, "yuv444p12le"),
  ])
func equalsFFmpegsNegate(_ format: PixelFormat, name: String) throws {
  let count = format.byteCount(width: 34, height: 17)
  let source = "nullsrc=s=34x17,format=\(name),geq=lum='mod(X*7+Y*13,256)':cb='X*5':cr='Y*3'"
  func frame(_ filter: String) throws -> [UInt8] {
    try Tool.run(
      "ffmpeg",
      ["-v", "error", "-f", "lavfi", "-i", source + filter, "-frames:v", "1"]
        + ["-pix_fmt", name, "-f", "rawvideo", "-"])
  }
  var bytes = try frame("")[...]
  expectEqual(bytes.count, count)
  let planes = (0..<format.planeCount).map { index in
    let size = format.plane(index, width: 34, height: 17)
    defer { bytes = bytes.dropFirst(size.bytesPerRow * size.rows) }
    return [UInt8](bytes.prefix(size.bytesPerRow * size.rows))
  }
  let picture = TestFrame(format, width: 34, height: 17, planes: planes)
  try expectEqual(negative(picture).flatMap { $0 }, frame(",negate"))
}
