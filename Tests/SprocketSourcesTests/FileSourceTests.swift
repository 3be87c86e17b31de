import Foundation
import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FileSourceTests {
  static let films = [
    "exposure/nasa_13013.mp4", "generic/box.mp4", "generic/carphone_pristine.mp4",
    "generic/flipping_a_pancake.mkv", "generic/tree.avi", "generic/vtest.avi",
    "mjpeg/100_0306.AVI", "stabilization/max-heromode.mp4", "stabilization/test.avi",
    "timing/FLIR_Thermal.mp4",
  ]

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)), arguments: films)
  func everyFrameComesAtTheTimeThatFFprobeTells(film: String) throws {
    let path = TestData.path(film)
    let played = try Played(path)
    let stream = try playedStream(path)
    let base = try #require(try Tool.probe(path, "stream=time_base", stream).first)
      .split(separator: "/").compactMap { Int64($0) }
    let ticks = try Tool.probe(path, "frame=best_effort_timestamp", stream).compactMap { Int64($0) }
    let count = try Tool.probe(path, "stream=nb_read_frames", stream, ["-count_frames"])
    expectEqual(["\(played.frames.count)"], count)
    expectEqual(played.frames.count, ticks.count)
    let worst = zip(played.times, ticks).reduce(0) { worst, pair in
      // The exact time is tick * base[0] / base[1] seconds.
      max(worst, abs(pair.0 * base[1] - pair.1 * base[0] * 1_000_000_000))
    }
    expectAtMost(worst, base[1])
    expectEmpty(played.corrupt)
    expectEmpty(played.epochs)
    let sequences = played.frames.map(\.announced.sequence)
    expectEqual(sequences, (0..<UInt64(sequences.count)).map { $0 })
    expectTrue(played.frames.allSatisfy { $0.announced.captured.clock == .media })
  }

  /// Of several films in a file, the one that FFmpeg plays: the largest.
  private func playedStream(_ path: String) throws -> String {
    let widths = try Tool.probe(path, "stream=width", "v").compactMap { Int($0) }
    let largest = try #require(widths.max())
    return "v:\(widths.firstIndex(of: largest) ?? 0)"
  }

  @Test(
    .enabled(if: TestData.isPresent, Comment(rawValue: TestData.absent)), arguments: films)
  func lumaIsWhatFFmpegDecodes(film: String) throws {
    let path = TestData.path(film)
    let limit = 5
    var lumas: [[[UInt8]]] = []
    let played = try Played(path, limit: limit) { _, format, slot in
      lumas.append(try #require(unpackedLuma(slot, format)))
    }
    let format = played.description.format
    let isRGB = format.pixelFormat == .rgb24 || format.pixelFormat == .bgr24
    let decoded = try Tool.run(
      "ffmpeg",
      ["-v", "quiet", "-i", path, "-vsync", "passthrough", "-frames:v", "\(limit)"]
        + (isRGB ? ["-pix_fmt", "rgb24"] : ["-vf", "extractplanes=y"]) + ["-f", "rawvideo", "-"])
    let samples = isRGB ? gray(decoded) : decoded
    let expected = samples.map { sample in
      guard format.color.range == .limited else { return sample }
      return UInt8(min(max((Double(Int(sample) - 16) * 255 / 219).rounded(), 0), 255))
    }
    let found = lumas.flatMap { $0.flatMap { $0 } }
    try #require(found.count == expected.count)
    let worst = zip(found, expected).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    // Of JPEG there are two decoders, whose transforms round differently.
    expectAtMost(worst, (format.pixelFormat == .mjpeg ? 2 : 0))
  }

  private func gray(_ rgb: [UInt8]) -> [UInt8] {
    stride(from: 0, to: rgb.count, by: 3).map { at -> UInt8 in
      let (r, g, b) = (Int(rgb[at]), Int(rgb[at + 1]), Int(rgb[at + 2]))
      return UInt8((77 * r + 150 * g + 29 * b + 128) / 256)
    }
  }

  @Test(arguments: [
    ("i420", "rawvideo", PixelFormat.i420), ("nv12", "rawvideo", .nv12),
    ("nv21", "rawvideo", .nv21), ("yuyv422", "rawvideo", .yuyv), ("uyvy422", "rawvideo", .uyvy),
    ("yuv422p", "ffv1", .yuv422p), ("yuv444p", "ffv1", .yuv444p), ("yuv440p", "ffv1", .yuv440p),
    ("gray", "ffv1", .grey), ("gray10le", "ffv1", .y10), ("gray16le", "ffv1", .y16),
    ("gray12le", "ffv1", .y12), ("yuv420p10le", "ffv1", .yuv420p10),
    ("yuv422p10le", "ffv1", .yuv422p10), ("yuv444p10le", "ffv1", .yuv444p10),
    ("yuv420p12le", "ffv1", .yuv420p12), ("yuv422p12le", "ffv1", .yuv422p12),
    ("yuv444p12le", "ffv1", .yuv444p12), ("yuv420p16le", "ffv1", .yuv420p16),
    ("yuv422p16le", "ffv1", .yuv422p16), ("yuv444p16le", "ffv1", .yuv444p16),
    ("rgb24", "png", .rgb24), ("bgr0", "ffv1", .bgr32), ("bgr24", "rawvideo", .bgr24),
  ])
  func decodedFramesAreLentInTheirOwnLayout(
    name: String, codec: String, layout: PixelFormat
  ) throws {
    let clips = try Scratch()
    let pixels = name == "i420" ? "yuv420p" : name
    let path = try clips.make(
      "clip.nut", size: "62x46", frames: 3, ["-pix_fmt", pixels, "-c:v", codec])
    var planes: [UInt8] = []
    let played = try Played(path) { _, format, slot in
      for plane in 0..<format.pixelFormat.planeCount {
        planes += slot.sourceRows(plane).flatMap { $0 }
      }
    }
    expectEqual(played.description.format.pixelFormat, layout)
    expectEqual(played.description.format.width, 62)
    expectEqual(played.description.format.height, 46)
    let expected = try Tool.run(
      "ffmpeg", ["-v", "quiet", "-i", path, "-pix_fmt", pixels, "-f", "rawvideo", "-"])
    expectEqual(planes, expected)
  }

  @Test func motionJPEGIsLentByteForByte() throws {
    let clips = try Scratch()
    let path = try clips.make("clip.avi", ["-c:v", "mjpeg", "-pix_fmt", "yuvj422p"])
    var bytes: [UInt8] = []
    let played = try Played(path) { _, _, slot in bytes += slot.sourceRows(0)[0] }
    let copied = try Tool.run(
      "ffmpeg", ["-v", "quiet", "-i", path, "-c", "copy", "-f", "mjpeg", "-"])
    expectEqual(bytes, copied)
    expectFalse(bytes.isEmpty)
    let format = played.description.format
    expectEqual(format.pixelFormat, .mjpeg)
    expectEqual(format.image, .yuv422p)
    expectEqual(format.color, .jpeg)
    expectEqual(format.rate, FrameRate(frames: 25))
    expectEqual(played.description.capacity, 0)
    expectFalse(played.description.isLive)
    expectEqual(played.description.frameCount, 10)
  }

  @Test func theFirstFramesAreMarked() throws {
    let clips = try Scratch()
    let path = try clips.make("clip.mp4", ["-c:v", "mpeg4"])
    var settings = FileSettings()
    settings.startup = 3
    let marks = try Played(path, settings).frames.map(\.announced.isStartup)
    expectEqual(marks, (0..<10).map { $0 < 3 })
  }

  @Test func aDiscardedFrameKeepsItsNumber() throws {
    let clips = try Scratch()
    let source = FileSource(path: try clips.make("clip.mp4", ["-c:v", "mpeg4"]))
    _ = try source.open()
    defer { source.close() }
    var sequences: [UInt64] = []
    while case .frame(let frame) = try source.next(timeout: 0) {
      sequences.append(frame.sequence)
      source.discard()
    }
    expectEqual(sequences, (0..<10).map { UInt64($0) })
  }

  @Test func colourIsTheFiles() throws {
    let clips = try Scratch()
    let tagged = [
      "-c:v", "mpeg4", "-color_range", "tv", "-colorspace", "bt709", "-color_trc", "bt709",
    ]
    let color = try Played(try clips.make("a.mkv", tagged), limit: 1).frames[0].format.color
    expectEqual(
      color,
      Color(
        range: .limited, matrix: .bt709, transfer: .bt709, chromaSite: .left,
        codes: Color.Codes(primaries: 2, transfer: 1, matrix: 1)))
    let full = ["-c:v", "ffv1", "-pix_fmt", "yuv420p", "-color_range", "pc"]
    let other = try Played(try clips.make("b.mkv", full), limit: 1).frames[0].format.color
    expectEqual(other.range, .full)
    let plain = try Played(
      try clips.make("c.nut", ["-c:v", "rawvideo", "-pix_fmt", "gray"]), limit: 1)
    expectEqual(plain.frames[0].format.color.range, .full)
  }
}
