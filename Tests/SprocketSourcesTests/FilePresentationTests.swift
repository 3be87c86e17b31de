import Foundation
import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FilePresentationTests {
  /// ffmpeg counts turns counterclockwise where it is asked, and writes what players turn by.
  @Test(arguments: [
    (90, Orientation.threeQuarterTurn), (180, .halfTurn), (270, .quarterTurn), (0, .upright),
  ])
  func aTelephonesTurnIsRead(degrees: Int, orientation: Orientation) throws {
    let clips = try Scratch()
    let lying = try clips.make("lying.mov", frames: 2, ["-c:v", "mpeg4"])
    let path = clips.path("turned.mov")
    _ = try Tool.run(
      "ffmpeg",
      ["-v", "quiet", "-i", lying, "-c", "copy", "-metadata:s:v", "rotate=\(degrees)", path])
    let played = try Played(path)
    expectEqual(played.description.format.presentation.orientation, orientation)
    expectEmpty(played.epochs)
    expectEqual(played.description.format.width, 64)
  }

  @Test(arguments: ["mjpeg", "mpeg4", "ffv1"]) func pixelAspectIsRead(codec: String) throws {
    let clips = try Scratch()
    let path = try clips.make(
      "wide.mkv", frames: 2, ["-vf", "setsar=32/27", "-c:v", codec, "-strict", "-1"])
    let format = try Played(path).description.format
    expectEqual(format.presentation.pixelAspect, PixelAspect(32, 27))
  }

  @Test(arguments: [("tt", "tff", FieldOrder.topFirst), ("bb", "bff", .bottomFirst)])
  func fieldOrderIsRead(name: String, field: String, order: FieldOrder) throws {
    let clips = try Scratch()
    let jpeg = try clips.make("a.mov", frames: 2, ["-c:v", "mjpeg", "-field_order", name])
    try expectEqual(Played(jpeg).description.format.presentation.fieldOrder, order)
    let mpeg2 = try clips.make(
      "b.ts", frames: 6,
      ["-vf", "setfield=\(field)", "-c:v", "mpeg2video", "-flags", "+ildct+ilme"])
    let played = try Played(mpeg2)
    expectEqual(played.description.format.presentation.fieldOrder, order)
    expectEmpty(played.epochs)
  }

  @Test func aFilmThatIsProgressiveIsNotInterlaced() throws {
    let clips = try Scratch()
    let path = try clips.make("a.mp4", frames: 3, ["-c:v", "mpeg4"])
    try expectFalse(Played(path).description.format.presentation.fieldOrder.isInterlaced)
  }

  @Test func anAngleThatIsNoQuarterIsTold() throws {
    let clips = try Scratch()
    let lying = try clips.make("lying.mov", frames: 2, ["-c:v", "mpeg4"])
    // 0.7 and 0.7 instead of 1 and 0 in the track header's matrix: turned by 45 degrees.
    var bytes = try Scratch.bytes(lying)
    let header = try #require(bytes.indices.first { bytes[$0...].starts(with: "tkhd".utf8) })
    let matrix = header + 4 + 40
    for (place, word) in [(0, 0xB333), (1, 0xB333), (3, -0xB333), (4, 0xB333)] {
      let value = UInt32(bitPattern: Int32(word))
      for index in 0..<4 {
        bytes[matrix + 4 * place + index] = UInt8(truncatingIfNeeded: value >> (24 - 8 * index))
      }
    }
    let source = FileSource(path: try clips.write("tilted.mov", bytes))
    let description = try source.open()
    source.close()
    expectEqual(description.format.presentation.orientation, .upright)
    expectTrue(source.notes.contains { $0.contains("no quarter of a turn") })
  }
}

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FieldImageTests {
  /// Two fields of a moving picture as JPEG images of half the height, in one packet.
  private func fields(
    _ index: Int, size: (Int, Int) = (64, 48), parity: (UInt8, UInt8)? = (1, 2), padding: Int = 3
  ) throws -> [UInt8] {
    let images = try [0, 1].map { field in
      try Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-f", "lavfi", "-i",
          "testsrc2=size=\(size.0)x\(size.1):rate=50", "-vf",
          "select=eq(n\\,\(2 * index + field)),field=\(field == 0 ? "top" : "bottom")",
          "-frames:v", "1", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-f", "mjpeg", "-",
        ])
    }
    func marked(_ image: [UInt8], _ parity: UInt8?) -> [UInt8] {
      guard let parity else { return image }
      let mark =
        [0xFF, 0xE0, 0, 16] + Array("AVI1".utf8) + [parity] + [UInt8](repeating: 0, count: 9)
      return image[..<2] + mark + image[2...]
    }
    return marked(images[0], parity?.0) + [UInt8](repeating: 0, count: padding)
      + marked(images[1], parity?.1)
  }

  private func clip(
    _ clips: Scratch, _ packets: [[UInt8]], _ size: (Int, Int) = (64, 48)
  ) throws -> String {
    try clips.write("fields.avi", aviFile(packets, width: size.0, height: size.1))
  }

  /// FFmpeg takes what is called MJPG for bottom first, whatever the images' marks say.
  @Test(arguments: [(64, 48), (64, 50), (50, 46)], [1, 2, nil] as [UInt8?])
  func bothFieldsMakeOnePicture(size: (Int, Int), first: UInt8?) throws {
    let clips = try Scratch()
    let packets = try (0..<3).map {
      try fields($0, size: size, parity: first.map { ($0, 3 - $0) })
    }
    let path = try clip(clips, packets, size)
    var lumas: [UInt8] = []
    var bytes: [[UInt8]] = []
    let played = try Played(path) { _, format, slot in
      bytes.append(slot.sourceRows(0)[0])
      lumas += try #require(unpackedLuma(slot, format)).flatMap { $0 }
    }
    expectEqual(played.description.format.height, size.1)
    expectTrue(played.description.format.hasFieldImages)
    expectEqual(played.description.format.presentation.fieldOrder, .bottomFirst)
    expectEqual(bytes, packets)
    expectEmpty(played.corrupt)
    expectEmpty(played.epochs)
    let decoded = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-i", path, "-vf", "extractplanes=y", "-f", "rawvideo", "-"])
    try #require(lumas.count == decoded.count)
    let worst = zip(lumas, decoded).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    // Two decoders, whose transforms round differently.
    expectAtMost(worst, 2)
  }

  @Test func aFrameThatLacksAFieldIsDamaged() throws {
    let clips = try Scratch()
    var packets = try (0..<3).map { try fields($0) }
    packets[1] = Array(packets[1].prefix(packets[1].count / 2))
    let played = try Played(clip(clips, packets))
    expectEqual(played.corrupt, [1])
    expectEmpty(played.epochs)
    expectEqual(played.frames.count, 3)
  }
}

/// An AVI file of Motion-JPEG, 25 packets a second (Microsoft, "AVI RIFF File Reference").
private func aviFile(_ packets: [[UInt8]], width: Int, height: Int) -> [UInt8] {
  func words(_ values: [Int]) -> [UInt8] {
    values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
  }
  func chunk(_ name: String, _ contents: [UInt8]) -> [UInt8] {
    Array(name.utf8) + words([contents.count]) + contents + (contents.count % 2 == 1 ? [0] : [])
  }
  func list(_ name: String, _ contents: [UInt8]) -> [UInt8] {
    chunk("LIST", Array(name.utf8) + contents)
  }
  let largest = packets.map(\.count).max() ?? 0
  let main = words([40_000, 0, 0, 0x10, packets.count, 0, 1, largest, width, height, 0, 0, 0, 0])
  let stream =
    Array("vidsMJPG".utf8) + words([0, 0, 0, 1, 25, 0, packets.count, largest, -1, 0, 0, 0])
  let picture =
    words([40, width, height, 1 | 24 << 16]) + Array("MJPG".utf8)
    + words([width * height * 3, 0, 0, 0, 0])
  let header = list(
    "hdrl",
    chunk("avih", main) + list("strl", chunk("strh", stream) + chunk("strf", picture)))
  let movie = list("movi", packets.flatMap { chunk("00dc", $0) })
  return chunk("RIFF", Array("AVI ".utf8) + header + movie)
}
