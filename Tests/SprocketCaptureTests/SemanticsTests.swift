import Foundation
import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// What AVFoundation's documentation promises of captures and recordings (docs/avfoundation.md).
@Suite("AVFoundation's semantics", .serialized) struct SemanticsTests {
  private func code(
    _ photos: PhotoOutput, _ change: (inout PhotoSettings) -> Void
  ) -> CaptureError.Code? {
    var settings = PhotoSettings()
    change(&settings)
    do throws(CaptureError) {
      _ = try photos.capture(settings)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("a bracket of several formats has a photograph for each step and format")
  func bracketTimesFormats() async throws {
    let photos = PhotoOutput(formats: [.jpeg, .png])
    let session = try await running(photos)
    var settings = PhotoSettings(.png, .jpeg)
    settings.bracket = [.bias(-1), .bias(0), .bias(1)]
    let capture = try photos.capture(settings)
    expectEqual(capture.resolved.expectedPhotoCount, 6)
    expectEqual(capture.resolved.bracketCount, 3)
    var found: [CapturedPhoto] = []
    for await case .photo(let photo) in capture { found.append(photo) }
    expectEqual(found.map(\.photoCount), [1, 2, 3, 4, 5, 6])
    expectEqual(found.map(\.error?.description), [nil, nil, nil, nil, nil, nil])
    for (step, microseconds) in [Float(5000), 10_000, 20_000].enumerated() {
      let both = found[2 * step..<2 * step + 2]
      expectEqual(Set(both.map(\.format)), [.jpeg, .png])
      expectEqual(Set(both.map(\.record?.number)).count, 1)
      expectTrue(both.allSatisfy { $0.record?.inForce.exposureMicroseconds == microseconds })
    }
    await session.stop()
  }

  @Test("a capture that cannot be made is refused at the call") func refusals() async throws {
    let folder = try TestFolder()
    try Data("kept".utf8).write(to: URL(fileURLWithPath: folder.file("live.mov")))
    let photos = PhotoOutput(liveMovies: .init())
    let session = try await running(photos)
    expectEqual(code(photos) { $0.formats = [] }, .settingsRefused)
    expectEqual(
      code(photos) { $0.bracket = Array(repeating: .bias(0), count: 17) }, .settingsRefused)
    expectEqual(code(photos) { $0.bracket = [.bias(10.5)] }, .valueOutOfRange)
    expectEqual(code(photos) { $0.bracket = [.bias(.nan)] }, .valueOutOfRange)
    expectEqual(
      code(photos) { $0.bracket = [.exposure(.milliseconds(5), gain: 1e6)] }, .valueOutOfRange)
    expectEqual(code(photos) { $0.livePhotoMoviePath = folder.file("live.mov") }, .fileRefused)
    try expectEqual(String(contentsOfFile: folder.file("live.mov"), encoding: .utf8), "kept")
    await session.stop()
  }

  @Test("a live photo is taken while a movie is recorded") func liveAndMovie() async throws {
    let folder = try TestFolder()
    let photos = PhotoOutput(
      liveMovies: .init(before: .milliseconds(400), after: .milliseconds(800)))
    let movies = MovieFileOutput()
    let session = try await running(photos)
    try await session.configure { c in c.add(movies) }
    let recording = try movies.startRecording(to: folder.file("long.mov"))
    await expectTrue(until { movies.recordedDuration > .milliseconds(500) })
    var settings = PhotoSettings()
    settings.livePhotoMoviePath = folder.file("live.mov")
    var live: LivePhotoMovie?
    for await case .liveMovie(let movie) in try photos.capture(settings) { live = movie }
    recording.stop()
    expectNil(live?.error)
    expectEqual(live?.recording.isUsable, true)
    await expectNil(recording.finished().error)
    await session.stop()
    expectEqual(folder.names, ["live.mov", "long.mov"])
  }

  /// An output whose first callback blocks until another output has had `count` more frames.
  private func blocking(
    _ seen: Seen, for count: Int, of other: Seen, discardsLateFrames: Bool
  ) -> VideoDataOutput {
    VideoDataOutput(
      reading: .luma(.eighth), discardsLateFrames: discardsLateFrames, onDrop: { seen.add($0) },
      onFrame: { frame in
        let end = monotonicNow() + longestWaitNanoseconds
        let wanted = other.now.numbers.count + count
        while seen.now.numbers.isEmpty, other.now.numbers.count < wanted, monotonicNow() < end {
          sleep(until: monotonicNow() + 1_000_000)
        }
        seen.add(frame.record, frame.format)
      })
  }

  @Test("a slow output loses its own frames alone, and each is told of once") func starvation()
    async throws
  {
    let (fast, slow) = (Seen(), Seen())
    let session = try await running(watching(fast))
    let output = blocking(slow, for: 8, of: fast, discardsLateFrames: true)
    try await session.configure { c in c.add(output) }
    await expectTrue(slow.wait(for: 5))
    await session.stop()
    let drops = slow.now.drops
    expectAtLeast(drops.count { $0.reason == .late }, 4)
    let all = slow.now.numbers + drops.map(\.number)
    expectEqual(Set(all).count, all.count)
    let first = try #require(slow.now.numbers.first)
    let between = fast.now.numbers.filter { ($0 > first) && ($0 <= first + 8) }
    expectAtLeast(
      between.count + fast.now.drops.count { (first...first + 8).contains($0.number) }, 7)
  }

  @Test("frames wait for a callback that asks for all of them") func lateFramesWait() async throws {
    let (seen, other) = (Seen(), Seen())
    let session = try await running(watching(other))
    let output = blocking(seen, for: 2, of: other, discardsLateFrames: false)
    try await session.configure { c in c.add(output) }
    await expectTrue(seen.wait(for: 6))
    await session.stop()
    let first = try #require(seen.now.numbers.first)
    // The two that came meanwhile, unless the camera itself missed them.
    let lost = seen.now.drops.filter { (first...first + 2).contains($0.number) }
    expectEqual(seen.now.numbers.count { $0 <= first + 2 } + lost.count, 3)
    expectFalse(lost.contains { $0.reason == .late })
  }

  @Test("each frame is delivered or dropped for a reason") func reasons() async throws {
    let seen = Seen()
    let camera = Cameras.back { settings in
      settings.faults.drop = 0.15
      settings.faults.corrupt = 0.15
    }
    let session = try await running(
      watching(seen), camera: camera, preset: .size(Cameras.small))
    await expectTrue(
      until {
        let reasons = Set(seen.now.drops.map(\.reason))
        return reasons.isSuperset(of: [.missing, .corrupt]) && seen.now.numbers.count > 5
      })
    try await session.configure { c in c.stages = [StageChoice(Rejecting.plugin)] }
    await expectTrue(until { seen.now.drops.contains { $0.reason == .rejected } })
    await session.stop()
    let all = (seen.now.numbers + seen.now.drops.map(\.number)).sorted()
    expectEqual(Set(all).count, all.count)
    let span = try #require(all.last) - (try #require(all.first)) + 1
    expectEqual(all.count, Int(span))
  }

  @Test("a limit of size or of free space ends a recording with an error") func sizes()
    async throws
  {
    let folder = try TestFolder()
    var limits = RecordingLimits()
    // And a frame with its indexes.
    limits.bytes = 60_000
    let small = MovieFileOutput(limits: limits)
    let session = try await running(small)
    let result = await (try small.startRecording(to: folder.file("a.mov"))).finished()
    expectEqual(result.error?.code, .limitReached)
    expectEqual(result.reason, .size)
    expectTrue(result.isUsable)
    expectAtMost(result.byteCount, 80_000)
    let room = try folder.room()
    var scarce = RecordingLimits()
    scarce.freeBytes = room * 2
    let movies = MovieFileOutput(limits: scarce)
    try await session.configure { c in c.add(movies) }
    let other = await (try movies.startRecording(to: folder.file("b.mov"))).finished()
    expectEqual(other.error?.code, .limitReached)
    expectEqual(other.reason, .disk)
    await session.stop()
  }

  @Test("another orientation holds from the next file on") func matrices() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let session = try CaptureSession()
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      return c.add(movies)
    }
    try await session.start()
    let first = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(until { movies.recordedDuration > .zero })
    try added.link(for: .video).setOrientation(.quarterTurn)
    let sofar = movies.recordedDuration
    await expectTrue(until { movies.recordedDuration > sofar })
    let second = try movies.startRecording(to: folder.file("b.mov"))
    await expectTrue(filled(second, of: movies))
    second.stop()
    await expectTrue(first.finished().isUsable)
    await expectTrue(second.finished().isUsable)
    await session.stop()
    try expectEmpty(ffprobe(folder.file("a.mov"), "stream_side_data=rotation"))
    try expectEqual(ffprobe(folder.file("b.mov"), "stream_side_data=rotation"), ["-90"])
  }

  @Test("resolved settings tell the size of the photograph, not of the camera's picture")
  func resolvedSizes() async throws {
    let photos = PhotoOutput()
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.middle)
      c.stages = [.resize { $0.size = TargetSize(width: 32, height: 24) }]
      c.add(photos)
    }
    try await session.start()
    let photo = try await photos.photo()
    expectEqual(photo.resolved.size, CameraSize(32, 24))
    let folder = try TestFolder()
    try photo.write(to: folder.file("small.jpg"))
    try expectEqual(ffprobe(folder.file("small.jpg"), "stream=width,height"), ["32,24"])
    await session.stop()
  }

  @Test("changes of settings come into force in their order") @MainActor func order() async throws {
    let camera = Cameras.back()
    let session = try await running(VideoDataOutput { _ in }, camera: camera)
    var changes: [Int: ControlChange] = [:]
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<6 {
      tasks.append(
        Task { @MainActor in
          changes[number] = try await camera.withConfiguration { c in
            c.set("gain", 1 + Double(number) / 10)
          }
        })
    }
    for task in tasks { try await task.value }
    // Those that come with one frame are answered in order, and their tasks go on in any.
    let frames = try (0..<6).map { try #require(changes[$0]?.firstFrame?.number) }
    expectEqual(frames, frames.sorted())
    // Of those that came with one frame, it shows the last.
    let overtaken = (0..<6).map { changes[$0]?.isOvertaken }
    expectEqual(overtaken, frames.indices.map { frames[($0 + 1)...].contains(frames[$0]) })
    expectEqual(camera.gain, 1.5)
    await session.stop()
  }

  @Test("a change is cancelled by a switch, and neither delays nor answers those of the new camera")
  @MainActor func changesOfAnotherCamera() async throws {
    let (back, front, seen) = (Cameras.back(), Cameras.front(), Seen())
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(back))
      c.preset = .size(Cameras.middle)
      // The next frame comes long after the switch.
      c.frameRate = FrameRate(frames: 1)
      c.add(watching(seen))
    }
    try await session.start()
    await expectTrue(until { !seen.now.numbers.isEmpty })
    let isWritten = Shared(false)
    let first = Task { @MainActor in
      try await back.withConfiguration { c in
        c.set("gain", 1.5)
        isWritten.change { $0 = true }
      }
    }
    await expectTrue(until { isWritten.value })
    try await session.switchCamera(to: front)
    let change = try await front.withConfiguration { c in c.set("gain", 1.2) }
    expectEqual(change.values, ["gain": 1.2])
    expectNotNil(change.firstFrame)
    let error = await #expect(throws: CaptureError.self) { try await first.value }
    expectEqual(error?.code, .cancelled)
    await session.stop()
  }

  @Test("points and positions beyond the picture are refused") func ranges() async throws {
    let camera = Cameras.back()
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.add(VideoDataOutput { _ in })
      c.stages = [.meter(), .autoExposure()]
    }
    try await session.start()
    for point in [Point(x: -0.1, y: 0.5), Point(x: 0.5, y: 1.1), Point(x: .nan, y: 0)] {
      expectFalse(camera.supports(ExposureMode.continuous(at: point)).isYes)
      await #expect(throws: CaptureError.self) {
        try await camera.withConfiguration { c in c.setExposure(.continuous(at: point)) }
      }
    }
    expectTrue(camera.supports(ExposureMode.continuous(at: Point(x: 1, y: 0))).isYes)
    await session.stop()
    for position in [-0.1, 1.1, .nan] {
      expectFalse(camera.supports(FocusMode.locked(lensPosition: position)).isYes)
    }
    expectTrue(camera.supports(FocusMode.locked(lensPosition: 1)).isYes)
  }

  @Test("levels are told for each channel") func levels() async throws {
    let session = try CaptureSession()
    var settings = SceneMicrophoneSettings()
    settings.channels = 2
    let microphone = CaptureDevice(sceneMicrophone: settings)
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      return c.add(AudioDataOutput { _, _ in })
    }
    let link = added.link(for: .audio)
    expectEmpty(link.levels)
    try await session.start()
    await expectTrue(until { link.levels.count == 2 && link.levels.allSatisfy { $0.peak > -90 } })
    expectTrue(link.levels.allSatisfy { $0.rms <= $0.peak && $0.peak <= 0 })
    await session.stop()
    expectEmpty(link.levels)
  }
}

@Suite("Formats of a session", .serialized) struct FormatTests {
  /// Offers a Bayer mosaic at the small size, and NV12 at the large size.
  private func mixed() -> CaptureDevice {
    let rates = CameraRates.range(FrameRate(frames: 5), FrameRate(frames: 60))
    let formats = [
      DeviceFormat(Cameras.small, .bayerRGGB, rates: rates),
      DeviceFormat(Cameras.large, .nv12, rates: rates),
    ]
    return CaptureDevice(name: "mixed", formats: formats) { choice throws(RunError) in
      var settings = SceneSettings()
      (settings.width, settings.height) = (choice.size.width, choice.size.height)
      settings.rate = choice.rate ?? settings.rate
      settings.format = choice.size == Cameras.small ? .bayerRGGB : .nv12
      return try SceneSource(settings)
    }
  }

  @Test("a preset is judged with the outputs of the session") func outputs() async throws {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(mixed()))
      expectTrue(c.canSet(.size(Cameras.large)).isYes)
      c.add(PhotoOutput(formats: [.dng]))
      expectFalse(c.canSet(.size(Cameras.large)).isYes)
      c.preset = .size(Cameras.small)
    }
    expectFalse(await session.canSet(.size(Cameras.large)).isYes)
    try await session.start()
    await expectEqual(session.activeFormat?.pixelFormat, .bayerRGGB)
    // Neither does it take a format that the output cannot.
    await #expect(throws: CaptureError.self) {
      try await session.configure { c in
        guard let camera = c.inputs.first?.device else { return }
        c.setFormat(FormatChoice(Cameras.large, pixelFormat: .nv12), of: camera)
      }
    }
    await expectEqual(session.activeFormat?.width, Cameras.small.width)
    await session.stop()
  }

  @Test("a format is set with its rate; a preset takes both back") func inputPriority()
    async throws
  {
    let camera = mixed()
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.add(VideoDataOutput { _ in })
      c.frameRate = FrameRate(frames: 10)
      c.setFormat(FormatChoice(Cameras.large, rate: FrameRate(frames: 25)), of: camera)
    }
    await expectEqual(session.preset, .inputPriority)
    try await session.start()
    await expectEqual(session.activeFormat?.rate, FrameRate(frames: 25))
    try await session.configure { c in
      c.setFormat(FormatChoice(Cameras.large, rate: FrameRate(frames: 25)), of: camera)
      c.frameRate = FrameRate(frames: 50)
    }
    await expectEqual(session.activeFormat?.rate, FrameRate(frames: 50))
    let error = await #expect(throws: CaptureError.self) {
      try await session.configure { c in
        c.setFormat(FormatChoice(Cameras.large, rate: FrameRate(frames: 400)), of: camera)
      }
    }
    expectEqual(error?.code, .valueOutOfRange)
    await expectEqual(session.activeFormat?.rate, FrameRate(frames: 50))
    try await session.configure { c in c.preset = .low }
    await expectEqual(session.activeFormat?.width, Cameras.large.width)
    await expectUnequal(session.activeFormat?.rate, FrameRate(frames: 50))
    await session.stop()
  }

  @Test("small pictures are not steadied, whatever a link prefers") func small() async throws {
    let session = try CaptureSession()
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.small)
      let added = c.add(VideoDataOutput { _ in })
      c.setPreferredStabilization(.standard, of: added)
      return added
    }
    try await session.start()
    await expectEqual(session.preferredStabilization(of: added), .standard)
    expectEqual(added.link(for: .video).activeStabilization, .off)
    try await session.configure { c in c.preset = .size(Cameras.large) }
    expectEqual(added.link(for: .video).activeStabilization, .standard)
    await session.stop()
  }
}
