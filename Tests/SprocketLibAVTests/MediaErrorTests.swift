import Foundation
import SprocketLibAV
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct MediaErrorTests {
  private func error(_ path: String) -> MediaError? {
    do throws(MediaError) {
      _ = try MediaReader(path: path)
      return nil
    } catch {
      print(error)
      return error
    }
  }

  @Test func namesWhatCannotBeOpened() throws {
    let clips = try Scratch()
    expectEqual(error(clips.path("nowhere.mov"))?.code, .notFound)
    expectEqual(error(clips.url.path)?.code, .isDirectory)
    expectEqual(error(try clips.write("empty.avi", []))?.code, .emptyFile)
    expectEqual(error(try clips.write("text.mov", Array("hello, world".utf8)))?.code, .notMedia)
    let noise = TestPattern.random.bytes(5000)
    // This noise looks like sound to libavformat.
    expectEqual(error(try clips.write("noise", noise))?.code, .noVideo)
  }

  @Test func namesAFileThatMayNotBeRead() throws {
    // A superuser may read everything.
    guard getuid() != 0 else { return }
    let clips = try Scratch()
    let path = try clips.write("secret.mov", [1, 2, 3])
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    expectEqual(error(path)?.code, .notPermitted)
  }

  @Test func namesAFileWithoutVideo() throws {
    let clips = try Scratch()
    _ = try Tool.run(
      "ffmpeg",
      ["-v", "quiet", "-f", "lavfi", "-i", "sine=duration=0.2", clips.path("sound.wav")])
    expectEqual(error(clips.path("sound.wav"))?.code, .noVideo)
  }

  @Test func namesARecordingThatWasCutOff() throws {
    let clips = try Scratch()
    let whole = try clips.make("whole.mov", size: "160x120", ["-c:v", "mjpeg"])
    let bytes = try Scratch.bytes(whole)
    let cut = try clips.write("cut.mov", Array(bytes[..<(bytes.count / 2)]))
    let found = error(cut)
    expectEqual(found?.code, .unfinished)
    expectEqual(found?.path, cut)
    expectEqual(found?.operation, "avformat_open_input")
  }

  @Test func opensNothingButFiles() {
    expectEqual(error("http://localhost:1/x.mov")?.code, .notFound)
    expectEqual(error("http://localhost:1/x.mov")?.description.contains("network"), true)
    expectEqual(error("concat:a.avi|b.avi")?.code, .notFound)
  }
}
