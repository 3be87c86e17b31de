import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.find("ffmpeg") != nil)) struct PresentationTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func format(_ presentation: Presentation) -> FrameFormat {
    FrameFormat(
      pixelFormat: .grey, width: 64, height: 48, color: .jpeg, rate: FrameRate(frames: 10),
      presentation: presentation)
  }

  /// A movie of two frames whose left upper quarter is white; its notes.
  private func record(_ name: String, _ presentation: Presentation) throws -> [String] {
    let format = format(presentation)
    let sink = MovieSink(path: scratch.path(name), quality: 100)
    try write(to: sink, format)
    try sink.finish()
    return sink.notes
  }

  /// Two frames.
  private func write(to sink: MovieSink, _ format: FrameFormat) throws {
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    let packer = try #require(try sink.makePacker())
    let bytes = (0..<64 * 48).map { $0 % 64 < 32 && $0 / 64 < 24 ? UInt8(255) : 0 }
    for index in 0..<2 {
      let frame = SinkFrame(format, bytes, packedCapacity: setup.packedCapacity)
      frame.record.captured = Timestamp(nanoseconds: Int64(index) * 100_000_000, clock: .media)
      try frame.write(to: sink, packer: packer)
    }
  }

  private func probe(_ name: String, _ entries: String) throws -> String {
    let text = try Tool.run(
      "ffprobe",
      [
        "-v", "error", "-show_entries", entries, "-of", "default=nw=1:nk=1", scratch.path(name),
      ])
    return String(decoding: text, as: UTF8.self).split(separator: "\n").joined(separator: " ")
  }

  /// Where the white quarter is when ffmpeg has turned the picture, and the picture's width.
  private func corner(_ name: String) throws -> (corner: String, width: Int) {
    let pixels = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-i", scratch.path(name), "-frames:v", "1", "-pix_fmt", "gray", "-f",
        "rawvideo", "-",
      ])
    try #require(pixels.count == 64 * 48)
    // Which side is the longer one follows from how the corners' rows lie.
    let widths = [64, 48].filter { width in
      let height = 64 * 48 / width
      let quarters = [(0, 0), (1, 0), (0, 1), (1, 1)].map { x, y in
        pixels[(y * (height - 1)) * width + x * (width - 1)] > 128
      }
      return quarters.count { $0 } == 1
    }
    let width = try #require(widths.first)
    let height = 64 * 48 / width
    let (right, bottom) = (pixels[width - 1] > 128, pixels[(height - 1) * width] > 128)
    let both = pixels[width * height - 1] > 128
    return (
      both ? "bottom right" : right ? "top right" : bottom ? "bottom left" : "top left", width
    )
  }

  @Test(
    arguments: [
      (Orientation.upright, "top left"), (.mirrored, "top right"), (.halfTurn, "bottom right"),
      (.flipped, "bottom left"), (.transposed, "top left"), (.quarterTurn, "top right"),
      (.transversed, "bottom right"), (.threeQuarterTurn, "bottom left"),
    ], ["mov", "mp4"])
  func moviesKeepHowPicturesAreTurned(turn: (Orientation, String), ending: String) throws {
    let notes = try record("m.\(ending)", Presentation(orientation: turn.0))
    expectEmpty(notes)
    let found = try corner("m.\(ending)")
    expectEqual(found.corner, turn.1)
  }

  @Test func aQuarterTurnIsUprightWithItsCornerAtTheOrigin() throws {
    _ = try record("m.mov", Presentation(orientation: .quarterTurn))
    try expectEqual(probe("m.mov", "stream_side_data=rotation"), "-90")
    let matrix = try probe("m.mov", "stream_side_data=displaymatrix")
    // The height in 16.16 bits: what QuickTime shifts by.
    expectTrue(matrix.contains("\(48 << 16)"))
  }

  @Test func mkvSaysThatItCannotTurnPictures() throws {
    let notes = try record("m.mkv", Presentation(orientation: .quarterTurn))
    expectTrue(notes.contains { $0.contains("shown as they lie") })
  }

  @Test(arguments: ["mov", "mp4", "mkv"]) func moviesKeepAspectAndFields(ending: String) throws {
    for (order, name) in [(FieldOrder.topFirst, "tt"), (.bottomFirst, "bb")] {
      let presentation = Presentation(pixelAspect: PixelAspect(16, 11), fieldOrder: order)
      try expectEmpty(record("\(name).\(ending)", presentation))
      let found = try probe("\(name).\(ending)", "stream=sample_aspect_ratio,field_order")
      expectEqual(found, "16:11 \(name)")
    }
    try expectEmpty(record("plain.\(ending)", Presentation()))
    let plain = try probe("plain.\(ending)", "stream=sample_aspect_ratio,field_order")
    expectFalse(plain.contains("tt"))
    expectFalse(plain.contains("bb"))
    expectFalse(plain.contains("16:11"))
  }

  @Test func anotherPresentationBeginsAnotherMovie() throws {
    let sink = MovieSink(path: scratch.path("m.mov"))
    for presentation in [Presentation(), Presentation(orientation: .halfTurn)] {
      try write(to: sink, format(presentation))
    }
    try sink.finish()
    expectTrue(sink.notes.contains { $0.contains("goes on in") })
  }

  @Test(arguments: [
    (PixelFormat.yuv420p10, "yuvj420p", 10), (.yuv422p12, "yuvj422p", 12),
    (.yuv444p16, "yuvj444p", 16),
  ])
  func deepColourBecomesEightBitsInAMovieAndANote(
    pixels: PixelFormat, name: String, bits: Int
  ) throws {
    let format = FrameFormat(
      pixelFormat: pixels, width: 33, height: 17, color: .jpeg, rate: FrameRate(frames: 10))
    let sink = MovieSink(path: scratch.path("m.mov"), quality: 100)
    var setup = SinkSetup.test(format)
    try sink.configure(&setup)
    let packer = try #require(try sink.makePacker())
    let planes = (0..<3).map { pixels.plane($0, width: 33, height: 17) }
    // A ramp downwards, the same in all planes of one height.
    let wanted = planes.flatMap { size -> [UInt8] in
      (0..<size.rows).flatMap { row -> [UInt8] in
        let level = UInt8(40 + row * 160 / size.rows)
        return [UInt8](repeating: level, count: size.bytesPerRow / 2)
      }
    }
    let bytes = wanted.flatMap { sample -> [UInt8] in
      let word = Int(sample) << (bits - 8)
      return [UInt8(word & 255), UInt8(word >> 8)]
    }
    let frame = SinkFrame(format, bytes, padding: 6, packedCapacity: setup.packedCapacity)
    try frame.write(to: sink, packer: packer)
    try sink.finish()
    expectEqual(sink.notes.count { $0.contains("reduced to 8 bits") }, 1)
    let decoded = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-i", scratch.path("m.mov"), "-pix_fmt", name, "-f", "rawvideo", "-",
      ])
    try #require(decoded.count == wanted.count)
    expectTrue(zip(decoded, wanted).allSatisfy { abs(Int($0) - Int($1)) <= 3 })
  }
}
