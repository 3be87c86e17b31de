import Sprocket
import SprocketCapture
import TestExpectations
import Testing

@Suite("CaptureSession", .serialized) struct SessionTests {
  @Test("frames flow from an input to an output until stop") func flows() async throws {
    let session = try CaptureSession()
    let seen = Seen()
    let output = watching(seen)
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      return c.add(output)
    }
    expectEqual(added.state, .active)
    expectFalse(session.isRunning)
    try await session.start()
    expectTrue(session.isRunning)
    await expectEqual(session.activeFormat?.width, 128)
    await expectTrue(seen.wait(for: 5))
    await session.stop()
    expectFalse(session.isRunning)
    let summary = try #require(await session.summary)
    expectTrue(summary.isOver)
    expectTrue(summary.ledger.isBalanced)
    expectEmpty(summary.errors)
    let count = seen.now.numbers.count
    try await Task.sleep(for: .milliseconds(100))
    expectEqual(seen.now.numbers.count, count)
    // It can be started again.
    try await session.start()
    await expectTrue(seen.wait(for: count + 3))
    await session.stop()
  }

  @Test("outputs come and go while it runs, and no frame of the others is lost")
  func outputsComeAndGo() async throws {
    let session = try CaptureSession()
    let (first, second) = (Seen(), Seen())
    let output = watching(second)
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(watching(first, reading: [], discardsLateFrames: false))
    }
    try await session.start()
    await expectTrue(first.wait(for: 3))
    let added = try await session.configure { c in c.add(output) }
    await expectTrue(second.wait(for: 3))
    try await session.configure { c in c.remove(output) }
    expectEqual(added.state, .removed)
    #expect(throws: CaptureError.self) { try added.link(for: .video).setEnabled(false) }
    let count = second.now.numbers.count
    let before = first.now.numbers.count
    await expectTrue(first.wait(for: before + 3))
    expectEqual(second.now.numbers.count, count)
    await session.stop()
    let numbers = first.now.numbers
    let summary = try #require(await session.summary)
    expectTrue(
      numbers == Array(0..<UInt64(numbers.count)) || summary.ledger.entries[1].counts[.missing] > 0)
    expectEqual(first.now.discontinuities, [0])
    expectTrue(summary.ledger.isBalanced)
  }

  @Test("a configuration holds as a whole or not at all, and all refusals are told together")
  func allOrNothing() async throws {
    let session = try CaptureSession()
    let (back, front) = (try DeviceInput(Cameras.back()), try DeviceInput(Cameras.front()))
    let output = watching(Seen())
    var added: Added<VideoDataOutput>?
    do throws(CaptureError) {
      try await session.configure { c in
        c.add(back)
        added = c.add(output)
        c.add(front)
        c.add(output)
      }
      Issue.record("it was not refused")
    } catch {
      expectEqual(error.refusals.map(\.code), [.inputRefused, .outputRefused])
    }
    expectEqual(added?.state, .removed)
    await expectEmpty(session.inputs)
    await expectEmpty(session.outputs)
    // The output is free for another session.
    let other = try CaptureSession()
    await expectTrue(other.canAdd(output).isYes)
  }

  @Test("a camera is switched to with the preset that the error names") func switchWithPreset()
    async throws
  {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.large)
    }
    let front = Cameras.front()
    let error = await #expect(throws: CaptureError.self) {
      try await session.switchCamera(to: front)
    }
    let preset = try #require(error?.alternative)
    try await session.switchCamera(to: front, preset: preset)
    await expectEqual(session.preset, preset)
    await expectTrue(session.activeCamera === front)
  }

  @Test("starting and stopping are told of") func running() async throws {
    let session = try CaptureSession()
    let changes = session.runningChanges
    try await session.configure { c throws(CaptureError) in c.add(try DeviceInput(Cameras.back())) }
    try await session.start()
    try await session.start()
    await expectFalse(session.isInterrupted)
    await session.stop()
    await session.stop()
    try await session.start()
    await session.stop()
    var told: [Bool] = []
    for await isRunning in changes {
      told.append(isRunning)
      if told.count == 4 { break }
    }
    expectEqual(told, [true, false, true, false])
  }

  @Test("a link's preference steadies the pictures of the session") func stabilization()
    async throws
  {
    let (seen, movies) = (Seen(), MovieFileOutput())
    let session = try CaptureSession()
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.large)
      c.add(watching(seen))
      return c.add(movies)
    }
    let link = added.link(for: .video)
    try await session.start()
    expectEqual(link.activeStabilization, .off)
    try await session.configure { c in c.setPreferredStabilization(.auto, of: added) }
    expectEqual(link.activeStabilization, .standard)
    await expectEqual(session.preferredStabilization(of: added), .auto)
    let count = seen.now.numbers.count
    await expectTrue(seen.wait(for: count + 5))
    let names = await session.summary?.stages.map(\.name) ?? []
    expectTrue(names.contains { $0.hasPrefix("stabilize") }, "\(names)")
    try await session.configure { c in c.setPreferredStabilization(.off, of: added) }
    expectEqual(link.activeStabilization, .off)
    await session.stop()
  }

  @Test("samples that a program gets stay as they are, and a turn of their link is refused")
  func turnOfSamples() async throws {
    let session = try CaptureSession()
    let added = try await session.configure { c in c.add(watching(Seen())) }
    let error = #expect(throws: CaptureError.self) {
      try added.link(for: .video).setOrientation(.quarterTurn)
    }
    expectEqual(error?.description.contains("stage rotate"), true)
    #expect(throws: CaptureError.self) { try added.link(for: .video).setMirrored(true) }
  }

  @Test("nested configurations hold at the outermost end") func nests() async throws {
    let session = try CaptureSession()
    func addCamera(_ c: inout CaptureSession.Configuration) throws(CaptureError) {
      try c.configure { c throws(CaptureError) in
        c.add(try DeviceInput(Cameras.back()))
        c.preset = .low
      }
    }
    try await session.configure { c throws(CaptureError) in
      try addCamera(&c)
      expectEqual(c.inputs.count, 1)
      c.preset = .size(Cameras.small)
    }
    await expectEqual(session.preset, .size(Cameras.small))
    await #expect(throws: CaptureError.self) {
      try await session.configure { c throws(CaptureError) in
        c.preset = .low
        throw CaptureError(.cancelled, "the body gave up")
      }
    }
    await expectEqual(session.preset, .size(Cameras.small))
  }

  @Test("a preset that the camera does not offer is refused, and the nearest is named")
  func presets() async throws {
    let session = try CaptureSession()
    let front = Cameras.front()
    try await session.configure { c throws(CaptureError) in c.add(try DeviceInput(front)) }
    let answer = await session.canSet(.hd1920x1080)
    expectEqual(answer.reason?.code, .presetUnsupported)
    expectEqual(answer.reason?.alternative, .size(Cameras.middle))
    await expectTrue(session.canSet(.low).isYes)
    let error = await #expect(throws: CaptureError.self) {
      try await session.configure { c in c.preset = .size(Cameras.large) }
    }
    expectEqual(
      error?.description, "front does not offer 128x96; the nearest that it offers is 96x72")
    await expectEqual(session.preset, .high)
  }

  @Test("Bug 9: a camera that cannot have the preset leaves input, preset and format as they were")
  func switching()
    async throws
  {
    let session = try CaptureSession()
    let seen = Seen()
    let (back, front) = (Cameras.back(), Cameras.front())
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(back))
      c.add(watching(seen))
      c.preset = .size(Cameras.large)
    }
    try await session.start()
    await expectTrue(seen.wait(for: 2))
    let error = await #expect(throws: CaptureError.self) {
      try await session.switchCamera(to: front)
    }
    expectEqual(error?.alternative, .size(Cameras.middle))
    await expectEqual(session.inputs.map(\.device.localizedName), ["back"])
    let count = seen.now.numbers.count
    await expectTrue(seen.wait(for: count + 3))
    expectEqual(seen.now.discontinuities.count, 1)
    try await session.configure { c in c.preset = .high }
    _ = try await session.switchCamera(to: front)
    await expectTrue(until { seen.now.sizes.last == Cameras.middle })
    expectEqual(seen.now.discontinuities.count, 2)
    await session.stop()
    await expectEqual(session.summary?.ledger.isBalanced, true)
  }

  @Test("start without an input is an error, also in the stream of errors") func noInput()
    async throws
  {
    let session = try CaptureSession()
    var errors = session.runtimeErrors.makeAsyncIterator()
    await #expect(throws: CaptureError.self) { try await session.start() }
    await expectEqual(errors.next()?.code, .noInput)
    await session.stop()
  }

  @Test("what comes while the callback is busy is dropped, and told of once") func lateFrames()
    async throws
  {
    let session = try CaptureSession()
    let seen = Seen()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .low
      c.frameRate = FrameRate(frames: 60)
      c.add(watching(seen, reading: [], delay: 60_000_000))
    }
    try await session.start()
    await expectTrue(seen.wait(for: 8))
    await session.stop()
    let all = (seen.now.numbers + seen.now.drops.map(\.number)).sorted()
    expectEqual(all, Array(0..<UInt64(all.count)))
    expectTrue(seen.now.drops.contains { $0.reason == .late })
  }

  @Test("copies are read by for await until the output is removed") func copies() async throws {
    let session = try CaptureSession()
    let (output, frames) = VideoDataOutput.copies(of: .luma(.half))
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .low
      c.add(output)
    }
    try await session.start()
    var count = 0
    for await frame in frames {
      expectEqual(frame.bytes.count, 64 * 48)
      count += 1
      if count == 4 { try await session.configure { c in c.remove(output) } }
    }
    expectAtLeast(count, 4)
    await session.stop()
  }

  @Test("a session is interrupted while its camera is gone, and goes on by itself") func unplugged()
    async throws
  {
    let session = try CaptureSession()
    let seen = Seen()
    let camera = Cameras.back { settings in
      settings.faults.unplug = 0.08
      settings.faults.unplugDuration = .milliseconds(1500)
      settings.seed = 3
    }
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(camera))
      c.preset = .low
      c.add(watching(seen))
    }
    var interruptions = session.interruptions.makeAsyncIterator()
    try await session.start()
    await expectEqual(interruptions.next(), .began(.noFrames))
    guard case .ended(let time) = await interruptions.next() else {
      Issue.record("it did not end")
      return
    }
    expectAtLeast(time, .seconds(1))
    expectTrue(session.isRunning)
    await expectTrue(until { seen.now.discontinuities.count >= 2 })
    await session.stop()
  }
}
