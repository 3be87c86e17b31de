import Foundation
import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

/// What a file may make us open, read and reserve.
@Suite(.enabled(if: Tool.hasFFmpeg)) struct FileContainerTests {
  private func refusal(_ path: String) -> RunError? {
    let source = FileSource(path: path)
    do throws(RunError) {
      _ = try source.open()
      source.close()
      return nil
    } catch {
      print(error)
      return error
    }
  }

  /// Refuses in one sentence that has this word in it.
  private func expectRefusal(_ path: String, _ word: String) throws {
    let error = try #require(refusal(path), "\(path) is opened")
    expectEqual(error.code, .usage)
    expectTrue(error.description.contains(path))
    expectFalse(error.description.contains("\n"))
    expectTrue(error.description.contains(word), "\(error)")
  }

  @Test func whatNamesOtherFilesIsRefusedByName() throws {
    let clips = try Scratch()
    let movie = try clips.make("victim.ts", ["-c:v", "mpeg2video"])
    let hls = """
      #EXTM3U
      #EXT-X-VERSION:3
      #EXT-X-TARGETDURATION:1
      #EXTINF:1.0,
      \(movie)
      #EXT-X-ENDLIST

      """
    for name in ["list.m3u8", "list.mp4", "list.avi", "list"] {
      try expectRefusal(try clips.write(name, Array(hls.utf8)), "kind hls")
    }
    let concat = "ffconcat version 1.0\nfile '\(movie)'\n"
    for name in ["list.ffconcat", "list.mov"] {
      try expectRefusal(try clips.write(name, Array(concat.utf8)), "kind concat")
    }
    let session = "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n"
    try expectRefusal(try clips.write("session.sdp", Array(session.utf8)), "kind sdp")
    try expectRefusal("http://localhost:1/movie.mp4", "network")
    try expectRefusal("rtsp://localhost:1/stream", "network")
  }

  /// As `--source file:` has them.
  @Test func picturesOfAFolderOrAPatternAreFilms() throws {
    let clips = try Scratch()
    _ = try clips.make("picture%03d.png", frames: 3, ["-f", "image2"])
    _ = try clips.write("notes.txt", [1])
    for path in [clips.url.path, clips.path("picture%03d.png"), clips.path("picture*.png")] {
      let played = try Played(path)
      expectEqual(played.frames.map(\.announced.captured.nanoseconds), [0, 40_000_000, 80_000_000])
      expectEqual(played.frames.map(\.announced.sequence), [0, 1, 2])
      expectEqual(played.description.frameCount, 3)
    }
    let source = FileSource(path: clips.url.path)
    _ = try source.open()
    source.interrupt()
    guard case .end = try source.next(timeout: 0) else {
      Issue.record("it is not interrupted")
      return
    }
    source.close()
    expectEqual(source.notes.count, 1)
    expectTrue(source.notes[0].contains("1 file"))
  }

  /// A movie whose track lies in another file, as QuickTime has it: an alias with an absolute path.
  @Test func aTrackInAnotherFileIsNotFollowed() throws {
    let clips = try Scratch()
    let whole = try Scratch.bytes(try clips.make("victim.mov", ["-c:v", "mjpeg"]))
    let entry: [UInt8] = [0, 0, 0, 12] + Array("url ".utf8) + [0, 0, 0, 1]
    let place = try #require(
      whole.indices.dropLast(12).first { Array(whole[$0..<$0 + 12]) == entry })
    var movie = whole
    // No longer: "in this file". The kind is one that libavformat would follow if it were let.
    movie.replaceSubrange(place + 4..<place + 8, with: Array("alis".utf8))
    movie[place + 11] = 0
    let error = refusal(try clips.write("outside.mov", movie))
    // It may play what lies in the file itself, but nothing else.
    if let error { expectFalse(error.description.contains("\n")) }
  }

  @Test func attachmentsAreNoVideo() throws {
    let clips = try Scratch()
    let list = try clips.write("notes.txt", Array("#EXTM3U\nhttp://localhost:1/x\n".utf8))
    let path = try clips.make(
      "film.mkv", ["-c:v", "mjpeg", "-attach", list, "-metadata:s:t", "mimetype=text/plain"])
    try expectEqual(Played(path).frames.count, 10)
  }

  @Test func pipesAndDevicesAreRefusedAtOnce() throws {
    let clips = try Scratch()
    _ = try Tool.run("mkfifo", [clips.path("pipe")])
    try expectRefusal(clips.path("pipe"), "pipe")
    try FileManager.default.createSymbolicLink(
      atPath: clips.path("link.mov"), withDestinationPath: clips.path("pipe"))
    try expectRefusal(clips.path("link.mov"), "pipe")
    try expectRefusal("/dev/null", "device")
    try expectRefusal("/dev/tty", "/dev/tty")
  }

  @Test func hugePicturesInFewBytesAreRefused() throws {
    let clips = try Scratch()
    let jpeg = try Scratch.bytes(
      try clips.make("a.jpg", frames: 1, ["-c:v", "mjpeg", "-f", "mjpeg"]))
    let frame = try #require(
      jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
    for side in [65500, 16384, 9000] {
      var bomb = jpeg
      for place in [5, 7] {
        bomb[frame + place] = UInt8(side >> 8)
        bomb[frame + place + 1] = UInt8(side & 255)
      }
      let path = try clips.write("bomb.jpg", bomb)
      // What is not refused is damaged, and says so.
      if refusal(path) == nil { try expectEqual(Played(path).corrupt, [0]) }
    }
    // The size of a QuickTime track, behind what says that it is Motion-JPEG.
    var movie = try Scratch.bytes(try clips.make("a.mov", ["-c:v", "mjpeg"]))
    let entry = try #require(
      movie.indices.dropLast(4).first { Array(movie[$0..<$0 + 4]) == Array("jpeg".utf8) })
    for place in 0..<4 { movie[entry + 28 + place] = 0xFF }
    let path = try clips.write("bomb.mov", movie)
    if let error = refusal(path) {
      expectTrue(error.description.contains("65535x65535"))
    } else {
      try expectLess(Played(path).description.format.width, 65535)
    }
    let header = Array("YUV4MPEG2 W65500 H65500 F25:1 C420\nFRAME\n".utf8)
    expectNotNil(refusal(try clips.write("bomb.y4m", header)))
  }

  @Test func anInterruptedFileIsLeft() throws {
    let clips = try Scratch()
    let path = try clips.make("clip.avi", ["-c:v", "mjpeg"])
    let early = FileSource(path: path)
    early.interrupt()
    do {
      _ = try early.open()
      Issue.record("it opens")
    } catch { expectEqual(error.code, .interrupted) }
    let source = FileSource(path: path)
    _ = try source.open()
    guard case .frame = try source.next(timeout: 0) else {
      Issue.record("there is a frame")
      return
    }
    source.discard()
    source.interrupt()
    guard case .end = try source.next(timeout: 0) else {
      Issue.record("it goes on")
      return
    }
    source.close()
  }
}
