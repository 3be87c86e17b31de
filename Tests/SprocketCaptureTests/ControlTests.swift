import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// A session of a camera with the loops `autoexposure` and `autofocus`, or without, running.
private func session(
  of camera: CaptureDevice, hasLoops: Bool, _ output: VideoDataOutput = watching(Seen())
) async throws -> CaptureSession {
  let session = try CaptureSession()
  try await session.configure { c throws(CaptureError) in
    c.add(try DeviceInput(camera))
    c.preset = .size(Cameras.middle)
    c.add(output)
    if hasLoops { c.stages = [.meter(), .autoExposure(), .focus(), .autoFocus()] }
  }
  try await session.start()
  return session
}

/// What a camera answers to one setting; `nil` where it took it.
private func refusal(
  of camera: CaptureDevice, _ set: (inout CaptureDevice.Configuration) -> Void
) async -> CaptureError? {
  do throws(CaptureError) {
    try await camera.withConfiguration { c in set(&c) }
    return nil
  } catch {
    return error
  }
}

@Suite("Ranges of a camera's controls", .serialized) struct ControlRangeTests {
  @Test("a value out of range is an error with the camera's range, with a loop as without")
  func ranges() async throws {
    var sentences: [[String]] = []
    for hasLoops in [false, true] {
      let camera = Cameras.back()
      let session = try await session(of: camera, hasLoops: hasLoops)
      let modes: [ExposureMode] = [
        .custom(duration: .seconds(5)), .custom(gain: 1000), .custom(gain: .nan),
        .custom(duration: .seconds(Int64.max), gain: .infinity), .custom(duration: .zero),
      ]
      var told: [String] = []
      for mode in modes {
        let error = try #require(await refusal(of: camera) { $0.setExposure(mode) })
        expectEqual(error.code, .valueOutOfRange)
        expectEqual(camera.supports(mode).reason?.description, error.description)
        told.append(error.description)
      }
      for position in [-0.01, 1.01, .nan, .infinity] {
        let mode = FocusMode.locked(lensPosition: position)
        let error = try #require(await refusal(of: camera) { $0.setFocus(mode) })
        expectEqual(error.code, .valueOutOfRange)
        expectEqual(camera.supports(mode).reason?.description, error.description)
        told.append(error.description)
      }
      sentences.append(told)
      await session.stop()
    }
    expectEqual(sentences[0], sentences[1])
    expectEqual(
      sentences[1][0],
      "the exposure time of back is 10 to 1000000 microseconds, not 5000000")
    expectEqual(sentences[1][1], "gain of back is 1 to 64 times the base gain, not 1000")
  }

  @Test("nothing is written where one value of several is out of range, with a loop") func whole()
    async throws
  {
    let camera = Cameras.back()
    let session = try await session(of: camera, hasLoops: true)
    let error = await refusal(of: camera) { c in
      c.setExposure(.custom(duration: .milliseconds(5), gain: 2))
      c.setFocus(.locked(lensPosition: 2))
    }
    expectEqual(error?.code, .valueOutOfRange)
    expectEqual(camera.exposureMode, .continuous())
    await session.stop()
  }

  @Test("every setter refuses what the camera cannot have, before the start and while it runs")
  func setters() async throws {
    let camera = ControlledSource.camera().device
    let wrong: [(inout CaptureDevice.Configuration) -> Void] = [
      { $0.setZoom(0.9) }, { $0.setZoom(4.1) }, { $0.setZoom(.nan) },
      { $0.rampZoom(to: 5, rate: 1) }, { $0.rampZoom(to: 2, rate: 0) },
      { $0.rampZoom(to: 2, rate: .nan) }, { $0.rampZoom(to: 2, rate: 101) },
      { $0.setWhiteBalance(.locked(kelvins: 2000)) },
      { $0.setWhiteBalance(.locked(kelvins: .infinity)) },
      { $0.setWhiteBalance(.gains(red: 2.6, blue: 1)) },
      { $0.setWhiteBalance(.gains(red: 1, blue: -1)) },
      { $0.setExposure(.custom(duration: .seconds(1))) },
      { $0.setTorch(.on(level: 1.1)) }, { $0.setTorch(.on(level: .nan)) },
      { $0.set("saturation", 11) }, { $0.set("saturation", 3) }, { $0.set("saturation", .nan) },
      { $0.set("white_balance_automatic", 0.5) }, { $0.set("auto_exposure", 2) },
    ]
    // A source of the program's own has no controls before it runs.
    expectEqual(await refusal(of: camera) { $0.setZoom(2) }?.code, .controlUnsupported)
    let session = try await session(of: camera, hasLoops: false)
    for (index, set) in wrong.enumerated() {
      let error = await refusal(of: camera, set)
      expectEqual(error?.code, .valueOutOfRange, "setter \(index)")
      expectTrue(error?.description.contains("webcam") ?? false || index > 3, "setter \(index)")
    }
    expectEqual(
      await refusal(of: camera) { $0.set("saturation", 11) }?.description,
      "saturation=11 of webcam is not allowed: give -10 to 10 in steps of 2")
    await session.stop()
    let scene = Cameras.back()
    for isRunning in [false, true] {
      let running = isRunning ? try await self.running(scene) : nil
      for set: (inout CaptureDevice.Configuration) -> Void in [
        { $0.setExposure(.custom(duration: .seconds(5))) }, { $0.set("gain", 0.5) },
        { $0.setFocus(.locked(lensPosition: 1.5)) },
      ] {
        expectEqual(await refusal(of: scene, set)?.code, .valueOutOfRange)
      }
      expectEqual(
        await refusal(of: scene) { $0.setWhiteBalance(.gains(red: 1, blue: 1)) }?.description,
        "back has no control for the gain of red")
      expectEqual(
        await refusal(of: scene) { $0.rampZoom(to: 2, rate: 1) }?.code, .controlUnsupported)
      await running?.stop()
    }
  }

  private func running(_ camera: CaptureDevice) async throws -> CaptureSession {
    try await session(of: camera, hasLoops: false)
  }

  @Test("values between two steps of a control become the nearest") func steps() async throws {
    let camera = ControlledSource.camera().device
    let session = try await session(of: camera, hasLoops: false)
    let change = try await camera.withConfiguration { c in
      c.setZoom(1.234)
      c.setTorch(.on(level: 0.52))
      c.setWhiteBalance(.gains(red: 1.104, blue: 0.5))
    }
    expectEqual(change.values["zoom_absolute"], 120)
    expectEqual(change.values["intensity_torch_mode"], 50)
    expectEqual(change.values["red_balance"], 110)
    expectEqual(change.values["blue_balance"], 40)
    expectEqual(change.values["white_balance_automatic"], 0)
    let gains = try #require(camera.whiteBalanceGains)
    expectEqual(gains.red, 1.1)
    expectEqual(gains.blue, 0.5)
    let range = try #require(camera.whiteBalanceGainRange)
    expectEqual(range.lowerBound, 0.0125)
    expectLess(abs(range.upperBound - 2.55), 1e-9)
    await session.stop()
  }
}

@Suite("Changes that a loop makes", .serialized) struct LoopChangeTests {
  @Test("the answer is the first frame that shows what the loop was given, and the values")
  func firstFrame() async throws {
    let seen = Shared<[(number: UInt64, exposure: Float, gain: Float, lens: Float)]>([])
    let output = VideoDataOutput(reading: []) { frame in
      let record = frame.record
      seen.change {
        $0.append(
          (
            record.number, record.inForce.exposureMicroseconds, record.inForce.gain,
            record.inForce.lensPosition
          ))
      }
    }
    let camera = Cameras.back()
    let session = try await session(of: camera, hasLoops: true, output)
    let change = try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(5), gain: 4))
      c.setFocus(.locked(lensPosition: 0.25))
    }
    let first = try #require(change.firstFrame)
    expectEqual(change.values, ["exposure": 5000, "gain": 4, "lens": 0.25])
    expectFalse(change.isOvertaken)
    await expectTrue(until { seen.value.last?.number ?? 0 > first.number + 3 })
    for frame in seen.value where frame.number >= first.number {
      expectTrue(frame.exposure == 5000 && frame.gain == 4 && frame.lens == 0.25)
    }
    // The frame before does not show all.
    let before = seen.value.last { $0.number < first.number }
    expectTrue(before.map { $0.exposure != 5000 || $0.gain != 4 || $0.lens != 0.25 } ?? true)
    expectEqual(camera.exposureMode, .custom(duration: .milliseconds(5), gain: 4))
    // What is left out stays as it is.
    let longer = try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(8)))
    }
    expectEqual(longer.values, ["exposure": 8000, "gain": 4])
    // What somebody else has changed meanwhile is written again.
    try await camera.withConfiguration { c in c.set("gain", 3) }
    let again = try await camera.withConfiguration { c in
      c.setExposure(.custom(duration: .milliseconds(8), gain: 4))
    }
    expectEqual(again.values, ["exposure": 8000, "gain": 4])
    expectEqual(camera.gain, 4)
    // In a mode in which the loop decides there is a frame and no value.
    let open = try await camera.withConfiguration { c in c.setExposure(.continuous(at: .center)) }
    expectGreater(try #require(open.firstFrame).number, try #require(longer.firstFrame).number)
    expectEmpty(open.values)
    await session.stop()
  }

  @Test("changes of a loop that follow each other quickly all return, the last one holds")
  @MainActor func quickChanges() async throws {
    let camera = Cameras.back()
    let session = try await session(of: camera, hasLoops: true)
    var tasks: [Task<ControlChange, any Error>] = []
    for number in 1...6 {
      tasks.append(
        Task { @MainActor in
          try await camera.withConfiguration { c in
            c.setExposure(.custom(duration: .milliseconds(number), gain: 2))
          }
        })
    }
    var frames: [UInt64] = []
    for (index, task) in tasks.enumerated() {
      let change = try await task.value
      frames.append(try #require(change.firstFrame).number)
      expectEqual(change.values["exposure"], Double(index + 1) * 1000)
      if index == 5 { expectFalse(change.isOvertaken) }
    }
    expectEqual(frames, frames.sorted())
    expectEqual(camera.exposureDuration, .milliseconds(6))
    await session.stop()
  }

  @Test("a change without a write has the next frame, none has none") func noWrite() async throws {
    let camera = Cameras.back()
    let session = try await session(of: camera, hasLoops: false)
    let locked = try await camera.withConfiguration { c in c.setExposure(.locked) }
    expectNotNil(locked.firstFrame)
    expectEqual(camera.exposureMode, .locked)
    let nothing = try await camera.withConfiguration { _ in }
    expectNil(nothing.firstFrame)
    try await camera.withConfiguration { c in c.setExposure(.custom(gain: 2)) }
    expectEqual(
      camera.exposureMode, .custom(duration: camera.exposureDuration, gain: 2))
    await session.stop()
  }

  @Test("what is exposed once ends locked, and so does exposing and locking") func locks()
    async throws
  {
    for light in [500.0, 1_000_000] {
      let camera = Cameras.back { $0.exposure = light }
      let session = try await session(of: camera, hasLoops: true)
      try await camera.exposeThenLock(within: longestWait)
      expectEqual(camera.exposureMode, .locked)
      let exposure = camera.exposureDuration
      // A later run has the same exposure, and is locked, too.
      await session.stop()
      expectEqual(camera.exposureDuration, exposure)
      try await session.start()
      expectEqual(camera.exposureMode, .locked)
      try await camera.withConfiguration { c in c.setExposure(.autoOnce()) }
      await expectTrue(until { camera.exposureMode == .locked })
      await session.stop()
    }
  }
}

@Suite("Zoom ramps", .serialized) struct ZoomRampTests {
  @Test("the zoom goes to a factor step by step, and begins there later") func ramp() async throws {
    let (camera, written) = ControlledSource.camera()
    expectEqual(
      await refusal(of: camera) { $0.rampZoom(to: 2, rate: 1) }?.code, .controlUnsupported)
    let session = try await session(of: camera, hasLoops: false)
    let change = try await camera.withConfiguration { c in c.rampZoom(to: 4, rate: 8) }
    expectNotNil(change.firstFrame)
    await expectTrue(until { !camera.isRampingZoom && written.value.last == 400 })
    let up = written.value
    expectEqual(up, up.sorted())
    // 8 doublings a second: two of them take a quarter of a second, 7 frames or so.
    expectTrue((4...10).contains(up.count), "\(up)")
    try await camera.withConfiguration { c in c.rampZoom(to: 1, rate: 8) }
    await expectTrue(until { !camera.isRampingZoom && written.value.last == 100 })
    let down = written.value.dropFirst(up.count)
    expectEqual(Array(down), down.sorted(by: >))
    await expectTrue(until { camera.zoomFactor == 1 })
    await session.stop()
    expectFalse(camera.isRampingZoom)
  }

  @Test("a ramp ends where it is cancelled, with a zoom, and with the session") func ends()
    async throws
  {
    let (camera, written) = ControlledSource.camera()
    let session = try await session(of: camera, hasLoops: false)
    try await camera.withConfiguration { c in c.rampZoom(to: 4, rate: 0.5) }
    await expectTrue(until { written.value.last ?? 0 > 100 })
    expectTrue(camera.isRampingZoom)
    try await camera.withConfiguration { c in c.cancelZoomRamp() }
    expectFalse(camera.isRampingZoom)
    let count = written.value.count
    try await camera.withConfiguration { c in c.set("saturation", 2) }
    expectEqual(written.value.count, count)
    try await camera.withConfiguration { c in c.rampZoom(to: 4, rate: 0.5) }
    try await camera.withConfiguration { c in c.setZoom(3) }
    expectFalse(camera.isRampingZoom)
    expectEqual(written.value.last, 300)
    // The last of two in one configuration counts.
    try await camera.withConfiguration { c in
      c.setZoom(2)
      c.rampZoom(to: 4, rate: 0.01)
    }
    expectTrue(camera.isRampingZoom)
    await session.stop()
    expectFalse(camera.isRampingZoom)
  }
}
