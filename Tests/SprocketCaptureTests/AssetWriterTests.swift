import Sprocket
import SprocketCapture
import TestExpectations
import TestSupport
import Testing

@Suite struct AssetWriterTests {
  private static let format = FrameFormat(
    pixelFormat: .i420, width: 64, height: 48, color: .jpeg, rate: FrameRate(frames: 25))
  private static let mono = AudioFormat(number: .s16, rate: 8000, channels: 1)
  private let picture = [UInt8](repeating: 90, count: 64 * 48 * 3 / 2)

  @Test(arguments: ["clip.mp4", "clip.mov", "clip.mkv"])
  func aMovieHasThePicturesAndTheSoundSinceTheSessionsStart(name: String) async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path(name))
    var settings = VideoSettings()
    settings.displaySize = (32, 24)
    settings.preset = "ultrafast"
    let video = AssetWriter.VideoInput(Self.format, settings)
    let audio = AssetWriter.AudioInput(Self.mono)
    try writer.add(video)
    try writer.add(audio)
    try writer.startWriting()
    try writer.startSession(at: 1_000_000_000)
    let samples = [UInt8](repeating: 3, count: 640)
    for index in 20..<75 {
      let time = Int64(index) * 40_000_000
      let expected: AssetWriter.Appended = index < 25 ? .early : .taken
      try expectEqual(video.append(picture.span, at: time), expected)
      try expectEqual(audio.append(samples.span, at: time), expected)
    }
    let asset = try await writer.finishWriting()
    expectEqual(asset.frames, 50)
    expectEqual(asset.droppedFrames, 0)
    let streams = try ffprobe(asset.path, "stream=codec_name,width,height,sample_rate")
    expectEqual(streams.first, "h264,32,24")
    expectEqual(streams.last, "aac,8000")
    let packets = try ffprobe(asset.path, "packet=stream_index,pts_time").compactMap { line in
      let parts = line.split(separator: ",")
      return parts.first == "0" ? Double(parts[1]) : nil
    }.sorted()
    expectEqual(packets.count, 50)
    expectLess(abs((packets.last ?? 0) - (packets.first ?? 0) - 49 * 0.04), 0.002)
    guard case .completed = writer.state else {
      Issue.record("\(writer.state)")
      return
    }
  }

  /// The file's own size is turned, so that it is displayed as asked.
  @Test func aTurnedMovieIsDisplayedInTheSizeThatWasAskedFor() async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path("clip.mp4"))
    var settings = VideoSettings()
    settings.transform = .quarterTurn
    settings.displaySize = (48, 64)
    settings.scalingMode = .resizeAspectFill
    let video = AssetWriter.VideoInput(Self.format, settings)
    try writer.add(video)
    try writer.startWriting()
    try writer.startSession(at: 0)
    try video.append(picture.span, at: 0)
    let asset = try await writer.finishWriting()
    let sizes = try ffprobe(asset.path, "stream=width,height")
    expectEqual(sizes.first?.hasPrefix("64,48"), true)
    // ffprobe counts against the clock.
    try expectEqual(ffprobe(asset.path, "stream_side_data=rotation"), ["-90"])
  }

  @Test func movesOutOfTurnAreErrors() async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path("clip.mp4"))
    let video = AssetWriter.VideoInput(Self.format)
    #expect(throws: CaptureError.self) { try writer.startWriting() }
    #expect(throws: CaptureError.self) { try writer.startSession(at: 0) }
    await #expect(throws: CaptureError.self) { try await writer.finishWriting() }
    #expect(throws: CaptureError.self) { try video.append(picture.span, at: 0) }
    try writer.add(video)
    #expect(throws: CaptureError.self) { try writer.add(AssetWriter.VideoInput(Self.format)) }
    #expect(throws: CaptureError.self) {
      try AssetWriter(path: scratch.path("b.mp4")).add(video)
    }
    try writer.startWriting()
    #expect(throws: CaptureError.self) { try writer.add(AssetWriter.AudioInput(Self.mono)) }
    #expect(throws: CaptureError.self) { try video.append(picture.span, at: 0) }
    try writer.startSession(at: 0)
    #expect(throws: CaptureError.self) { try writer.startSession(at: 0) }
    try video.append(picture.span, at: 5)
    #expect(throws: CaptureError.self) { try video.append(picture.span, at: 5) }
    let part = [UInt8](repeating: 0, count: 9)
    #expect(throws: CaptureError.self) { try video.append(part.span, at: 9) }
    _ = try await writer.finishWriting()
    await #expect(throws: CaptureError.self) { try await writer.finishWriting() }
    #expect(throws: CaptureError.self) { try video.append(picture.span, at: 40) }
  }

  @Test func aFileThatExistsIsKept() async throws {
    let scratch = try Scratch()
    let path = try scratch.write("clip.mp4", Array("mine".utf8))
    let writer = AssetWriter(path: path)
    try writer.add(AssetWriter.VideoInput(Self.format))
    #expect(throws: CaptureError.self) { try writer.startWriting() }
    try expectEqual(scratch.text("clip.mp4"), "mine")
  }

  @Test func cancellingDeletesTheFile() async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path("clip.mp4"))
    let video = AssetWriter.VideoInput(Self.format)
    try writer.add(video)
    try writer.startWriting()
    try writer.startSession(at: 0)
    for index in 0..<10 { try video.append(picture.span, at: Int64(index) * 40_000_000) }
    await writer.cancelWriting()
    #expect(throws: CaptureError.self) { try video.append(picture.span, at: 1_000_000_000) }
    let source = FileSource(path: scratch.path("clip.mp4"))
    #expect(throws: RunError.self) { try source.open() }
  }

  /// An older file of that name is kept until a new one is complete.
  @Test func cancellingKeepsTheOlderFile() async throws {
    let scratch = try Scratch()
    let path = try scratch.write("clip.mp4", Array("mine".utf8))
    for count in [0, 10] {
      let writer = AssetWriter(path: path, overwrite: true)
      let video = AssetWriter.VideoInput(Self.format)
      try writer.add(video)
      try writer.startWriting()
      try writer.startSession(at: 0)
      for index in 0..<count { try video.append(picture.span, at: Int64(index) * 40_000_000) }
      // Also where the task that cancels it is cancelled itself.
      let task = Task { await writer.cancelWriting() }
      task.cancel()
      await task.value
      try expectEqual(scratch.text("clip.mp4"), "mine")
    }
  }

  @Test func aCancelledTaskFinishesItsFileAllTheSame() async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path("clip.mp4"))
    let video = AssetWriter.VideoInput(Self.format)
    try writer.add(video)
    try writer.startWriting()
    try writer.startSession(at: 0)
    for index in 0..<10 { try video.append(picture.span, at: Int64(index) * 40_000_000) }
    let task = Task { try await writer.finishWriting() }
    task.cancel()
    try await expectEqual(task.value.frames, 10)
  }

  /// Live, an input without room says so, and nothing waits.
  @Test func aFrameWithoutRoomIsDroppedAndCountedInRealTime() async throws {
    let scratch = try Scratch()
    let writer = AssetWriter(path: scratch.path("clip.mp4"), expectsMediaDataInRealTime: true)
    let video = AssetWriter.VideoInput(Self.format, VideoSettings(.jpeg))
    let audio = AssetWriter.AudioInput(Self.mono)
    try writer.add(video)
    try writer.add(audio)
    try writer.startWriting()
    try writer.startSession(at: 0)
    var counts: [AssetWriter.Appended: UInt64] = [:]
    for index in 0..<2000 {
      counts[try video.append(picture.span, at: Int64(index + 1) * 1_000_000), default: 0] += 1
    }
    let asset = try await writer.finishWriting()
    expectNil(counts[.early])
    expectGreater(asset.frames, 0)
    expectAtMost(asset.frames, counts[.taken] ?? 0)
  }

  @Test func settingsThatACodecHasNotAreRefused() throws {
    let scratch = try Scratch()
    var settings = VideoSettings(.jpeg)
    settings.profile = "main"
    let writer = AssetWriter(path: scratch.path("clip.mp4"))
    try writer.add(AssetWriter.VideoInput(Self.format, settings))
    let error = #expect(throws: CaptureError.self) { try writer.startWriting() }
    expectEqual(error?.description, "JPEG has no profile; set quality, or choose another codec")
  }
}
