import Sprocket
import SprocketStages
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

/// Frames that a program makes, keeps and converts.
@Suite struct FrameCopyTests {
  private static let time = Timestamp(nanoseconds: 40_000_000, clock: .media)
  private static let bt709 = Color(range: .limited, matrix: .bt709, transfer: .bt709)

  /// Formats that have a picture without a decoder or a stage.
  private static let pictures = PixelFormat.allCases.filter { $0.imageFormat != nil }

  private static func noise(_ pixels: PixelFormat, _ width: Int, _ height: Int) -> [UInt8] {
    var bytes = TestPattern.random.bytes(
      pixels.byteCount(width: width, height: height), seed: UInt64(pixels.rawValue) + 1)
    // Words hold no more than their bits.
    guard pixels.isDeep, !pixels.isRGB, pixels != .p010, pixels != .p012 else { return bytes }
    let most = UInt8((1 << (pixels.bitsPerSample - 8)) - 1)
    for index in stride(from: 1, to: bytes.count, by: 2) { bytes[index] &= most }
    return bytes
  }

  private static func color(_ pixels: PixelFormat) -> Color { pixels.isRGB ? .jpeg : bt709 }

  /// What a run makes of one frame, by each of `contents`.
  private func run(
    _ bytes: [UInt8], _ format: FrameFormat, _ contents: [FrameCopy.Content]
  ) async throws -> [FrameCopy] {
    let source = PushSource(format: format)
    let sinks = contents.indices.map {
      FrameCopies("\($0)", of: contents[$0], keeping: .every(2))
    }
    let engine = try Engine(source: source, sinks: sinks)
    try engine.start()
    expectEqual(source.push(bytes.span, captured: 40_000_000, waiting: .seconds(10)), .taken)
    source.finish()
    var found: [FrameCopy] = []
    for sink in sinks { for await frame in sink { found.append(frame) } }
    _ = engine.wait(for: longestWait)
    expectEqual(engine.summary.errors.map(\.description), [])
    return found
  }

  @Test(arguments: pictures) func aConversionIsWhatARunMakes(_ pixels: PixelFormat) async throws {
    let contents: [FrameCopy.Content] = [.nv12, .bgra, .rgb, .image, .luma(.half)]
    for (width, height) in [(32, 18), (13, 7)] {
      let bytes = Self.noise(pixels, width, height)
      let copy = try FrameCopy(
        bytes, pixels: pixels, width: width, height: height, color: Self.color(pixels),
        at: Self.time)
      let made = try await run(bytes, copy.pictureFormat, contents)
      expectEqual(made.count, contents.count)
      for (content, frame) in zip(contents, made) {
        let converted = try copy.converted(to: content)
        #expect(converted.bytes == frame.bytes, "\(pixels) as \(content)")
        expectEqual(converted.pixels, frame.pixels)
        expectEqual(converted.color, frame.color)
        expectEqual(converted.record.captured, Self.time)
        expectEqual(converted.pictureFormat.image, frame.pictureFormat.image)
        // What was converted can be converted on.
        expectEqual(try converted.converted(to: .rgb).pixels, .rgb24)
      }
    }
  }

  /// FFmpeg's conversions, of pictures without finer chroma so that filters do not matter.
  @Test(
    .enabled(if: Tool.hasFFmpeg),
    arguments: [
      ("bt601", "pc", Color(range: .full, matrix: .bt601)),
      ("bt601", "tv", Color(range: .limited, matrix: .bt601)),
      ("bt709", "pc", Color(range: .full, matrix: .bt709)),
      ("bt709", "tv", Color(range: .limited, matrix: .bt709)),
      ("bt2020", "tv", Color(range: .limited, matrix: .bt2020)),
    ])
  func coloursAreFFmpegs(_ matrix: String, _ range: String, _ color: Color) throws {
    let scratch = try Scratch()
    let blocks = "scale=64:48:flags=neighbor,format=rgb24"
    let exact = "flags=area+accurate_rnd+full_chroma_int+full_chroma_inp"
    func raw(_ name: String, _ filter: String) throws -> [UInt8] {
      let path = try scratch.make(
        name, size: "16x12", frames: 1, ["-vf", filter, "-f", "rawvideo"])
      return try Scratch.bytes(path)
    }
    let planes =
      "\(blocks),scale=out_color_matrix=\(matrix):out_range=\(range):\(exact),format=yuv444p"
    let back = "scale=in_color_matrix=\(matrix):in_range=\(range):\(exact),format=rgb24"
    let copy = try FrameCopy(
      raw("a.raw", planes), pixels: .yuv444p, width: 64, height: 48, color: color, at: Self.time)
    let rgb = try copy.converted(to: .rgb)
    expectNear(rgb.bytes, try raw("b.raw", "\(planes),\(back)"), within: 2)
    // What YUV is made of once more.
    expectEqual([rgb.color.range == .full, rgb.color.matrix == .bt601], [true, true])
    try expectEqual(copy.converted(to: .nv12).color.matrix, color.matrix)
    try expectEqual(copy.converted(to: .nv12).color.range, color.range)
    let bgra = try copy.converted(to: .bgra).bytes
    for pixel in 0..<64 * 48 {
      let (red, blue) = (rgb.bytes[3 * pixel], rgb.bytes[3 * pixel + 2])
      expectEqual([bgra[4 * pixel], bgra[4 * pixel + 2], bgra[4 * pixel + 3]], [blue, red, 255])
    }
    expectNear(
      try copy.converted(to: .nv12).bytes,
      try raw("c.raw", "\(planes),scale=in_range=\(range):out_range=\(range):\(exact),format=nv12"),
      within: 2)
    // From RGB to what a phone's camera gives: full range, BT.601.
    let drawn = try FrameCopy(
      raw("d.raw", blocks), pixels: .rgb24, width: 64, height: 48, at: Self.time)
    expectNear(
      try drawn.converted(to: .nv12).bytes,
      try raw(
        "e.raw", "\(blocks),scale=out_color_matrix=bt601:out_range=pc:\(exact),format=nv12"),
      within: 2)
  }

  private func expectNear(_ one: [UInt8], _ other: [UInt8], within limit: Int) {
    expectEqual(one.count, other.count)
    let most = zip(one, other).map { abs(Int($0) - Int($1)) }.max() ?? .max
    expectAtMost(most, limit)
  }

  @Test func aLentFrameIsCopiedInACallback() async throws {
    let bytes = Self.noise(.nv12, 32, 18)
    let format = FrameFormat(
      pixelFormat: .nv12, width: 32, height: 18, color: Self.bt709, rate: FrameRate(frames: 25))
    let contents: [FrameCopy.Content] = [.image, .nv12, .bgra, .rgb, .luma(.quarter), .encoded]
    let made = try await run(bytes, format, contents)
    let source = PushSource(format: format)
    let taken = Locked<[FrameCopy]>([])
    let sink = ClosureSink(reading: [.image, .encoded, .luma(.quarter)]) { frame in
      for content in contents {
        let copy = FrameCopy(frame, content)
        taken.withLock { $0.append(copy) }
      }
    }
    let engine = try Engine(source: source, sinks: [sink])
    try engine.start()
    expectEqual(source.push(bytes.span, waiting: .seconds(10)), .taken)
    source.finish()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(taken.withLock { $0.map(\.bytes) }, made.map(\.bytes))
  }

  @Test func whatAreNoPicturesIsRefused() throws {
    func refusal(
      _ count: Int, _ pixels: PixelFormat, _ width: Int, _ height: Int, _ color: Color = .jpeg
    ) -> String {
      do throws(RunError) {
        _ = try FrameCopy(
          [UInt8](repeating: 7, count: count), pixels: pixels, width: width, height: height,
          color: color, at: Self.time)
        return ""
      } catch {
        return error.description
      }
    }
    expectTrue(refusal(11, .nv12, 4, 2).contains("12 bytes, not 11"))
    expectTrue(refusal(0, .nv12, 0, 2).contains("not 0x2"))
    expectTrue(refusal(0, .rgb24, .max, .max).contains("65535"))
    expectTrue(refusal(12, .rgb24, 2, 2, .video).contains("full range"))
    expectTrue(refusal(12, .mjpeg, 2, 2).contains("no whole JPEG"))
    expectTrue(refusal(12, .h264, 2, 2).contains("packet"))
    expectEqual(refusal(12, .nv12, 4, 2), "")
    let mosaic = try FrameCopy(
      [1, 2, 3, 4], pixels: .bayerRGGB, width: 2, height: 2, at: Self.time)
    let error = #expect(throws: RunError.self) { try mosaic.converted(to: .rgb) }
    expectEqual(error?.description.contains("debayer"), true)
  }

  @Test func aCopyIsPushedAtAnotherTime() async throws {
    let first = try FrameCopy(
      Self.noise(.yuyv, 32, 18), pixels: .yuyv, width: 32, height: 18, color: Self.bt709,
      at: Self.time)
    let nv12 = try first.converted(to: .nv12)
    let source = PushSource(format: nv12.pictureFormat)
    let copies = FrameCopies(of: .encoded, keeping: .every(8))
    let engine = try Engine(source: source, sinks: [copies])
    try engine.start()
    for index in 1...3 {
      let time = Timestamp(nanoseconds: Int64(index) * 1_000_000_000, clock: .monotonic)
      expectEqual(try source.push(nv12.at(time), waiting: .seconds(10)), .taken)
    }
    let error = #expect(throws: RunError.self) { try source.push(first) }
    expectEqual(error?.description.contains("NV12 32x18, not YUYV 32x18"), true)
    source.finish()
    var times: [Int64] = []
    for await copy in copies {
      times.append(copy.record.captured.nanoseconds)
      expectEqual(copy.bytes, nv12.bytes)
      expectEqual(copy.pictureFormat.color, Self.bt709)
    }
    expectEqual(times, [1_000_000_000, 2_000_000_000, 3_000_000_000])
    _ = engine.wait(for: longestWait)
  }

  @Test(.enabled(if: Tool.hasFFmpeg)) func aCopyIsWrittenAsAStill() throws {
    let scratch = try Scratch()
    let copy = try FrameCopy(
      Self.noise(.rgb24, 20, 14), pixels: .rgb24, width: 20, height: 14, at: Self.time)
    try copy.write(to: scratch.path("a.png"))
    let decoded = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-i", scratch.path("a.png"), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
    expectEqual([UInt8](decoded), copy.bytes)
    // A JPEG is decoded, and as a file its image stays as it is.
    try copy.write(to: scratch.path("a.jpg"), quality: 95)
    expectEqual(try Tool.probe(scratch.path("a.jpg"), "stream=width,height"), ["20,14"])
    let jpeg = try FrameCopy(
      scratch.bytes("a.jpg"), pixels: .mjpeg, width: 20, height: 14, at: Self.time)
    expectEqual(try jpeg.converted(to: .nv12).bytes.count, 420)
    try jpeg.write(to: scratch.path("b.jpg"))
    expectEqual(
      Array(try scratch.bytes("b.jpg").suffix(200)), Array(try scratch.bytes("a.jpg").suffix(200)))
    let error = #expect(throws: RunError.self) { try copy.write(to: scratch.path("a.gif")) }
    expectEqual(error?.description.contains(".png"), true)
    #expect(throws: RunError.self) { try copy.write(to: scratch.path("a.png")) }
  }
}
