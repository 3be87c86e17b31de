import Foundation
import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FileSourceFaultTests {
  private func refusal(_ path: String) -> RunError? {
    do throws(RunError) {
      _ = try FileSource(path: path).open()
      return nil
    } catch {
      print(error)
      return error
    }
  }

  @Test func whatCannotBePlayedIsRefusedInOneSentence() throws {
    let clips = try Scratch()
    _ = try Tool.run(
      "ffmpeg", ["-v", "quiet", "-f", "lavfi", "-i", "sine=duration=0.2", clips.path("sound.wav")])
    let whole = try Scratch.bytes(try clips.make("whole.mov", ["-c:v", "mjpeg"]))
    let paths = [
      clips.path("nowhere.mov"), clips.url.path, clips.path("sound.wav"),
      try clips.write("empty.avi", []), try clips.write("text.mov", Array("hello".utf8)),
      try clips.write("noise", TestPattern.random.bytes(5000)),
      try clips.write("cut.mov", Array(whole[..<(whole.count / 2)])),
    ]
    for path in paths {
      let error = try #require(refusal(path), "\(path)")
      expectEqual(error.code, .usage)
      expectTrue(error.description.contains(path))
      expectFalse(error.description.contains("\n"))
    }
  }

  @Test func aFrameOfBrokenStructureIsCorruptAndTheOthersAreNot() throws {
    let clips = try Scratch()
    let path = try clips.make("clip.avi", ["-c:v", "mjpeg"])
    var bytes = try Scratch.bytes(path)
    let starts = bytes.indices.dropLast(2).filter {
      bytes[$0] == 0xFF && bytes[$0 + 1] == 0xD8 && bytes[$0 + 2] == 0xFF
    }
    try #require(starts.count == 10)
    bytes[starts[4]] = 0
    // A marker within the picture, where none may be.
    bytes[starts[7] - 20] = 0xFF
    bytes[starts[7] - 19] = 0xC4
    let played = try Played(try clips.write("damaged.avi", bytes))
    expectEqual(played.frames.count, 10)
    expectEqual(played.corrupt, [4, 6])
    expectTrue(played.frames.allSatisfy { $0.byteCount > 0 })
    expectEmpty(played.epochs)

    bytes[starts[0]] = 0
    let first = try Played(try clips.write("first.avi", bytes))
    expectEqual(first.corrupt, [0, 4, 6])
    expectEqual(first.frames.count, 10)
    expectEqual(first.description.format.width, 64)
  }

  @Test func anotherSizeOfJPEGBeginsAnEpoch() throws {
    let clips = try Scratch()
    let mjpeg = ["-c:v", "mjpeg", "-f", "mjpeg", "-pix_fmt"]
    let parts = [
      try clips.make("a", size: "64x48", frames: 3, mjpeg + ["yuvj420p"]),
      try clips.make("b", size: "96x80", frames: 2, mjpeg + ["yuvj420p"]),
      try clips.make("c", size: "96x80", frames: 4, mjpeg + ["yuvj422p"]),
    ]
    let path = try clips.write("all.mjpeg", try parts.flatMap { try Scratch.bytes($0) })
    let played = try Played(path)
    expectTrue(played.frames.count == 9 && played.epochs == [3, 5] && played.corrupt.isEmpty)
    expectEqual(played.frames.map(\.format.width), [64, 64, 64, 96, 96, 96, 96, 96, 96])
    expectEqual(played.frames[4].format.image, .i420)
    expectEqual(played.frames[5].format.image, .yuv422p)
    expectEqual(played.frames.map(\.announced.sequence), (0..<9).map { UInt64($0) })
  }

  @Test func anotherSizeOfDecodedVideoBeginsAnEpoch() throws {
    let clips = try Scratch()
    let film = ["-c:v", "libx264", "-bf", "0", "-f", "h264", "-pix_fmt", "yuv420p"]
    let parts = [
      try clips.make("a", size: "64x48", frames: 3, film),
      try clips.make("b", size: "96x80", frames: 4, film),
    ]
    let path = try clips.write("all.h264", try parts.flatMap { try Scratch.bytes($0) })
    let played = try Played(path)
    expectTrue(played.frames.count == 7 && played.epochs == [3])
    expectEqual(played.frames.map(\.format.width), [64, 64, 64, 96, 96, 96, 96])
    try expectEqual(Tool.probe(path, "frame=width"), played.frames.map { "\($0.format.width)" })
  }

  @Test func aFileThatIsCutOffPlaysAsFarAsItGoes() throws {
    let clips = try Scratch()
    for arguments in [["-c:v", "mjpeg"], ["-c:v", "mpeg4", "-g", "3"]] {
      let whole = try Scratch.bytes(try clips.make("whole.avi", frames: 40, arguments))
      for part in [0.3, 0.55, 0.8] {
        let bytes = Array(whole[..<Int(Double(whole.count) * part)])
        let played = try Played(try clips.write("cut.avi", bytes))
        expectTrue((1..<40).contains(played.frames.count), "\(arguments) \(part)")
        // What is cut in two is the last, if anything is.
        expectTrue(played.corrupt.allSatisfy { $0 >= played.frames.count - 2 })
      }
    }
  }

  @Test func damageInAFilmIsNoMoreThanAFate() throws {
    let clips = try Scratch()
    let arguments = ["-c:v", "libx264", "-g", "10", "-bf", "2"]
    let whole = try Scratch.bytes(
      try clips.make("film.mkv", size: "128x96", frames: 60, arguments))
    var random = TestRandom(seed: 3)
    var damaged = 0
    for _ in 0..<20 {
      var bytes = whole
      for _ in 0..<30 {
        let place = Int.random(in: 2000..<bytes.count, using: &random)
        bytes[place] = .random(in: 0...255, using: &random)
      }
      guard let played = try? Played(try clips.write("damaged.mkv", bytes)) else { continue }
      damaged += played.corrupt.count
      let sequences = played.frames.map(\.announced.sequence)
      expectEqual(sequences, (0..<UInt64(sequences.count)).map { $0 })
    }
    expectGreater(damaged, 0)
  }

  @Test func jpegOfRGBIsDecodedByLibavcodec() throws {
    let clips = try Scratch()
    let whole = try Scratch.bytes(
      try clips.make("a.jpg", frames: 1, ["-c:v", "mjpeg", "-pix_fmt", "yuvj444p", "-f", "mjpeg"]))
    try #require(Array(whole[2..<4]) == [0xFF, 0xE0])
    let length = Int(whole[4]) << 8 | Int(whole[5])
    // Adobe's segment instead of JFIF's: "no transform", so the three planes are red, green and blue.
    let adobe: [UInt8] = [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 0]
    let path = try clips.write("rgb.mjpeg", whole[..<2] + adobe + whole[(4 + length)...])
    var luma: [[UInt8]]?
    let played = try Played(path) { _, format, slot in luma = unpackedLuma(slot, format) }
    expectEqual(played.frames.count, 1)
    expectEmpty(played.corrupt)
    expectUnequal(played.description.format.pixelFormat, .mjpeg)
    expectEqual(played.description.format.color.range, .full)
    expectEqual(luma?.count, 48)
  }
}
