import Sprocket
import SprocketCapture
import SprocketPipelines
import TestExpectations
import Testing

@Suite("A session of sound alone", .serialized) struct SoundAloneTests {
  private static func session(
    _ microphone: CaptureDevice, adding: (inout CaptureSession.Configuration) -> Void
  ) async throws -> CaptureSession {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(microphone))
      adding(&c)
    }
    return session
  }

  @Test("starts, gives blocks, levels and volume, stops and starts again") func life() async throws
  {
    let count = Shared(0)
    let output = AudioDataOutput { _, _ in count.change { $0 += 1 } }
    let (copying, blocks) = AudioDataOutput.copies()
    let session = try CaptureSession()
    await #expect(throws: CaptureError.self) { try await session.start() }
    let microphone = CaptureDevice(sceneMicrophone: SceneMicrophoneSettings(), name: "alone")
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(microphone))
      c.soundStages = [.gain()]
      // Stages of pictures wait for a camera.
      c.stages = [.meter()]
      c.add(copying)
      return c.add(output)
    }
    let changes = Shared<[Bool]>([])
    let runningChanges = session.runningChanges
    let watch = Task {
      for await isRunning in runningChanges { changes.change { $0.append(isRunning) } }
    }
    for _ in 0..<2 {
      let before = count.value
      try await session.start()
      await expectTrue(until { count.value >= before + 20 })
      let link = added.link(for: .audio)
      expectEqual(link.levels.count, 2)
      try link.setVolume(0)
      await expectTrue(until { link.levels.allSatisfy { $0.peak < -60 } })
      try link.setVolume(1)
      await expectNil(session.activeFormat)
      await expectFalse(session.isInterrupted)
      await session.stop()
      let summary = try #require(await session.summary)
      expectTrue(summary.isOver)
      expectEmpty(summary.errors)
      expectTrue(summary.audio.allSatisfy { $0.ledger.isBalanced })
    }
    var seen = 0
    for await block in blocks {
      expectFalse(block.bytes.isEmpty)
      seen += 1
      if seen == 20 { break }
    }
    await expectTrue(until { changes.value == [true, false, true, false] })
    watch.cancel()
    let pipeline = try #require(await session.pipeline)
    expectEqual(pipeline.source?.kind, "none")
    expectEqual(pipeline.sound.microphones.count, 1)
    expectEmpty(pipeline.stages)
  }

  @Test("a movie output records files of sound, one after the other, to the sample")
  func recordings() async throws {
    let folder = try TestFolder()
    let (movies, whole, photos) = (MovieFileOutput(), AudioFileOutput(), PhotoOutput())
    let session = try await Self.session(ClockSound.device("recorded")) { c in
      c.add(movies)
      c.add(whole)
      c.add(photos)
    }
    #expect(throws: CaptureError.self) { try movies.startRecording(to: folder.file("a.wav")) }
    try await session.start()
    let refusal = #expect(throws: CaptureError.self) { try photos.capture(PhotoSettings(.jpeg)) }
    expectEqual(refusal?.code, .noInput)
    let all = try whole.startRecording(to: folder.file("all.mov"))
    await expectTrue(until { whole.recordedDuration > .milliseconds(100) })
    let first = try movies.startRecording(to: folder.file("a.wav"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(300) })
    #expect(throws: CaptureError.self) { try movies.startRecording(to: folder.file("b.mp4")) }
    #expect(throws: CaptureError.self) { try movies.startRecording(to: folder.file("a.wav")) }
    let pause = #expect(throws: CaptureError.self) { try movies.pauseRecording() }
    expectEqual(pause?.code, .settingsRefused)
    let second = try movies.startRecording(to: folder.file("b.mov"))
    let a = await first.finished()
    expectTrue(movies.isRecording)
    await expectTrue(until { movies.recordedDuration > .milliseconds(300) })
    second.stop()
    let b = await second.finished()
    expectFalse(movies.isRecording)
    let third = try movies.startRecording(to: folder.file("c.flac"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(200) })
    await session.stop()
    let (c, d) = (await third.finished(), await all.finished())
    for result in [a, b, c, d] {
      expectNil(result.error)
      expectTrue(result.isUsable)
      expectGreater(result.byteCount, 1000)
      try await result.verify()
    }
    expectEqual([a, b, c, d].map(\.reason), [.asked, .asked, .end, .end])
    try expectEqual(ffprobe(b.path, "stream=codec_type"), ["audio"])
    let (heard, next) = (try HeardFile(a.path), try HeardFile(b.path))
    let long = try HeardFile(d.path)
    let both = heard.samples + next.samples
    let start = try #require(long.samples.firstIndex(of: both[0]))
    let place = (start..<start + 480).first { long.samples[$0...].starts(with: both) }
    expectTrue(place != nil)
    expectAtMost(long.error, 3)
    expectAtMost(
      abs(a.duration.nanosecondCount - Int64(heard.samples.count) * 1_000_000 / 48), 1000)
  }

  @Test("a limit ends a recording with an error, and the file can be used") func limits()
    async throws
  {
    let folder = try TestFolder()
    var limits = RecordingLimits()
    limits.duration = .milliseconds(300)
    let (movies, held) = (
      MovieFileOutput(limits: limits), MovieFileOutput(preRoll: PreRoll(.seconds(1)))
    )
    let session = try await Self.session(ClockSound.device("limited")) { c in
      c.add(movies)
      c.add(held)
    }
    try await session.start()
    let result = try await movies.startRecording(to: folder.file("a.wav")).finished()
    expectEqual(result.error?.code, .limitReached)
    expectEqual(result.reason, .duration)
    expectTrue(result.isUsable)
    try await result.verify()
    #expect(throws: CaptureError.self) { try held.startRecording(to: folder.file("b.wav")) }
    await session.stop()
  }

  @Test("a camera comes and goes, and the sound goes on") func cameras() async throws {
    let folder = try TestFolder()
    let (movies, whole, seen) = (MovieFileOutput(), AudioFileOutput(), Seen())
    let session = try await Self.session(ClockSound.device("beside")) { c in
      c.add(movies)
      c.add(whole)
      c.add(watching(seen))
    }
    try await session.start()
    let all = try whole.startRecording(to: folder.file("all.mov"))
    for number in 1...2 {
      let count = seen.now.numbers.count
      let camera = try DeviceInput(Cameras.back())
      try await session.configure { c in
        c.add(camera)
        c.preset = .size(Cameras.small)
        c.stages = [.meter()]
      }
      await expectTrue(seen.wait(for: count + 3))
      let recording = try movies.startRecording(to: folder.file("\(number).mov"))
      await expectTrue(filled(recording, of: movies))
      try await session.configure { c in c.remove(camera) }
      let result = await recording.finished()
      expectEqual(result.error?.code, .sessionChanged)
      expectTrue(result.isUsable)
      try expectEqual(ffprobe(result.path, "stream=codec_type").sorted(), ["audio", "video"])
      await expectNil(session.activeFormat)
      let sound = try movies.startRecording(to: folder.file("\(number).wav"))
      await expectTrue(until { movies.recordedDuration > .milliseconds(100) })
      sound.stop()
      await expectTrue(sound.finished().isUsable)
    }
    let error = await #expect(throws: CaptureError.self) {
      try await session.configure { c in for input in c.inputs { c.remove(input) } }
    }
    expectEqual(error?.code, .noInput)
    expectTrue(session.isRunning)
    await session.stop()
    let heard = try HeardFile(await all.finished().path)
    expectEqual(heard.pattern, "+")
    expectAtMost(heard.error, 3)
    let summary = try #require(await session.summary)
    expectTrue(summary.ledger.isBalanced)
    expectTrue(summary.audio.allSatisfy { $0.ledger.isBalanced })
  }

  @Test("a microphone that fails ends the run, with its error once") func failure() async throws {
    let control = ClockSound.Switch()
    let output = AudioFileOutput()
    let folder = try TestFolder()
    let session = try await Self.session(ClockSound.device("failing alone", control)) { c in
      c.add(output)
    }
    let errors = Shared<[String]>([])
    let runtimeErrors = session.runtimeErrors
    let watch = Task {
      for await error in runtimeErrors { errors.change { $0.append(error.description) } }
    }
    try await session.start()
    let recording = try output.startRecording(to: folder.file("a.wav"))
    await expectTrue(until { output.recordedDuration > .milliseconds(100) })
    control.set { $0.isBroken = true }
    await expectTrue(until { !session.isRunning })
    await expectTrue(recording.finished().isUsable)
    await expectTrue(until { errors.value == ["the microphone has failed"] })
    control.set { $0.isBroken = false }
    try await session.start()
    await session.stop()
    watch.cancel()
    expectEqual(errors.value.count, 1)
  }
}
