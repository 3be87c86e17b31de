import Foundation
import SprocketLibAV
import SprocketPixels
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct MediaReaderTests {
  struct Layout: CustomStringConvertible {
    let ffmpeg: String
    let format: PixelFormat
    let file: String
    var size = "53x37"
    var description: String { "\(ffmpeg) in \(file) \(size)" }
  }

  @Test(arguments: [
    Layout(ffmpeg: "yuv420p", format: .i420, file: "a.y4m"),
    Layout(ffmpeg: "yuv422p", format: .yuv422p, file: "a.y4m"),
    Layout(ffmpeg: "yuv444p", format: .yuv444p, file: "a.y4m"),
    Layout(ffmpeg: "yuv411p", format: .yuv411p, file: "a.y4m"),
    Layout(ffmpeg: "yuv440p", format: .yuv440p, file: "a.nut"),
    Layout(ffmpeg: "gray", format: .grey, file: "a.y4m"),
    Layout(ffmpeg: "nv12", format: .nv12, file: "a.nut"),
    Layout(ffmpeg: "nv21", format: .nv21, file: "a.nut"),
    Layout(ffmpeg: "yuyv422", format: .yuyv, file: "a.avi", size: "54x37"),
    Layout(ffmpeg: "uyvy422", format: .uyvy, file: "a.mov", size: "54x37"),
    Layout(ffmpeg: "rgb24", format: .rgb24, file: "a.mov"),
    Layout(ffmpeg: "bgr24", format: .bgr24, file: "a.nut"),
    Layout(ffmpeg: "bgr24", format: .bgr24, file: "a.avi"),
    Layout(ffmpeg: "bgr0", format: .bgr32, file: "a.nut"),
    Layout(ffmpeg: "bgra", format: .bgra32, file: "a.avi"),
    Layout(ffmpeg: "0rgb", format: .rgb32, file: "a.nut"),
    Layout(ffmpeg: "gray10le", format: .y10, file: "a.nut"),
    Layout(ffmpeg: "gray16le", format: .y16, file: "a.nut"),
  ])
  func rawVideoDecodesToTheSameBytesAsFFmpeg(layout: Layout) throws {
    let clips = try Scratch()
    let path = try clips.make(
      layout.file, size: layout.size,
      (layout.file.hasSuffix("y4m") ? ["-strict", "-1"] : ["-c:v", "rawvideo"])
        + ["-pix_fmt", layout.ffmpeg])
    let info = try MediaReader(path: path).info
    expectEqual(info.pixelFormat, layout.format)
    expectFalse(info.isMJPEG)
    expectFalse(info.isConverted)
    expectEqual(info.frameRate, MediaRational(12, 1))
    expectEqual("\(info.width)x\(info.height)", layout.size)
    let decoded = try Decoded(path)
    expectEqual(decoded.formats, [layout.format])
    expectEqual(decoded.frames.count, 8)
    try expectEqual(Array(decoded.frames.joined()), decodeWithFFmpeg(path, layout.ffmpeg))
    expectEqual(decoded.corruptFrames, 0)
    expectEqual(decoded.corruptUnits, 0)
    expectNil(decoded.failure)
  }

  @Test(arguments: [
    ("yuv420p10be", PixelFormat.yuv420p10, "yuv420p10le"),
    ("yuv422p12be", .yuv422p12, "yuv422p12le"),
    ("gray16be", .y16, "gray16le"),
    ("yuva420p", .i420, "yuv420p"),
  ])
  func otherFormatsAreConvertedToTheNearest(
    from: String, to: PixelFormat, ffmpeg: String
  ) throws {
    let clips = try Scratch()
    let path = try clips.make("a.nut", ["-c:v", "rawvideo", "-pix_fmt", from])
    let info = try MediaReader(path: path).info
    expectTrue(info.isConverted)
    expectEqual(info.pixelFormat, to)
    let decoded = try Decoded(path)
    expectEqual(decoded.formats, [to])
    expectEqual(decoded.frames.count, 8)
    let expected = try decodeWithFFmpeg(path, ffmpeg)
    let found = Array(decoded.frames.joined())
    expectEqual(found.count, expected.count)
    expectAtMost((zip(found, expected).map { abs(Int($0) - Int($1)) }.max() ?? 255), 1)
  }

  @Test(arguments: [
    ("rgb565le", PixelFormat.rgb24), ("gbrp", .rgb24), ("pal8", .rgba32), ("rgba", .rgba32),
    ("gbrap", .rgba32), ("ya8", .rgba32),
  ])
  func otherColoursBecomeRedGreenAndBlue(from: String, to: PixelFormat) throws {
    let clips = try Scratch()
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "quiet", "-f", "lavfi", "-i", "color=white:size=32x16,pad=64:16", "-frames:v", "2",
        "-c:v", "rawvideo", "-pix_fmt", from, clips.path("a.nut"),
      ])
    let decoded = try Decoded(clips.path("a.nut"))
    expectEqual(decoded.formats, [to])
    // A picture of RGBA is not converted, and its file says nothing of range and matrix.
    if from != "rgba" {
      let color = try #require(decoded.colors.first)
      expectEqual(color.range, .full)
      expectEqual(color.matrix, .bt601)
    }
    let frame = try #require(decoded.frames.first)
    // The palette that FFmpeg makes has no white.
    let white: [UInt8] = from == "pal8" ? [252, 252, 255] : [255, 255, 255]
    let step = to == .rgb24 ? 3 : 4
    expectEqual(Array(frame[10 * step..<10 * step + 3]), white)
    expectEqual(Array(frame[63 * step..<63 * step + 3]), [0, 0, 0])
  }

  @Test(arguments: [0, 1, 4]) func decodesPredictedFramesInOrder(threadCount: Int) throws {
    let clips = try Scratch()
    let path = try clips.make("a.mp4", size: "96x64", frames: 40, ["-c:v", "libx264", "-bf", "3"])
    let decoded = try Decoded(path, threadCount: threadCount)
    expectEqual(decoded.frames.count, 40)
    try expectEqual(Array(decoded.frames.joined()), decodeWithFFmpeg(path, "yuv420p"))
    let ticks = try Tool.probe(path, "frame=best_effort_timestamp").compactMap { Int64($0) }
    let base = try MediaReader(path: path).info.timeBase
    expectEqual(
      decoded.times,
      ticks.map { tick in
        Int64(
          (Double(tick) * Double(base.numerator) * 1e9 / Double(base.denominator)).rounded())
      })
  }

  @Test func motionJPEGComesAsTheFilesOwnBytes() throws {
    let clips = try Scratch()
    let path = try clips.make("a.avi", frames: 10, ["-c:v", "mjpeg", "-pix_fmt", "yuvj422p"])
    var reader = try MediaReader(path: path)
    expectTrue(reader.info.isMJPEG)
    expectEqual(reader.info.codecName, "mjpeg")
    expectEqual(reader.info.width, 53)
    expectEqual(reader.info.height, 37)
    expectEqual(reader.info.color.range, .full)
    expectEqual(reader.info.pixelFormat, .yuv422p)
    expectEqual(reader.info.frameCount, 10)
    // The image2pipe muxer writes packets as they are.
    let expected = try Tool.run(
      "ffmpeg", ["-v", "quiet", "-i", path, "-c:v", "copy", "-f", "image2pipe", "-"])
    var found: [UInt8] = []
    var times: [Int64] = []
    while let packet = try reader.nextPacket() {
      unsafe found.append(contentsOf: packet.bytes)
      times.append(packet.timeNanoseconds)
      expectTrue(packet.isKeyframe)
      expectFalse(packet.isCorrupt)
    }
    expectEqual(found, expected)
    expectEqual(times, (0..<10).map { Int64((Double($0) * 1e9 / 12).rounded()) })
    #expect(try reader.nextPacket() == nil)
  }

  @Test func readsColour() throws {
    let clips = try Scratch()
    let path = try clips.make(
      "a.mp4", size: "64x64",
      [
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-color_range", "tv", "-colorspace", "bt709",
        "-color_trc", "iec61966-2-1", "-color_primaries", "bt2020",
      ])
    let color = try #require(try Decoded(path).colors.first)
    expectEqual(color.range, .limited)
    expectEqual(color.matrix, .bt709)
    expectEqual(color.transfer, .srgb)
    expectEqual(color.codes.primaries, 9)
    try expectEqual(MediaReader(path: path).info.color, color)
    let bare = try MediaReader(path: try clips.make("b.y4m", [])).info.color
    expectEqual(bare.matrix, .unspecified)
    expectEqual(bare.transfer, .unspecified)
  }

  @Test func whatIsLentOutlivesTheReaderOnAnotherThread() async throws {
    let clips = try Scratch()
    let path = try clips.make("a.y4m", frames: 20, ["-pix_fmt", "yuv420p"])
    let expected = try decodeWithFFmpeg(path, "yuv420p")
    let size = expected.count / 20
    var kept: [(pointer: Int, plane: Int)] = []
    do {
      var reader = try MediaReader(path: path)
      loop: while true {
        switch try reader.nextFrame() {
        case .frame(let frame):
          let plane = unsafe Int(bitPattern: frame.plane(0).base)
          kept.append((unsafe Int(bitPattern: frame.leak()), plane))
        case .corrupt: Issue.record("a corrupt frame")
        case .end: break loop
        }
      }
    }
    expectEqual(kept.count, 20)
    for (index, one) in kept.enumerated() {
      let plane = unsafe UnsafePointer<UInt8>(bitPattern: one.plane)
      unsafe expectEqual(plane?.pointee, expected[index * size])
    }
    let pointers = kept.map(\.pointer)
    await Task.detached {
      for pointer in pointers {
        if let raw = unsafe UnsafeMutableRawPointer(bitPattern: pointer) {
          unsafe releaseLent(raw)
        }
      }
    }.value
  }

  @Test func goesOnAfterDamage() throws {
    let clips = try Scratch()
    let path = try clips.make(
      "a.mkv", size: "320x240", frames: 60, ["-c:v", "libx264", "-g", "10", "-bf", "0"])
    var bytes = try Scratch.bytes(path)
    var random = TestRandom(seed: 5)
    for at in stride(from: bytes.count / 4, to: bytes.count / 2, by: 211) {
      bytes[at] = UInt8.random(in: 0...255, using: &random)
    }
    let damaged = try clips.write("b.mkv", bytes)
    for threads in [1, 0] {
      let decoded = try Decoded(damaged, threadCount: threads)
      print(
        "damaged: \(decoded.frames.count) frames, \(decoded.corruptFrames) of them corrupt, "
          + "\(decoded.corruptUnits) lost, \(String(describing: decoded.failure))")
      expectGreater(decoded.corruptFrames + decoded.corruptUnits, 0)
      expectGreater(decoded.frames.count, 30)
      // The end of the file was not damaged: its last frames come.
      try expectGreater(#require(decoded.times.last), 4_500_000_000)
    }
  }

  @Test func aCutFileGivesWhatItHas() throws {
    let clips = try Scratch()
    for name in ["a.avi", "a.mkv", "a.y4m", "a.nut"] {
      let path = try clips.make(
        name, size: "160x120", frames: 30,
        name.hasSuffix("y4m") ? ["-pix_fmt", "yuv420p"] : ["-c:v", "mjpeg"])
      let bytes = try Scratch.bytes(path)
      let cut = try clips.write("cut-" + name, Array(bytes[..<(bytes.count * 6 / 10)]))
      let decoded = try Decoded(cut)
      print(
        "\(name): \(decoded.frames.count) of 30, corrupt \(decoded.corruptFrames) and "
          + "\(decoded.corruptUnits), \(String(describing: decoded.failure))")
      expectTrue((12...19).contains(decoded.frames.count - decoded.corruptFrames))
    }
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)),
    arguments: [
      "timing/FLIR_Thermal.mp4", "generic/tree.avi", "generic/vtest.avi", "generic/box.mp4",
      "generic/carphone_pristine.mp4", "generic/flipping_a_pancake.mkv", "mjpeg/100_0306.AVI",
      "stabilization/test.avi", "exposure/nasa_13013.mp4", "stabilization/max-heromode.mp4",
    ])
  func realFilesHaveTheFramesAndTimesThatFFprobeSees(name: String) throws {
    let path = TestData.path(name)
    let decoded = try Decoded(path, keepsPixels: false)
    let info = try MediaReader(path: path).info
    let lines = try Tool.probe(path, "frame=best_effort_timestamp", "\(info.streamIndex)")
    expectEqual(decoded.times.count, lines.count)
    expectEqual(decoded.corruptFrames, 0)
    expectEqual(decoded.corruptUnits, 0)
    let base = info.timeBase
    for (time, line) in zip(decoded.times, lines) {
      guard let tick = Int64(line) else { continue }
      let exact = Double(tick) * Double(base.numerator) * 1e9 / Double(base.denominator)
      expectAtMost(abs(Double(time) - exact), 1)
    }
  }
}
