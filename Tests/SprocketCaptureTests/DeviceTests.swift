import Sprocket
import SprocketCapture
import Testing

@Suite("CaptureDevice", .serialized) struct DeviceTests {
  @Test("scenes are found by type and position, with different largest sizes") func discovery() {
    let found = CaptureDevice.DiscoverySession(types: [.scene]).devices
    #expect(found.map(\.position) == [.back, .front])
    #expect(found[0].supports(.hd1920x1080).isYes)
    #expect(found[1].supports(.hd1920x1080).reason?.alternative == .hd1280x720)
    let front = CaptureDevice.DiscoverySession(types: [.scene], media: .video, position: .front)
    #expect(front.devices.count == 1)
    #expect(front.devices[0] === found[1])
    #expect(found[0].authorization == .authorized)
    #expect(CaptureDevice.device(uniqueID: found[0].uniqueID) === found[0])
    #expect(CaptureDevice.devices(for: .video).allSatisfy { $0.deviceType != .scene })
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
    #expect(change.values == ["exposure": 5000, "gain": 4, "lens": 0.25])
    #expect(await until { seen.withLock { $0.last?.number ?? 0 } > first.number + 2 })
    for frame in seen.withLock({ $0 }) {
      #expect((frame.exposure == 5000) == (frame.number >= first.number))
      #expect((frame.gain == 4) == (frame.number >= first.number))
    }
    #expect(camera.lensPosition == 0.25)
    await session.stop()
    // They hold when the camera is started again.
    #expect(camera.exposureDuration == .milliseconds(5))
    seen.withLock { $0 = [] }
    try await session.start()
    #expect(await until { seen.withLock { !$0.isEmpty } })
    #expect(seen.withLock { $0[0].gain } == 4)
    await session.stop()
  }

  @Test("modes and ranges can be read") func readings() async throws {
    let camera = Cameras.back()
    #expect(camera.exposureMode == .custom())
    #expect(camera.whiteBalanceMode == nil && camera.torchMode == nil && camera.zoomFactor == nil)
    #expect(camera.whiteBalanceRange == nil && camera.zoomRange == nil)
    let (times, gains) = (
      try #require(camera.exposureDurationRange), try #require(camera.gainRange)
    )
    for duration in [times.lowerBound, times.upperBound] {
      #expect(camera.supports(ExposureMode.custom(duration: duration)).isYes)
    }
    #expect(!camera.supports(ExposureMode.custom(duration: times.upperBound * 1.1)).isYes)
    #expect(camera.supports(ExposureMode.custom(gain: gains.upperBound)).isYes)
    #expect(!camera.supports(ExposureMode.custom(gain: gains.upperBound * 1.1)).isYes)
    try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(4), gain: 2))
      c.setFocus(.locked(lensPosition: 0.75))
    }
    #expect(camera.exposureMode == .custom(duration: .milliseconds(4), gain: 2))
    #expect(camera.focusMode == .locked(lensPosition: 0.75))
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .size(Cameras.small)
      c.stages = [.meter(), .autoExposure { $0.mode = .locked }]
    }
    try await session.start()
    #expect(camera.exposureMode == .locked)
    try await camera.withConfiguration { c in c.setExposure(.continuous(at: .center)) }
    #expect(camera.exposureMode == .continuous())
    // What was set holds where another stage comes, and not where the loop is configured anew.
    try await session.configure { c in c.stages.append(.focus()) }
    #expect(camera.exposureMode == .continuous())
    try await session.configure { c in c.stages[1] = .autoExposure { $0.mode = .auto } }
    #expect(camera.exposureMode == .autoOnce())
    await session.stop()
  }

  @Test("a setting is followed frame by frame, and following ends by itself") func observation()
    async throws
  {
    let camera = Cameras.back()
    let session = try await running(watching(Seen()), camera: camera)
    let task = Task {
      var gains: [Float] = []
      for await gain in camera.values(of: \.gain) {
        gains.append(gain)
        if gains.count == 3 { break }
      }
      return gains
    }
    try await Task.sleep(for: .milliseconds(200))
    try await camera.withConfiguration { c in c.setExposure(.custom(gain: 2)) }
    try await camera.withConfiguration { c in c.setExposure(.custom(gain: 3)) }
    #expect(await task.value == [1, 2, 3])
    let endless = Task { for await _ in camera.values(of: \.lensPosition) {} }
    endless.cancel()
    await endless.value
    await session.stop()
  }

  @Test("Bug 3: what the camera does not have is refused with the reason, and nothing is written")
  func refusals() async throws {
    let camera = Cameras.back()
    let answer = camera.supports(WhiteBalanceMode.continuous)
    #expect(answer.reason?.description == "back has no control for automatic white balance")
    #expect(camera.supports(FocusMode.locked(lensPosition: 0.5)).isYes)
    #expect(!camera.hasTorch)
    let error = await #expect(throws: CaptureError.self) {
      try await camera.withConfiguration { c in
        c.setExposure(.custom(gain: 2))
        c.setWhiteBalance(.autoOnce)
        c.setExposure(.custom(duration: .seconds(100)))
      }
    }
    #expect(error?.refusals.map(\.code) == [.controlUnsupported, .valueOutOfRange])
    #expect(camera.gain == nil)
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
    #expect(!camera.supports(ExposureMode.autoOnce(at: .center)).isYes)
    try await session.start()
    #expect(camera.supports(ExposureMode.autoOnce(at: .center)).isYes)
    #expect(!camera.supports(FocusMode.autoOnce(at: .center)).isYes)
    #expect(await until { camera.exposureDuration == .microseconds(500) })
    try await camera.exposeThenLock(at: Point(x: 0.3, y: 0.6), within: .seconds(20))
    let exposure = try #require(camera.exposureDuration)
    #expect(exposure > .milliseconds(1))
    try await Task.sleep(for: .milliseconds(200))
    #expect(camera.exposureDuration == exposure)
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
    #expect(error?.code == .timedOut)
    await session.stop()
  }
}
