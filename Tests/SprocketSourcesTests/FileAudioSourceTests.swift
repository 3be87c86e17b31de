import SprocketCore
import SprocketSources
import TestExpectations
import TestSupport
import Testing

@Suite(.enabled(if: Tool.hasFFmpeg)) struct FileAudioSourceTests {
  let files: Scratch

  init() throws { files = try Scratch() }

  /// All that a source plays.
  struct Played {
    var description: AudioDescription
    var bytes: [UInt8] = []
    var blocks: [(count: Int, missing: UInt64, time: Int64)] = []

    init(_ source: FileAudioSource) throws {
      description = try source.open()
      defer { source.close() }
      let sample = description.format.sampleBytes
      var buffer = [UInt8](repeating: 0, count: description.blockSamples * sample)
      while true {
        var span = buffer.mutableSpan
        switch try source.read(into: &span, timeout: 1_000_000) {
        case .nothing: continue
        case .end: return
        case .block(let block):
          guard case .exact(let time) = block.timing else { continue }
          blocks.append((block.count, block.missing, time))
          bytes += buffer[..<(block.count * sample)]
        }
      }
    }

    var samples: Int { blocks.reduce(0) { $0 + $1.count } }
  }

  /// A second and a half of pictures and sound; `offset` seconds are between their beginnings.
  func clip(_ name: String, offset: Double = 0, _ codecs: [String]) throws -> String {
    let path = files.path(name)
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1.5",
        "-itsoffset", "\(offset)", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=1.5",
      ] + codecs + [path])
    return path
  }

  static let mjpegAndPCM = ["-c:v", "mjpeg", "-c:a", "pcm_s16le"]
  static let h264AndAAC = ["-c:v", "libx264", "-bf", "2", "-c:a", "aac"]

  @Test func samplesAreThoseThatFFmpegDecodes() throws {
    let path = try clip("a.mkv", Self.h264AndAAC)
    let played = try Played(FileAudioSource(path: path))
    let bytes = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-c:a", "pcm_f32le", "-"])
    expectEqual(played.bytes, bytes)
    var format = AudioFormat(number: .f32, rate: 48_000, channels: 1)
    // One channel is in the middle.
    format.speakers = 4
    expectEqual(played.description.format, format)
    expectFalse(played.description.isLive)
    expectEqual(played.description.clock, .media)
    expectEqual(played.description.setup, "aac, stream 1")
  }

  /// Sound that begins later or earlier than the pictures does so on the same clock.
  @Test(arguments: ["a.mov", "a.mkv", "a.avi"], [0, 0.5])
  func timesAreOnThePicturesClock(name: String, offset: Double) throws {
    let path = try clip(name, offset: offset, Self.mjpegAndPCM)
    let pictures = FileSource(path: path)
    _ = try pictures.open()
    guard case .frame(let frame) = try pictures.next(timeout: 0) else {
      Issue.record("there is no picture")
      return
    }
    pictures.close()
    let played = try Played(FileAudioSource(path: path))
    let apart = try #require(played.blocks.first).time - frame.captured.nanoseconds
    // AVI has sound from the start, with silence before.
    let expected = name == "a.avi" ? 0 : Int64(offset * 1e9)
    expectLess(abs(apart - expected), 1_000_000)
  }

  @Test(arguments: ["a.mov", "a.mkv"], [0, 0.5])
  func fromCountsFromTheFirstPicture(name: String, offset: Double) throws {
    let path = try clip(name, offset: offset, Self.mjpegAndPCM)
    var settings = FileSettings()
    settings.from = .milliseconds(300)
    let pictures = FileSource(path: path, settings)
    let sound = FileAudioSource(of: pictures)
    let played = try Played(sound)
    // What is not there by then begins later.
    let first = try #require(played.blocks.first)
    expectLess(abs(first.time - max(300_000_000, Int64(offset * 1e9))), 1_000_000)
    expectEqual(first.missing, 0)
    expectAtMost(abs(played.samples - (offset == 0 ? 57_600 : 72_000)), 48)
  }

  @Test func atRealPacePicturesAndSoundAreDueByOneClock() async throws {
    let path = try clip("a.mov", Self.mjpegAndPCM)
    var settings = FileSettings()
    settings.pace = .real
    let pictures = FileSource(path: path, settings)
    let sound = FileAudioSource(of: pictures)
    // Sound is read to its end, and then a picture whose time is long over.
    let played = try Played(sound)
    expectTrue(played.description.isLive)
    expectEqual(played.description.clock, .monotonic)
    let first = try #require(played.blocks.first).time
    let last = try #require(played.blocks.last)
    // The last sample comes when it was heard.
    expectAtLeast(monotonicNow(), last.time + Int64(last.count) * 1_000_000_000 / 48_000)
    expectEqual(last.time - first, Int64(played.samples - last.count) * 1_000_000_000 / 48_000)
    _ = try pictures.open()
    guard case .frame(let frame) = try pictures.next(timeout: 0) else {
      Issue.record("there is no picture")
      return
    }
    pictures.close()
    expectEqual(frame.captured.nanoseconds, first)
  }

  @Test func whoTakesTheSoundIsNotToldThatItIsLeftOut() throws {
    let path = try clip("a.mov", Self.mjpegAndPCM)
    for takesSound in [false, true] {
      let pictures = FileSource(path: path)
      if takesSound { _ = FileAudioSource(of: pictures) }
      _ = try pictures.open()
      expectEqual(pictures.notes.isEmpty, takesSound)
      pictures.close()
    }
  }

  @Test func anInterruptEndsIt() throws {
    let path = try clip("a.mov", Self.mjpegAndPCM)
    let source = FileAudioSource(path: path)
    _ = try source.open()
    source.interrupt()
    var bytes = [UInt8](repeating: 0, count: 48_000)
    var span = bytes.mutableSpan
    guard case .end = try source.read(into: &span, timeout: 0) else {
      Issue.record("it goes on")
      return
    }
    let unopened = FileAudioSource(path: path)
    unopened.interrupt()
    let error = #expect(throws: RunError.self) { try unopened.open() }
    expectEqual(error?.code, .interrupted)
  }
}
