import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

@Suite struct PipeSinkTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// What the sink writes for frames with these bytes.
  func output(
    _ layout: PipeSink.Layout, _ format: FrameFormat, _ frames: [[UInt8]], padding: Int = 0
  ) throws -> [UInt8] {
    let path = scratch.path("out")
    try #require(FileManager.default.createFile(atPath: path, contents: nil))
    let file = try #require(FileHandle(forWritingAtPath: path))
    let sink = PipeSink(layout, descriptor: file.fileDescriptor)
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    for bytes in frames { try SinkFrame(format, bytes, padding: padding).write(to: sink) }
    try sink.finish()
    try file.close()
    return try scratch.bytes("out")
  }

  static func format(
    _ pixels: PixelFormat, _ width: Int, _ height: Int, range: Color.Range = .full,
    rate: FrameRate = FrameRate(frames: 30000, seconds: 1001)
  ) -> FrameFormat {
    FrameFormat(
      pixelFormat: pixels, width: width, height: height, color: Color(range: range), rate: rate)
  }

  @Test(arguments: [0, 1, 61]) func writesY4MByteForByte(padding: Int) throws {
    let format = Self.format(.i420, 3, 3)
    // Luma 3x3, chroma 2x2: 17 bytes.
    let frames = [Array(UInt8(0)..<17), Array(UInt8(100)..<117)]
    let header = "YUV4MPEG2 W3 H3 F30000:1001 Ip A0:0 C420jpeg XCOLORRANGE=FULL\n"
    let mark = Array("FRAME\n".utf8)
    try expectEqual(
      output(.y4m, format, frames, padding: padding),
      Array(header.utf8) + mark + frames[0] + mark + frames[1])
  }

  @Test(arguments: [
    (PixelFormat.i420, "yuv420p"), (.nv12, "yuv420p"), (.yuyv, "yuv422p"),
    (.rgb24, "yuv444p"), (.yuv411p, "yuv411p"), (.grey, "gray"), (.y10, "gray10le"),
    (.y12, "gray12le"), (.y16, "gray16le"), (.yuv420p10, "yuv420p10le"),
    (.yuv422p10, "yuv422p10le"), (.yuv444p10, "yuv444p10le"), (.yuv420p12, "yuv420p12le"),
    (.yuv422p12, "yuv422p12le"), (.yuv444p12, "yuv444p12le"), (.yuv420p16, "yuv420p16le"),
    (.yuv422p16, "yuv422p16le"), (.yuv444p16, "yuv444p16le"),
  ]) func ffmpegReadsTheSamePixels(pixels: PixelFormat, name: String) throws {
    let format = Self.format(pixels, 37, 21, range: .limited)
    let count = try #require(format.image).byteCount(width: 37, height: 21)
    // Words of 10 bits must stay below 1024, those of 12 below 4096.
    let highest = UInt8(truncatingIfNeeded: (1 << (pixels.bitsPerSample - 8)) - 1)
    let bytes = (0..<2).map { seed in
      TestPattern.random.bytes(count, seed: UInt64(seed + 1)).enumerated().map { index, byte in
        pixels.isDeep && index % 2 == 1 ? byte & highest : byte
      }
    }
    _ = try output(.y4m, format, bytes, padding: 5)
    let stream = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-f", "yuv4mpegpipe", "-show_entries",
        "stream=width,height,pix_fmt,color_range,r_frame_rate", "-of", "csv=p=0",
        scratch.path("out"),
      ])
    expectEqual(String(decoding: stream, as: UTF8.self), "37,21,\(name),tv,30000/1001\n")
    let raw = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-f", "yuv4mpegpipe", "-i", scratch.path("out"), "-f", "rawvideo", "-"])
    expectEqual(raw, bytes[0] + bytes[1])
  }

  @Test(arguments: [
    (FieldOrder.topFirst, "tt"), (.bottomFirst, "bb"), (.progressive, "progressive"),
  ])
  func aspectAndFieldsAreInTheHeader(order: FieldOrder, name: String) throws {
    var format = Self.format(.i420, 4, 2)
    format.presentation = Presentation(
      orientation: .quarterTurn, pixelAspect: PixelAspect(59, 54), fieldOrder: order)
    _ = try output(.y4m, format, [Array(0..<12)])
    let found = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-f", "yuv4mpegpipe", "-show_entries",
        "stream=sample_aspect_ratio,field_order", "-of", "csv=p=0", scratch.path("out"),
      ])
    expectEqual(String(decoding: found, as: UTF8.self), "59:54,\(name)\n")
  }

  @Test(arguments: PipeSink.Layout.allCases.filter { $0 != .rgba }) func aTurnThatIsLostIsTold(
    layout: PipeSink.Layout
  ) throws {
    let sink = PipeSink(layout, descriptor: TestPipe().descriptor)
    var format = Self.format(.i420, 4, 2)
    format.presentation.orientation = .quarterTurn
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    expectTrue(sink.notes.contains { $0.contains("pictures are turned") })
  }

  @Test(arguments: [(Color.ChromaSite.center, "center"), (.left, "left")])
  func ffprobeSeesWhereChromaLies(site: Color.ChromaSite, location: String) throws {
    var format = Self.format(.i420, 4, 2, range: .limited)
    format.color.chromaSite = site
    _ = try output(.y4m, format, [Array(0..<12)])
    let found = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-f", "yuv4mpegpipe", "-show_entries", "stream=chroma_location", "-of",
        "csv=p=0", scratch.path("out"),
      ])
    expectEqual(String(decoding: found, as: UTF8.self), location + "\n")
  }

  @Test func ffprobeSeesFullRange() throws {
    _ = try output(.y4m, Self.format(.grey, 4, 2, rate: .unknown), [[1, 2, 3, 4, 5, 6, 7, 8]])
    let range = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-f", "yuv4mpegpipe", "-show_entries", "stream=color_range", "-of",
        "csv=p=0", scratch.path("out"),
      ])
    expectEqual(range, Array("pc\n".utf8))
  }

  @Test(arguments: [0, 3]) func grayIsLumaAndNothingElse(padding: Int) throws {
    let format = Self.format(.i420, 4, 2)
    let frames = [Array(UInt8(0)..<12), Array(UInt8(50)..<62)]
    try expectEqual(output(.gray, format, frames, padding: padding), Array(0..<8) + Array(50..<58))
  }

  @Test func writesLargePlanesWhole() throws {
    let format = Self.format(.grey, 400, 300)
    let bytes = TestPattern.random.bytes(400 * 300)
    // Not in the macro: it would look for the difference for minutes.
    let isWhole = try [0, 64].allSatisfy {
      try output(.gray, format, [bytes], padding: $0) == bytes
    }
    expectTrue(isWhole)
  }

  @Test func refusesWhatY4MCannotName() throws {
    let sink = PipeSink(.y4m, descriptor: TestPipe().descriptor)
    var setup = SinkSetup.test(Self.format(.yuv440p, 4, 4))
    let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
    expectEqual(error?.code, .usage)
    expectEqual(error?.settings.contains(.pipe), true)
  }

  @Test func refusesBayer() throws {
    for layout in PipeSink.Layout.allCases {
      let sink = PipeSink(layout, descriptor: TestPipe().descriptor)
      var setup = SinkSetup.test(Self.format(.bayerRGGB, 4, 4))
      let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
      expectEqual(error?.code, .usage)
      expectEqual(error?.settings.contains(.format), true)
    }
  }

  @Test func declaresWhatItReads() throws {
    var setup = SinkSetup.test(Self.format(.i420, 4, 4))
    try PipeSink(.y4m, descriptor: TestPipe().descriptor).configure(&setup)
    expectEqual(setup.parts, .image)
    setup = SinkSetup.test(Self.format(.i420, 4, 4))
    try PipeSink(.gray, descriptor: TestPipe().descriptor).configure(&setup)
    expectEqual(setup.parts, .luma(.full))
  }

  @Test func aReaderThatGoesAwayIsSaidSo() throws {
    let pipe = TestPipe()
    let format = Self.format(.grey, 256, 256)
    let sink = PipeSink(.gray, descriptor: pipe.descriptor)
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    try pipe.closeReader()
    let frame = SinkFrame(format, TestPattern.zeros.bytes(65536))
    let error = #expect(throws: RunError.self) { try frame.write(to: sink) }
    expectEqual(error?.code, .readerGone)
    try sink.finish()
  }

  @Test func anotherFormatEndsThePipe() throws {
    let sink = PipeSink(.y4m, descriptor: TestPipe().descriptor)
    var setup = SinkSetup.test(Self.format(.i420, 4, 4))
    try sink.configure(&setup)
    setup = SinkSetup.test(Self.format(.i420, 4, 4, rate: FrameRate(frames: 15)))
    try sink.configure(&setup)
    setup = SinkSetup.test(Self.format(.i420, 8, 4))
    let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("from 4x4 YU12 (full range) to 8x4 YU12"), true)
  }

  @Test func writesOnThroughASlowReaderOfANonBlockingPipe() throws {
    let pipe = TestPipe()
    let descriptor = pipe.descriptor
    expectEqual(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0)
    let format = Self.format(.grey, 1000, 1000)
    let bytes = TestPattern.random.bytes(1_000_000)
    let reading = pipe.pipe.fileHandleForReading
    let sink = PipeSink(.gray, descriptor: descriptor)
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    let reader = Reader(reading)
    try SinkFrame(format, bytes).write(to: sink)
    try pipe.pipe.fileHandleForWriting.close()
    let isWhole = reader.result() == bytes
    expectTrue(isWhole)
  }
}

/// Reads a pipe to its end on a thread of its own, pausing now and then.
final class Reader: Sendable {
  private let bytes = Locked<[UInt8]>([])
  private let done = DispatchSemaphore(value: 0)

  init(_ handle: FileHandle) {
    Thread.detachNewThread { [self] in
      while let data = try? handle.read(upToCount: 40_000), !data.isEmpty {
        bytes.withLock { $0 += data }
        Thread.sleep(forTimeInterval: 0.001)
      }
      done.signal()
    }
  }

  func result() -> [UInt8] {
    done.wait()
    return bytes.withLock { $0 }
  }
}
