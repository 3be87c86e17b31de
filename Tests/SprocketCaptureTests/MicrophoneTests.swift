import Sprocket
import SprocketCapture
import TestExpectations
import Testing

@Suite("A microphone that comes and goes", .serialized) struct MicrophoneTests {
  /// Milliseconds that sound may be beside its time: none is resampled in so short a file.
  private static let tolerance = 3

  private static func input(_ device: CaptureDevice) throws(CaptureError) -> DeviceInput {
    try DeviceInput(device)
  }

  private static func started(
    _ movies: MovieFileOutput, _ microphone: CaptureDevice?, _ output: AudioDataOutput? = nil
  ) async throws -> CaptureSession {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.small)
      if let microphone { c.add(try DeviceInput(microphone)) }
      c.add(movies)
      if let output { c.add(output) }
    }
    try await session.start()
    return session
  }

  /// Takes the microphone of a session away, and adds another one.
  private static func exchange(
    _ session: CaptureSession, for device: CaptureDevice?
  ) async throws(CaptureError) {
    try await session.configure { c throws(CaptureError) in
      for old in c.inputs where old.device.mediaType == .audio { c.remove(old) }
      if let device { c.add(try DeviceInput(device)) }
    }
  }

  private static func record(_ movies: MovieFileOutput, for duration: Duration) async {
    let end = movies.recordedDuration + duration
    await expectTrue(until { movies.recordedDuration >= end })
  }

  @Test("unplugged in a recording, it is silent, is told of once, and is in step when it is back")
  func unplugged() async throws {
    let folder = try TestFolder()
    let (movies, control) = (MovieFileOutput(), ClockSound.Switch())
    let session = try await Self.started(movies, ClockSound.device("unplugged", control))
    let told = Shared<[SessionInterruption]>([])
    let interruptions = session.interruptions
    let watch = Task { for await event in interruptions { told.change { $0.append(event) } } }
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await Self.record(movies, for: .milliseconds(600))
    control.set { $0.isAway = true }
    await expectTrue(until { told.value.count == 1 })
    await expectTrue(session.isInterrupted)
    await Self.record(movies, for: .milliseconds(600))
    control.set { $0.isAway = false }
    await expectTrue(until { told.value.count == 2 })
    await expectFalse(session.isInterrupted)
    await Self.record(movies, for: .milliseconds(1000))
    recording.stop()
    let result = await recording.finished()
    await session.stop()
    watch.cancel()
    expectNil(result.error)
    expectEqual(told.value.first, .soundBegan(.noFrames))
    guard case .soundEnded(let silence) = told.value.last else {
      Issue.record("the silence did not end: \(told.value)")
      return
    }
    expectGreater(silence, .milliseconds(1000))
    let heard = try HeardFile(result.path)
    expectEqual(heard.pattern, "+0+")
    expectAtMost(heard.error, Self.tolerance)
    try Self.expectEven(result, heard)
    try await result.verify()
  }

  /// Pictures and sound end together.
  private static func expectEven(_ result: RecordingResult, _ heard: HeardFile) throws {
    let sound = Double(heard.samples.count) / Double(heard.rate)
    // The last picture lasts as long as pictures do.
    let pictures = result.duration.seconds + 1.0 / 30
    expectAtMost(abs(sound - pictures), 0.02)
  }

  @Test("removed and exchanged in a recording, the movie goes on, and each is heard in its time")
  func exchanged() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let (output, seen) = (Seen(), Shared<[Bool]>([]))
    let blocks = AudioDataOutput { _, bytes in
      let isNegative = bytes[1] >= 128
      seen.change { if $0.last != isNegative { $0.append(isNegative) } }
    }
    let session = try await Self.started(movies, ClockSound.device("first"), blocks)
    try await session.configure { c in c.add(watching(output)) }
    let errors = Shared(0)
    let runtimeErrors = session.runtimeErrors
    let watch = Task { for await _ in runtimeErrors { errors.change { $0 += 1 } } }
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await Self.record(movies, for: .milliseconds(500))
    try await Self.exchange(session, for: nil)
    await Self.record(movies, for: .milliseconds(500))
    // Its blocks are larger than the memory for those of the first one.
    let second = ClockSound.device("second") { setup in
      setup.isNegative = true
      setup.blockSamples = 1500
    }
    try await Self.exchange(session, for: second)
    await Self.record(movies, for: .milliseconds(500))
    try await Self.exchange(session, for: ClockSound.device("third"))
    await Self.record(movies, for: .milliseconds(1000))
    // One of another rate cannot take its place; nothing changes.
    let other = ClockSound.device("other") { $0.rate = 44_100 }
    let refusal = await #expect(throws: CaptureError.self) {
      try await Self.exchange(session, for: other)
    }
    expectEqual(refusal?.description.contains("44100 Hz"), true)
    await expectEqual(session.inputs.last?.device.localizedName, "third")
    await Self.record(movies, for: .milliseconds(300))
    recording.stop()
    let result = await recording.finished()
    await session.stop()
    watch.cancel()
    expectNil(result.error)
    expectEqual(seen.value, [false, true, false])
    expectEmpty(output.now.discontinuities.dropFirst())
    // The refusal alone.
    expectEqual(errors.value, 1)
    let heard = try HeardFile(result.path)
    expectEqual(heard.pattern.filter { $0 != "0" }, "+-+")
    expectEqual(heard.pattern.prefix(3), "+0-")
    expectAtMost(heard.error, Self.tolerance)
    try Self.expectEven(result, heard)
    let summary = try #require(await session.summary)
    expectTrue(summary.isOver)
    expectTrue(summary.audio.allSatisfy { $0.ledger.isBalanced }, "\(summary.audio.map(\.ledger))")
    expectEmpty(summary.errors)
  }

  @Test("added in a recording, it is in the next file, and the result of the first one says so")
  func added() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try await Self.started(movies, nil)
    let first = try movies.startRecording(to: folder.file("a.mov"))
    await Self.record(movies, for: .milliseconds(200))
    try await Self.exchange(session, for: ClockSound.device("added"))
    await Self.record(movies, for: .milliseconds(300))
    let second = try movies.startRecording(to: folder.file("b.mov"))
    let silent = await first.finished()
    await Self.record(movies, for: .milliseconds(500))
    try await Self.exchange(session, for: nil)
    let third = try movies.startRecording(to: folder.file("c.mov"))
    let sounding = await second.finished()
    await Self.record(movies, for: .milliseconds(200))
    third.stop()
    let last = await third.finished()
    await session.stop()
    for result in [silent, sounding, last] { expectNil(result.error) }
    try expectEqual(ffprobe(silent.path, "stream=codec_type"), ["video"])
    expectEqual(silent.notes.count, 1)
    expectEqual(silent.notes.first?.contains("the next file has it"), true)
    try expectEqual(ffprobe(sounding.path, "stream=codec_type").sorted(), ["audio", "video"])
    expectEmpty(sounding.notes)
    let heard = try HeardFile(sounding.path)
    expectAtMost(heard.error, Self.tolerance)
    expectTrue(heard.pattern.hasPrefix("+"))
    // A file that begins when the microphone is gone has no track.
    try expectEqual(ffprobe(last.path, "stream=codec_type"), ["video"])
  }

  @Test("one that fails is told of once; pictures go on, and another one takes its place")
  func failed() async throws {
    let folder = try TestFolder()
    let (movies, control) = (MovieFileOutput(), ClockSound.Switch())
    let session = try await Self.started(movies, ClockSound.device("failing", control))
    let (errors, told) = (Shared<[String]>([]), Shared<[SessionInterruption]>([]))
    let (runtimeErrors, interruptions) = (session.runtimeErrors, session.interruptions)
    let watches = [
      Task { for await error in runtimeErrors { errors.change { $0.append(error.description) } } },
      Task { for await event in interruptions { told.change { $0.append(event) } } },
    ]
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await Self.record(movies, for: .milliseconds(300))
    control.set { $0.isBroken = true }
    await expectTrue(until { errors.value.count == 1 && told.value.count == 1 })
    expectEqual(errors.value, ["the microphone has failed"])
    try await Self.exchange(session, for: ClockSound.device("good") { $0.isNegative = true })
    await expectTrue(until { told.value.count == 2 })
    await Self.record(movies, for: .milliseconds(700))
    recording.stop()
    let result = await recording.finished()
    await session.stop()
    expectFalse(session.isRunning)
    for watch in watches { watch.cancel() }
    expectNil(result.error)
    expectEqual(errors.value.count, 1)
    expectEqual(try HeardFile(result.path).pattern, "+0-")
  }

  @Test("a second microphone that fails alike is told of, too") func failedTwice() async throws {
    let movies = MovieFileOutput()
    let controls = [ClockSound.Switch(), ClockSound.Switch()]
    let session = try await Self.started(movies, ClockSound.device("first", controls[0]))
    let errors = Shared<[String]>([])
    let runtimeErrors = session.runtimeErrors
    let watch = Task {
      for await error in runtimeErrors { errors.change { $0.append(error.description) } }
    }
    controls[0].set { $0.isBroken = true }
    await expectTrue(until { errors.value.count == 1 })
    try await Self.exchange(session, for: ClockSound.device("second", controls[1]))
    controls[1].set { $0.isBroken = true }
    await expectTrue(until { errors.value.count == 2 })
    await session.stop()
    watch.cancel()
    let sentence = "the microphone has failed"
    expectEqual(errors.value, [sentence, sentence])
  }

  @Test("readers of sound come and go without another run") func readers() async throws {
    let movies = MovieFileOutput()
    let session = try await Self.started(movies, ClockSound.device("read"))
    let changes = Shared(0)
    let runningChanges = session.runningChanges
    let watch = Task { for await _ in runningChanges { changes.change { $0 += 1 } } }
    for _ in 0..<3 {
      let (output, blocks) = AudioDataOutput.copies()
      try await session.configure { c in c.add(output) }
      var end: UInt64?
      for await block in blocks {
        if let end { expectEqual(block.block.record.first, end) }
        end = block.block.record.end
        if block.block.record.block > 20 { break }
      }
      try await session.configure { c in c.remove(output) }
    }
    expectEqual(changes.value, 0)
    await session.stop()
    await expectTrue(until { changes.value == 1 })
    watch.cancel()
    let summary = try #require(await session.summary)
    expectTrue(summary.audio.allSatisfy { $0.ledger.isBalanced }, "\(summary.audio.map(\.ledger))")
  }
}

extension Duration {
  fileprivate var seconds: Double { Double(nanosecondCount) / 1e9 }
}
