import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// Drops each frame for what is in it.
struct Rejecting: Stage {
  static let plugin = Plugin("rejecting", "drops each frame", Rejecting.self)
  static let order = Order.any

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict { .drop(.rejected) }
}

@Suite("Waits, and what is left behind", .serialized) struct WaitTests {
  private func session(
    _ camera: CaptureDevice, _ stages: [StageChoice],
    _ output: some CaptureOutput = MovieFileOutput()
  ) async throws -> CaptureSession {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .size(Cameras.large)
      c.stages = stages
      c.add(output)
    }
    try await session.start()
    return session
  }

  @Test("one wait for a loop follows another, and a cancelled one ends at once")
  func settles() async throws {
    let camera = Cameras.back { $0.exposure = 500 }
    let session = try await session(camera, [.meter(), .autoExposure { $0.mode = .locked }])
    for _ in 0..<3 { try await camera.settle(.exposure, within: .seconds(4)) }
    // A loop that goes on searching does not settle.
    try await camera.withConfiguration { c in c.setExposure(.continuous()) }
    let waiting = Task { try await camera.settle(.focus, within: .seconds(3600)) }
    let refusal = await #expect(throws: CaptureError.self) { try await waiting.value }
    expectUnequal(refusal?.code, .timedOut)
    let task = Task { try await camera.withConfiguration { c in c.set("lens", 0.25) } }
    task.cancel()
    _ = try? await task.value
    // The times of the waits above are over.
    try await Task.sleep(for: .milliseconds(4200))
    try await camera.exposeThenLock(within: longestWait)
    await session.stop()
  }

  @Test("an exposure is locked when it is right, also where the chain delays frames")
  func delayed() async throws {
    let camera = Cameras.back { $0.exposure = 500 }
    let session = try await session(
      camera,
      [
        .meter(), .autoExposure { $0.mode = .locked },
        // It holds frames back behind the loop: the session sees the loop's reports late.
        .stabilize { $0.mode = .cinematic },
      ])
    try await camera.exposeThenLock(within: longestWait * 2)
    let found = try #require(camera.exposureDuration)
    expectGreater(found, .milliseconds(1))
    try await Task.sleep(for: .milliseconds(1500))
    expectEqual(camera.exposureDuration, found)
    await session.stop()
  }

  @Test("what was set of a loop holds where another stage comes, and at the next start")
  func liveModes() async throws {
    let camera = Cameras.back { $0.exposure = 500 }
    let states = Shared<[AutoExposureReport.State?]>([])
    let session = try await session(
      camera, [.meter(), .autoExposure()],
      MetadataOutput(types: ["autoexposure"]) { objects in
        let report = objects.first?.report as? AutoExposureReport
        states.change { $0.append(report?.state) }
      })
    try await camera.withConfiguration { c in c.setExposure(.locked) }
    await expectTrue(until { states.value.last == .locked })
    try await session.configure { c in c.stages.append(.focus()) }
    let count = states.value.count
    await expectTrue(until { states.value.count > count + 5 })
    expectTrue(states.value.suffix(3).allSatisfy { $0 == .locked })
    await session.stop()
    states.change { $0 = [] }
    try await session.start()
    await expectTrue(until { states.value.count > 5 })
    expectTrue(states.value.allSatisfy { $0 == .locked })
    await session.stop()
  }

  @Test("brackets take turns, and leave the camera as it was") func brackets() async throws {
    let photos = PhotoOutput()
    let camera = Cameras.back()
    let session = try await session(camera, [], photos)
    func exposures(_ bracket: [BracketStep]) async throws -> [Float] {
      var settings = PhotoSettings()
      settings.bracket = bracket
      var found: [Float] = []
      for await case .photo(let photo) in try photos.capture(settings) {
        expectNil(photo.error)
        found.append(photo.record?.inForce.exposureMicroseconds ?? 0)
      }
      return found
    }
    for _ in 0..<2 {
      try await expectEqual(exposures([.bias(-2), .bias(0), .bias(1)]), [2500, 10_000, 20_000])
      expectEqual(camera.exposureDuration, .milliseconds(10))
    }
    async let first = exposures([
      .exposure(.milliseconds(1)), .exposure(.milliseconds(2)), .exposure(.milliseconds(4)),
    ])
    async let second = exposures([.exposure(.milliseconds(20)), .exposure(.milliseconds(12))])
    try await expectEqual(first, [1000, 2000, 4000])
    try await expectEqual(second, [20_000, 12_000])
    expectEqual(camera.exposureDuration, .milliseconds(10))
    await session.stop()
    // A loop that exposes would overwrite the steps.
    try await session.configure { c in c.stages = [.meter(), .autoExposure()] }
    try await session.start()
    let error = await #expect(throws: CaptureError.self) { _ = try await exposures([.bias(1)]) }
    expectEqual(error?.code, .busy)
    await session.stop()
  }

  @Test("a recording of an output that is removed, or of a session that is released, is complete")
  func leaving() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    do {
      let session = try await session(Cameras.back(), [], movies)
      let first = try movies.startRecording(to: folder.file("a.mov"))
      await expectTrue(filled(first, of: movies))
      try await session.configure { c in c.remove(movies) }
      let result = await first.finished()
      expectTrue(result.isUsable)
      expectEqual(result.reason, .detached)
      try await result.verify()
      try await session.configure { c in c.add(movies) }
      let second = try movies.startRecording(to: folder.file("b.mov"))
      await expectTrue(filled(second, of: movies))
      second.stop()
      await expectNil(second.finished().error)
      await session.stop()
    }
    let released: Recording
    do {
      // The first session is gone, and its outputs are free.
      let session = try await session(Cameras.back(), [], movies)
      released = try movies.startRecording(to: folder.file("c.mov"))
      await expectTrue(filled(released, of: movies))
      _ = session.isRunning
    }
    let result = await released.finished()
    expectTrue(result.isUsable)
    try await result.verify()
    expectEqual(folder.names, ["a.mov", "b.mov", "c.mov"])
  }

  @Test("an output whose addition was refused can be added again, with its sequence")
  func refusedAddition() async throws {
    let (copies, frames) = VideoDataOutput.copies(of: .nv12)
    let session = try CaptureSession()
    await #expect(throws: CaptureError.self) {
      try await session.configure { c throws(CaptureError) in
        c.add(try DeviceInput(Cameras.back()))
        c.add(copies)
        c.preset = .hd4K3840x2160
      }
    }
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      return c.add(copies)
    }
    // Removed and added in one body it stays, and so does it where that body is refused.
    for preset in [SessionPreset.hd4K3840x2160, .size(Cameras.small)] {
      try? await session.configure { c in
        c.remove(copies)
        c.add(copies)
        c.preset = preset
      }
      expectEqual(added.state, .active)
    }
    try added.link(for: .video).setEnabled(true)
    try await session.start()
    var count = 0
    for await _ in frames {
      count += 1
      if count == 3 { break }
    }
    expectEqual(count, 3)
    await session.stop()
  }

  @Test("each interruption that began has an end, and none comes of a stage that rejects frames")
  func interruptions() async throws {
    let camera = Cameras.back { settings in
      settings.faults.unplug = 1
      settings.faults.unplugDuration = .seconds(60)
    }
    let session = try CaptureSession()
    var events = session.interruptions.makeAsyncIterator()
    try await session.configure { c throws(CaptureError) in c.add(try DeviceInput(camera)) }
    try await session.start()
    guard case .began? = await events.next() else {
      Issue.record("no interruption began")
      return
    }
    await session.stop()
    guard case .ended(let pause)? = await events.next() else {
      Issue.record("the interruption did not end")
      return
    }
    expectGreater(pause, .milliseconds(900))
    let told = Shared(0)
    let watch = Task { for await _ in session.interruptions { told.change { $0 += 1 } } }
    try await session.switchCamera(to: Cameras.front())
    try await session.configure { c in c.stages = [StageChoice(Rejecting.plugin)] }
    try await session.start()
    try await Task.sleep(for: .milliseconds(2500))
    expectEqual(told.value, 0)
    await session.stop()
    watch.cancel()
  }

  @Test("a loop's value out of range is refused before anything is written") func loopRange()
    async throws
  {
    let camera = Cameras.back()
    let session = try await session(camera, [.meter(), .autoExposure()])
    expectFalse(camera.supports(ExposureMode.custom(gain: -5)).isYes)
    await #expect(throws: CaptureError.self) {
      try await camera.withConfiguration { c in
        c.setFocus(.locked(lensPosition: 0.7))
        c.setExposure(.custom(gain: -5))
      }
    }
    expectUnequal(camera.lensPosition, 0.7)
    await session.stop()
  }
}
