import Negate
import SprocketCore
import TestSupport
import Testing

private func negative(_ frame: TestFrame) throws -> [[UInt8]] {
  var frame = frame
  var stage = try StageUnderTest(Negate(), for: frame)
  #expect(stage.process(&frame).verdict == .keep)
  return frame.planes
}

@Test func isWhiteMinusEachSampleInEveryPlane() throws {
  let frame = TestFrame(.i420, width: 2, height: 2, planes: [[0, 16, 128, 255], [18], [52]])
  #expect(try negative(frame) == [[255, 239, 127, 0], [237], [203]])
}

@Test func tenBitWordsStayWithinTenBits() throws {
  // 0, 1, 1023 and 512, low byte first.
  let words: [UInt8] = [0, 0, 1, 0, 0xFF, 3, 0, 2]
  let frame = TestFrame(.y10, width: 4, height: 1, planes: [words])
  // 1023, 1022, 0 and 511.
  #expect(try negative(frame) == [[0xFF, 3, 0xFE, 3, 0, 0, 0xFF, 1]])
}

@Test(arguments: TestPattern.allCases)
func equalsItsSlowTwin(_ pattern: TestPattern) throws {
  for (width, height) in [(1, 1), (2, 2), (3, 3), (17, 5), (32, 2), (101, 7)] {
    let frame = picture(width, height, pattern)
    #expect(try negative(frame) == frame.planes.map { $0.map { 255 - $0 } })
  }
}

/// A 4:2:0 picture.
private func picture(_ width: Int, _ height: Int, _ pattern: TestPattern) -> TestFrame {
  let planes = (0..<3).map { index in
    let size = PixelFormat.i420.plane(index, width: width, height: height)
    return pattern.bytes(size.bytesPerRow * size.rows, seed: UInt64(index + 1))
  }
  return TestFrame(.i420, width: width, height: height, planes: planes)
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
  #expect(bytes.count == count)
  let planes = (0..<format.planeCount).map { index in
    let size = format.plane(index, width: 34, height: 17)
    defer { bytes = bytes.dropFirst(size.bytesPerRow * size.rows) }
    return [UInt8](bytes.prefix(size.bytesPerRow * size.rows))
  }
  let picture = TestFrame(format, width: 34, height: 17, planes: planes)
  #expect(try negative(picture).flatMap { $0 } == frame(",negate"))
}
