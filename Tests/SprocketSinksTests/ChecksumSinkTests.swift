import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

@Suite struct ChecksumSinkTests {
  static let format = FrameFormat(
    pixelFormat: .i420, width: 5, height: 3, color: .jpeg, rate: FrameRate(frames: 30))

  /// Digests of frames with these bytes: the file's text and the run's.
  func digests(
    _ format: FrameFormat, _ frames: [[UInt8]], padding: Int = 0
  ) throws -> (lines: String, run: String) {
    let scratch = try Scratch()
    let sink = ChecksumSink(path: scratch.path("sums"))
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    expectEqual(setup.packedCapacity, 16)
    expectEqual(setup.parts, (format.image == nil ? .encoded : .image))
    let packers = [sink.makePacker(), sink.makePacker()]
    for (index, bytes) in frames.enumerated() {
      let frame = SinkFrame(format, bytes, padding: padding)
      frame.record.sequence = UInt64(index + 10)
      try frame.write(to: sink, packer: packers[index % 2])
    }
    try sink.finish()
    return (try scratch.text("sums"), sink.runDigest)
  }

  @Test(arguments: [0, 7]) func pythonFindsTheSameDigests(padding: Int) throws {
    // Luma 5x3, chroma 3x2: 27 bytes.
    let frames = [Array(UInt8(0)..<27), Array(UInt8(100)..<127), TestPattern.full.bytes(27)]
    let found = try digests(Self.format, frames, padding: padding)
    let program = """
      import xxhash
      run = xxhash.xxh3_128()
      for number, planes in enumerate([bytes(range(27)), bytes(range(100, 127)), b"\\xff" * 27]):
        frame = xxhash.xxh3_128(planes)
        run.update(frame.digest())
        print(number + 10, frame.hexdigest())
      print(run.hexdigest())
      """
    let expected = String(decoding: try Tool.run("python3", ["-c", program]), as: UTF8.self)
    expectEqual(found.lines + found.run + "\n", expected)
  }

  @Test func knownDigestOfNothing() throws {
    // `xxhsum -H2 /dev/null`, and the value in xxHash's own sanity test.
    expectEqual(ChecksumSink().runDigest, "99aa06d3014798d86001c324468d497f")
  }

  @Test func takesTheSourcesBytesWhereThereIsNoPicture() throws {
    let bayer = FrameFormat(
      pixelFormat: .bayerRGGB, width: 9, height: 3, color: .jpeg, rate: .unknown)
    let bytes = Array(UInt8(0)..<27)
    let first = try digests(bayer, [bytes])
    let second = try digests(Self.format, [bytes])
    expectEqual(first.lines, second.lines)
    expectEqual(first.run, second.run)
  }

  @Test func seesOneByteAndTheOrder() throws {
    var bytes = TestPattern.ramp.bytes(27)
    let first = try digests(Self.format, [bytes, TestPattern.zeros.bytes(27)])
    let swapped = try digests(Self.format, [TestPattern.zeros.bytes(27), bytes])
    bytes[26] ^= 1
    let changed = try digests(Self.format, [bytes, TestPattern.zeros.bytes(27)])
    expectEqual(Set([first.run, swapped.run, changed.run]).count, 3)
  }
}
