import Sprocket
import SprocketCapture
import TestExpectations
import Testing

@Suite("CaptureDevice", .serialized) struct DeviceTests {
  @Test("scenes are found by type and position, with different largest sizes") func discovery() {
    let found = CaptureDevice.DiscoverySession(types: [.scene]).devices
    expectEqual(found.map(\.position), [.back, .front])
    expectTrue(found[0].supports(.hd1920x1080).isYes)
    expectEqual(found[1].supports(.hd1920x1080).reason?.alternative, .hd1280x720)
    let front = CaptureDevice.DiscoverySession(types: [.scene], media: .video, position: .front)
    expectEqual(front.devices.count, 1)
    expectTrue(front.devices[0] === found[1])
    expectEqual(found[0].authorization, .authorized)
    expectTrue(CaptureDevice.device(uniqueID: found[0].uniqueID) === found[0])
    expectTrue(CaptureDevice.devices(for: .video).allSatisfy { $0.deviceType != .scene })
  }

  @Test("settings hold together, and the answer is the first frame that shows them")
  func batch() async throws {
    let seen = Locked<[(number: UInt64, exposure: Float, gain: Float)]>([])
    let camera = Cameras.back()
    let output = VideoDataOutput(reading: []) { frame in
      let record = frame.record
      seen.withLock {
        $0.append((record.number, record.inForce.exposureMicroseconds, record.inForce.gain))
      }
    }
    let session = try await running(output, camera: camera)
    let change = try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(5), gain: 4))
      c.setFocus(.locked(lensPosition: 0.25))
    }
    let first = try #require(change.firstFrame)
    expectEqual(change.values, ["exposure": 5000, "gain": 4, "lens": 0.25])
    await expectTrue(until { seen.withLock { $0.last?.number ?? 0 } > first.number + 2 })
    for frame in seen.withLock({ $0 }) {
      expectEqual((frame.exposure == 5000), (frame.number >= first.number))
      expectEqual((frame.gain == 4), (frame.number >= first.number))
    }
    expectEqual(camera.lensPosition, 0.25)
    await session.stop()
    // They hold when the camera is started again.
    expectEqual(camera.exposureDuration, .milliseconds(5))
    seen.withLock { $0 = [] }
    try await session.start()
    await expectTrue(until { seen.withLock { !$0.isEmpty } })
    expectEqual(seen.withLock { $0[0].gain }, 4)
    await session.stop()
  }

  @Test("modes and ranges can be read") func readings() async throws {
    let camera = Cameras.back()
    expectEqual(camera.exposureMode, .custom())
    expectNil(camera.whiteBalanceMode)
    expectNil(camera.torchMode)
    expectNil(camera.zoomFactor)
    expectNil(camera.whiteBalanceRange)
    expectNil(camera.zoomRange)
    let (times, gains) = (
      try #require(camera.exposureDurationRange), try #require(camera.gainRange)
    )
    for duration in [times.lowerBound, times.upperBound] {
      expectTrue(camera.supports(ExposureMode.custom(duration: duration)).isYes)
    }
    expectFalse(camera.supports(ExposureMode.custom(duration: times.upperBound * 1.1)).isYes)
    expectTrue(camera.supports(ExposureMode.custom(gain: gains.upperBound)).isYes)
    expectFalse(camera.supports(ExposureMode.custom(gain: gains.upperBound * 1.1)).isYes)
    try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(4), gain: 2))
      c.setFocus(.locked(lensPosition: 0.75))
    }
    expectEqual(camera.exposureMode, .custom(duration: .milliseconds(4), gain: 2))
    expectEqual(camera.focusMode, .locked(lensPosition: 0.75))
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .size(Cameras.small)
      c.stages = [.meter(), .autoExposure { $0.mode = .locked }]
    }
    try await session.start()
    expectEqual(camera.exposureMode, .locked)
    try await camera.withConfiguration { c in c.setExposure(.continuous(at: .center)) }
    expectEqual(camera.exposureMode, .continuous())
    // What was set holds where another stage comes, and not where the loop is configured anew.
    try await session.configure { c in c.stages.append(.focus()) }
    expectEqual(camera.exposureMode, .continuous())
    try await session.configure { c in c.stages[1] = .autoExposure { $0.mode = .auto } }
    // It may have settled by now.
    expectTrue([.autoOnce(), .locked].contains(camera.exposureMode))
    await session.stop()
  }

  @Test("a setting is followed frame by frame, and following ends by itself") func observation()
    async throws
  {
    let camera = Cameras.back()
    let session = try await running(watching(Seen()), camera: camera)
    let gains = Shared<[Float]>([])
    let task = Task {
      for await gain in camera.values(of: \.gain) {
        gains.change { $0.append(gain) }
        if gains.value.count == 3 { break }
      }
    }
    await expectTrue(until { gains.value.count == 1 })
    try await camera.withConfiguration { c in c.setExposure(.custom(gain: 2)) }
    await expectTrue(until { gains.value.count == 2 })
    try await camera.withConfiguration { c in c.setExposure(.custom(gain: 3)) }
    await task.value
    expectEqual(gains.value, [1, 2, 3])
    let endless = Task { for await _ in camera.values(of: \.lensPosition) {} }
    endless.cancel()
    await endless.value
    await session.stop()
  }

  @Test("Bug 3: what the camera does not have is refused with the reason, and nothing is written")
  func refusals() async throws {
    let camera = Cameras.back()
    let answer = camera.supports(WhiteBalanceMode.continuous)
    expectEqual(answer.reason?.description, "back has no control for automatic white balance")
    expectTrue(camera.supports(FocusMode.locked(lensPosition: 0.5)).isYes)
    expectFalse(camera.hasTorch)
    let error = await #expect(throws: CaptureError.self) {
      try await camera.withConfiguration { c in
        c.setExposure(.custom(gain: 2))
        c.setWhiteBalance(.autoOnce)
        c.setExposure(.custom(duration: .seconds(100)))
      }
    }
    expectEqual(error?.refusals.map(\.code), [.controlUnsupported, .valueOutOfRange])
    expectNil(camera.gain)
  }
}

@Suite("The session's own loops", .serialized) struct LoopTests {
  @Test("a point is metered, the exposure settles, and stays") func exposeThenLock() async throws {
    let camera = Cameras.back { settings in
      settings.exposure = 500
      settings.gain = 1
    }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.stages = [.meter(), .autoExposure { $0.mode = .locked }]
    }
    expectFalse(camera.supports(ExposureMode.autoOnce(at: .center)).isYes)
    try await session.start()
    expectTrue(camera.supports(ExposureMode.autoOnce(at: .center)).isYes)
    expectFalse(camera.supports(FocusMode.autoOnce(at: .center)).isYes)
    await expectTrue(until { camera.exposureDuration == .microseconds(500) })
    try await camera.exposeThenLock(at: Point(x: 0.3, y: 0.6), within: longestWait)
    let exposure = try #require(camera.exposureDuration)
    expectGreater(exposure, .milliseconds(1))
    try await Task.sleep(for: .milliseconds(200))
    expectEqual(camera.exposureDuration, exposure)
    await session.stop()
  }

  @Test("waiting for a loop that does not settle ends in time") func timesOut() async throws {
    let camera = Cameras.back { $0.exposure = 500 }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.stages = [.meter(), .autoExposure { $0.speed = 0.01 }]
    }
    try await session.start()
    let error = await #expect(throws: CaptureError.self) {
      try await camera.settle(.exposure, within: .milliseconds(100))
    }
    expectEqual(error?.code, .timedOut)
    await session.stop()
  }
}
