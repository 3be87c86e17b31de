import Foundation
import Sprocket
import SprocketCapture
import TestExpectations
import TestSupport
import Testing

/// Where a writer's movie ends, what is said of that, and what the file says of itself.
@Suite struct WriterEndTests {
  private static let format = FrameFormat(
    pixelFormat: .i420, width: 64, height: 48, color: .jpeg, rate: FrameRate(frames: 25))
  private static let mono = AudioFormat(number: .s16, rate: 8000, channels: 1)
  private let picture = [UInt8](repeating: 90, count: 64 * 48 * 3 / 2)
  private let samples = [UInt8](repeating: 3, count: 640)

  private func begun(
    _ path: String, _ settings: VideoSettings = VideoSettings(.jpeg),
    metadata: MovieMetadata = MovieMetadata(), hasSound: Bool = true, sound: AudioCodec = .aac
  ) throws -> (AssetWriter, AssetWriter.VideoInput, AssetWriter.AudioInput) {
    let writer = AssetWriter(path: path, metadata: metadata)
    let video = AssetWriter.VideoInput(Self.format, settings)
    let audio = AssetWriter.AudioInput(Self.mono, AudioSettings(sound))
    try writer.add(video)
    if hasSound { try writer.add(audio) }
    try writer.startWriting()
    return (writer, video, audio)
  }

  @Test func theLastPictureLastsAsLongAsTheCallerSays() async throws {
    let scratch = try Scratch()
    let (writer, video, audio) = try begun(scratch.path("clip.mov"))
    try writer.startSession(at: 0)
    try video.append(picture.span, at: 0)
    try video.append(picture.span, at: 100_000_000)
    try writer.endSession(at: 12_345_000_000)
    video.markAsFinished()
    // More than the engine reads ahead of pictures.
    for index in 0..<200 {
      let expected: AssetWriter.Appended = index < 155 ? .taken : .late
      try expectEqual(audio.append(samples.span, at: Int64(index) * 80_000_000), expected)
    }
    let asset = try await writer.finishWriting()
    try expectEqual(
      ffprobe(asset.path, "stream=duration_ts"), ["\(12_345 * 90)", "\(12_345 * 8)"])
    expectEqual(asset.notes.filter { $0.contains("behind the end") }.count, 1)
  }

  @Test func soundWithoutATimeBeginsWithTheSession() async throws {
    let scratch = try Scratch()
    let (writer, video, audio) = try begun(scratch.path("clip.mov"))
    try writer.startSession(at: 7_000_000_000)
    try video.append(picture.span, at: 7_000_000_000)
    for _ in 0..<2 { try expectEqual(audio.append(samples.span), .taken) }
    let asset = try await writer.finishWriting()
    // All of it, and the picture's 40 ms are half of that.
    try expectEqual(ffprobe(asset.path, "stream=duration_ts").last, "320")
    expectTrue(asset.notes.contains { $0.hasSuffix("for 40 ms, which are left out") })
  }

  @Test func soundThatFoundNoRoomIsAppendedAgainWithoutAGap() async throws {
    let scratch = try Scratch()
    let (writer, video, audio) = try begun(scratch.path("clip.mov"), sound: .pcm)
    try writer.startSession(at: 0)
    var (taken, full) = (0, 0)
    // Sound waits for pictures, which are behind.
    while full < 3 {
      switch try audio.append(samples.span, waiting: .zero) {
      case .taken: taken += 1
      default: full += 1
      }
    }
    for index in 0...taken { try video.append(picture.span, at: Int64(index) * 40_000_000) }
    try expectEqual(audio.append(samples.span), .taken)
    try writer.endSession(at: Int64(taken + 1) * 40_000_000)
    let asset = try await writer.finishWriting()
    expectEqual(asset.notes, [])
    try expectEqual(ffprobe(asset.path, "stream=duration_ts").last, "\((taken + 1) * 320)")
    let copy = scratch.path("sound.raw")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "ffmpeg", "-v", "error", "-i", asset.path, "-map", "0:a", "-f", "s16le", copy,
    ]
    try process.run()
    process.waitUntilExit()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
    expectEqual(bytes.count, (taken + 1) * 640)
    expectEqual(bytes.count { $0 != 3 }, 0)
  }

  @Test func aSessionDoesNotEndBeforeItsFirstPictureNorInAnotherClock() async throws {
    let scratch = try Scratch()
    let (writer, video, _) = try begun(scratch.path("clip.mov"))
    try writer.startSession(at: 0)
    try video.append(picture.span, at: 1_000_000_000)
    for time: Int64 in [500_000_000, 1_000_000_000, 1_700_000_000_000_000_000, .max] {
      let error = #expect(throws: CaptureError.self) { try writer.endSession(at: time) }
      expectEqual(error?.code, .settingsRefused)
    }
    try writer.endSession(at: 1_500_000_000)
    let asset = try await writer.finishWriting()
    try expectEqual(ffprobe(asset.path, "stream=duration_ts"), ["45000", "4000"])
  }

  @Test func movesAtTheEndThatAreOutOfTurnSayWhy() async throws {
    let scratch = try Scratch()
    let (writer, video, audio) = try begun(scratch.path("clip.mov"))
    #expect(throws: CaptureError.self) { try writer.endSession(at: 5) }
    try writer.startSession(at: 1000)
    let early = #expect(throws: CaptureError.self) { try writer.endSession(at: 1000) }
    expectEqual(
      early?.description,
      "the session cannot end at 1000 ns, since it started at 1000 ns; end it later")
    try video.append(picture.span, at: 1000)
    try writer.endSession(at: 40_000_000)
    let twice = #expect(throws: CaptureError.self) { try writer.endSession(at: 50_000_000) }
    expectEqual(
      twice?.description,
      "the session was ended at 40000000 ns before; endSession is called once")
    try expectEqual(video.append(picture.span, at: 40_000_000), .late)
    try expectEqual(video.append(picture.span, at: 39_000_000), .taken)
    try expectEqual(audio.append(samples.span, at: 40_000_000), .late)
    video.markAsFinished()
    let finished = #expect(throws: CaptureError.self) {
      try video.append(picture.span, at: 39_500_000)
    }
    expectEqual(finished?.description.contains("marked as finished"), true)
    try expectEqual(audio.append(samples.span, at: 0), .taken)
    let asset = try await writer.finishWriting()
    expectEqual(asset.frames, 2)
    expectEqual(asset.leftOutFrames, 1)
    #expect(throws: CaptureError.self) { try writer.endSession(at: 60_000_000) }
  }

  @Test func aWriterWithoutAPictureFailsAndSaysSo() async throws {
    let scratch = try Scratch()
    let (writer, video, audio) = try begun(scratch.path("clip.mov"))
    try writer.startSession(at: 50)
    try expectEqual(video.append(picture.span, at: 10), .early)
    video.markAsFinished()
    try expectEqual(audio.append(samples.span, at: 50), .late)
    let error = await #expect(throws: CaptureError.self) { try await writer.finishWriting() }
    expectEqual(error?.description.hasPrefix("no picture was appended to "), true)
    guard case .failed = writer.state else {
      Issue.record("\(writer.state)")
      return
    }
  }

  @Test func aFrameOfASessionIsAppendedAtATimeOfOnesOwn() async throws {
    let scratch = try Scratch()
    let session = try CaptureSession()
    let size = Cameras.small
    var format = FrameFormat(
      pixelFormat: .i420, width: size.width, height: size.height, color: .jpeg,
      rate: FrameRate(frames: 25))
    format.pixelFormat = .yuyv
    let writer = AssetWriter(path: scratch.path("clip.mov"))
    let count = Shared(Int64(0))
    let inputs = Shared<AssetWriter.VideoInput?>(nil)
    let output = VideoDataOutput(reading: .image) { frame in
      guard let video = inputs.value, count.value < 3 else { return }
      let taken = try? video.append(frame, at: count.value * 1_000_000_000)
      if taken == .taken { count.change { $0 += 1 } }
    }
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(output)
    }
    try await session.start()
    if let active = await session.activeFormat { format = active }
    let video = AssetWriter.VideoInput(format, VideoSettings(.jpeg))
    try writer.add(video)
    try writer.startWriting()
    try writer.startSession(at: 0)
    inputs.change { $0 = video }
    await expectTrue(until { count.value == 3 })
    await session.stop()
    let asset = try await writer.finishWriting()
    try expectEqual(
      ffprobe(asset.path, "packet=pts_time").map { $0.prefix(3) }, ["0.0", "1.0", "2.0"])
  }

  @Test(arguments: ["clip.mov", "clip.mp4", "clip.mkv"])
  func aFileSaysOfItselfWhatTheProgramGave(name: String) async throws {
    let scratch = try Scratch()
    var metadata = MovieMetadata()
    (metadata.title, metadata.make, metadata.software) = ("Eisbach, früh", "Sprocket", "Clips 1")
    metadata.location = MovieLocation(latitude: 48.1372, longitude: 11.5756, altitude: 519)
    expectTrue(metadata.tags.set("scene", "4; 5"))
    expectTrue(!metadata.tags.set("captured_ns", "1") && !metadata.tags.set("a b", "1"))
    let (writer, video, _) = try begun(
      scratch.path(name), metadata: metadata, hasSound: false)
    try writer.startSession(at: 0)
    try video.append(picture.span, at: 0)
    let asset = try await writer.finishWriting()
    let tags = try ffprobe(asset.path, "format_tags", format: "default=nk=0")
    let prefix = name == "clip.mkv" ? "TAG:" : "TAG:com.apple.quicktime."
    let place = name == "clip.mkv" ? "LOCATION" : "location.ISO6709"
    let make = name == "clip.mkv" ? "MAKE" : "make"
    expectTrue(tags.contains("TAG:title=Eisbach, früh"), "\(tags)")
    expectTrue(tags.contains("\(prefix)\(make)=Sprocket"), "\(tags)")
    expectTrue(tags.contains("\(prefix)\(place)=+48.1372+011.5756+519/"), "\(tags)")
    expectTrue(tags.contains { $0.lowercased() == "tag:scene=4; 5" }, "\(tags)")
  }

  @Test func aPlaceIsThatOfISO6709() throws {
    for text in ["+48.1372+011.5756+519/", "-00.5-179.999999/", "+90+180-11.5/", "+00+000/"] {
      expectEqual(MovieLocation(settingText: text)?.settingText, text)
    }
    for text in ["", "/", "48.1+011.5/", "+48.1+011.5", "+4.1+011.5/", "+91+000/", "+48.+011/"] {
      expectNil(MovieLocation(settingText: text), "\(text)")
    }
    expectEqual(
      MovieLocation(latitude: -0.00000001, longitude: -11.5)?.settingText, "+00-011.5/")
    expectNil(MovieLocation(latitude: .nan, longitude: 0))
  }

  @Test func aCodecIsMadeByItsName() throws {
    try expectEqual(MovieCodec(named: "hevc"), .hevc)
    let error = #expect(throws: RunError.self) { try MovieCodec(named: "h263x") }
    expectEqual(error?.description.contains("auto, mjpeg, h264, hevc, av1, vp9, vp8"), true)
  }
}
