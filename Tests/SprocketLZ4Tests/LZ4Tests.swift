import SprocketLZ4
import TestExpectations
import TestSupport
import Testing

@Suite struct LZ4Tests {
  static let blockSize = LZ4BlockCompressor.blockSize

  /// A whole frame of `content`, in blocks.
  static func frame(_ content: [UInt8]) -> [UInt8] {
    var compressor = LZ4BlockCompressor()
    var header = LZ4FrameHeader()
    var frame = [UInt8](
      repeating: 0xEE,
      count: LZ4FrameHeader.size + LZ4BlockCompressor.capacity(of: content.count) + 4)
    var end = LZ4FrameHeader.size
    var output = frame.mutableSpan
    header.write(contentSize: content.count, into: &output)
    for start in stride(from: 0, to: content.count, by: blockSize) {
      let piece = content.span.extracting(start..<min(start + blockSize, content.count))
      end = compressor.compress(piece, into: &output, at: end)
    }
    for index in 0..<4 { output[end + index] = 0 }
    return Array(frame[..<(end + 4)])
  }

  static func decoded(_ frame: [UInt8], room: Int) throws -> [UInt8] {
    var decoder = LZ4FrameDecoder()
    var output = [UInt8](repeating: 0, count: room)
    var span = output.mutableSpan
    let count = try decoder.decode(frame.span, into: &span)
    return Array(output[..<count])
  }

  @Test(arguments: TestPattern.allCases, [1, 12, 13, 4096, 131_072, 131_073, 400_000])
  func whatIsCompressedIsDecompressed(pattern: TestPattern, count: Int) throws {
    let content = pattern.bytes(count)
    let isSame = try Self.decoded(Self.frame(content), room: count) == content
    expectTrue(isSame)
  }

  @Test func pythonReadsTheFrame() throws {
    let content = TestPattern.ramp.bytes(300_000) + TestPattern.random.bytes(100_000)
    let file = try TestFile(Self.frame(content))
    let program = """
      import lz4.frame, sys, zlib
      data = open(sys.argv[1], "rb").read()
      info = lz4.frame.get_frame_info(data)
      content = lz4.frame.decompress(data)
      print(info["content_size"], info["block_linked"], info["block_size"], len(content))
      print(content == bytes(i % 256 for i in range(1, 300001)) + content[300000:])
      """
    let printed = String(
      decoding: try Tool.run("python3", ["-c", program, file.path]), as: UTF8.self)
    expectEqual(printed, "400000 False 262144 400000\nTrue\n")
  }

  @Test func whatDoesNotGetShorterIsStored() {
    let content = TestPattern.random.bytes(1000)
    let frame = Self.frame(content)
    // The length with its highest bit set, and the content as it is.
    let block = [0xE8, 0x03, 0x00, 0x80] + content
    expectEqual(frame, Array(frame[..<15]) + block + [0, 0, 0, 0])
    expectEqual(LZ4BlockCompressor.storedHeader(1000), 0x8000_03E8)
  }

  @Test func aFrameThatIsCutOffIsFoundOut() throws {
    let content = TestPattern.ramp.bytes(5000)
    let frame = Self.frame(content)
    for count in 0..<frame.count {
      #expect(throws: LZ4Error.self) { try Self.decoded(Array(frame[..<count]), room: 5000) }
    }
    #expect(throws: LZ4Error.tooLarge) {
      try Self.decoded(Self.frame(TestPattern.random.bytes(300_000)), room: 1000)
    }
  }

  @Test func damageNeverTraps() {
    var random = TestRandom(seed: 3)
    let frame = Self.frame(TestPattern.ramp.bytes(20_000) + TestPattern.random.bytes(2000))
    for _ in 0..<3000 {
      var damaged = frame
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged[Int.random(in: 0..<frame.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      _ = try? Self.decoded(damaged, room: 22_000)
    }
  }

  @Test func whatIsBehindAFrameIsLeftAlone() throws {
    let content = TestPattern.ramp.bytes(100)
    try expectEqual(Self.decoded(Self.frame(content) + [1, 2, 3], room: 100), content)
  }
}
