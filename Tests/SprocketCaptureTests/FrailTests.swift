import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// Whether a camera fails from now on.
private final class Fault: Sendable {
  let isThere = Locked(false)
}

/// A scene that cannot be opened, or fails when it is told to.
private final class FrailSource: Source {
  private let scene: SceneSource
  /// `nil`: it cannot be opened.
  private let fault: Fault?

  init(_ choice: FormatChoice, _ fault: Fault?) throws(RunError) {
    var settings = SceneSettings()
    (settings.width, settings.height) = (choice.size.width, choice.size.height)
    scene = try SceneSource(settings)
    self.fault = fault
  }

  func open() throws(RunError) -> SourceDescription {
    guard fault != nil else {
      throw RunError(.failed, "the camera is in use by another program")
    }
    return try scene.open()
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    if fault?.isThere.withLock({ $0 }) == true { throw RunError(.failed, "the camera has failed") }
    return try scene.next(timeout: timeout)
  }

  func takeEvents(into events: inout EventQueue) { scene.takeEvents(into: &events) }
  func take(into slot: inout CaptureSlot) { scene.take(into: &slot) }
  func discard() { scene.discard() }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func interrupt() { scene.interrupt() }
  func close() throws(RunError) { try scene.close() }
}

private func frail(_ fault: Fault?) -> CaptureDevice {
  CaptureDevice(
    name: "frail",
    formats: [DeviceFormat(Cameras.middle, .mjpeg, rates: .these([FrameRate(frames: 30)]))]
  ) { choice throws(RunError) in try FrailSource(choice, fault) }
}

@Suite("Cameras that fail", .serialized) struct FrailTests {
  @Test(
    "a camera that cannot be opened leaves the session with the old one, its preset and outputs")
  func rollback() async throws {
    let seen = Seen()
    let session = try await running(watching(seen))
    await expectTrue(seen.wait(for: 2))
    let output = watching(Seen())
    let broken = frail(nil)
    let error = await #expect(throws: CaptureError.self) {
      try await session.configure { c throws(CaptureError) in
        for input in c.inputs { c.remove(input) }
        c.add(try DeviceInput(broken))
        c.preset = .high
        c.add(output)
      }
    }
    expectEqual(error?.description, "the camera is in use by another program")
    await expectEqual(session.inputs.map(\.device.localizedName), ["back"])
    await expectEqual(session.preset, .size(Cameras.middle))
    await expectEqual(session.outputs.count, 1)
    expectTrue(session.isRunning)
    let count = seen.now.numbers.count
    await expectTrue(seen.wait(for: count + 3))
    // A start that fails can be tried again with another camera.
    await session.stop()
    try await session.switchCamera(to: broken)
    await #expect(throws: CaptureError.self) { try await session.start() }
    expectFalse(session.isRunning)
    try await session.switchCamera(to: Cameras.front())
    try await session.start()
    expectTrue(session.isRunning)
    await session.stop()
  }

  @Test("a camera that fails ends the run with an error in the stream, and recordings are kept")
  func runtimeError() async throws {
    let folder = try TestFolder()
    let movies = MovieFileOutput()
    let seen = Seen()
    let fault = Fault()
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(frail(fault)))
      c.add(movies)
      c.add(watching(seen))
    }
    var errors = session.runtimeErrors.makeAsyncIterator()
    try await session.start()
    let recording = try movies.startRecording(to: folder.file("a.mov"))
    await expectTrue(seen.wait(for: seen.now.numbers.count + 10))
    fault.isThere.withLock { $0 = true }
    await expectEqual(errors.next()?.description, "the camera has failed")
    let result = await recording.finished()
    expectEqual(result.error?.code, .deviceNotFound)
    expectTrue(result.isUsable)
    await expectTrue(until { !session.isRunning })
    // It can be started again.
    fault.isThere.withLock { $0 = false }
    try await session.start()
    expectTrue(session.isRunning)
    await session.stop()
  }

  @Test("each failure is one error of the stream, whatever throws it and whatever it leads to")
  func onceEach() async throws {
    let session = try CaptureSession()
    let errors = Shared<[CaptureError]>([])
    let stream = session.runtimeErrors
    let reader = Task { for await error in stream { errors.change { $0.append(error) } } }
    var thrown: [String] = []
    func note(_ body: () async throws(CaptureError) -> Void) async {
      do throws(CaptureError) { try await body() } catch { thrown.append(error.description) }
    }
    let (back, broken, fault) = (Cameras.back(), frail(nil), Fault())
    await note { () throws(CaptureError) in try await session.start() }
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(back))
      c.preset = .size(Cameras.middle)
    }
    await note { () throws(CaptureError) in
      try await session.configure { c in c.preset = .size(CameraSize(1, 1)) }
    }
    await note { () throws(CaptureError) in
      try await session.configure { _ throws(CaptureError) in
        throw CaptureError(.cancelled, "the body gave up")
      }
    }
    await note { () throws(CaptureError) in
      try await session.switchCamera(to: CaptureDevice(sceneMicrophone: .init()))
    }
    try await session.start()
    await note { () throws(CaptureError) in try await session.switchCamera(to: broken) }
    // Another microphone begins a new run, with another camera that cannot be opened.
    await note { () throws(CaptureError) in
      try await session.configure { c throws(CaptureError) in
        for input in c.inputs { c.remove(input) }
        c.add(try DeviceInput(broken))
        c.add(try DeviceInput(CaptureDevice(sceneMicrophone: .init())))
        c.add(AudioDataOutput { _, _ in })
      }
    }
    expectEqual(thrown.count, 6)
    await expectTrue(until { errors.value.count >= thrown.count })
    expectEqual(errors.value.map(\.description), thrown)
    expectTrue(errors.value.allSatisfy(\.isThrown))
    // A run that ends by itself is told of once, without the mark.
    try await session.configure { c throws(CaptureError) in
      for input in c.inputs { c.remove(input) }
      c.add(try DeviceInput(frail(fault)))
    }
    if !session.isRunning { try await session.start() }
    fault.isThere.withLock { $0 = true }
    await expectTrue(until { !session.isRunning })
    await expectTrue(until { errors.value.count > thrown.count })
    await session.stop()
    expectEqual(errors.value.dropFirst(thrown.count).map(\.description), ["the camera has failed"])
    expectEqual(errors.value.last?.isThrown, false)
    reader.cancel()
  }

  @Test("a change that fails and ends the run is an error of the call and one of the stream")
  func noWayBack() async throws {
    let fault = Fault()
    let rates = CameraRates.these([FrameRate(frames: 30)])
    let camera = CaptureDevice(
      name: "gone", formats: [DeviceFormat(Cameras.middle, .mjpeg, rates: rates)]
    ) { choice throws(RunError) in
      if fault.isThere.withLock({ $0 }) { throw RunError(.failed, "the camera is gone") }
      return try FrailSource(choice, Fault())
    }
    let session = try await running(watching(Seen()), camera: camera)
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(CaptureDevice(sceneMicrophone: .init())))
      c.add(AudioDataOutput { _, _ in })
    }
    let stream = session.runtimeErrors
    let errors = Shared<[CaptureError]>([])
    let reader = Task { for await error in stream { errors.change { $0.append(error) } } }
    fault.isThere.withLock { $0 = true }
    // Other stages of sound begin a new run.
    let error = await #expect(throws: CaptureError.self) {
      try await session.configure { c in c.soundStages = [.gain()] }
    }
    expectFalse(session.isRunning)
    await expectEqual(session.inputs.count, 2)
    await session.stop()
    await expectTrue(until { errors.value.count >= 2 })
    reader.cancel()
    let told = errors.value
    try #require(told.count == 2)
    expectEqual(told.map(\.isThrown), [false, true])
    expectEqual(error?.description, told[1].description)
    expectEqual(told[0].description.hasPrefix("the session has stopped"), true)
  }

  @Test("a callback may ask for the end, and a released session ends by itself") func callback()
    async throws
  {
    let seen = Seen()
    weak var released: CaptureSession?
    do {
      let session = try CaptureSession()
      released = session
      let camera = try DeviceInput(Cameras.back())
      try await session.configure { c in
        c.add(camera)
        c.add(
          VideoDataOutput(reading: []) { [weak session] frame in
            seen.add(frame.record, frame.format)
            if frame.record.number == 4 { Task { [session] in await session?.stop() } }
          })
      }
      try await session.start()
      await expectTrue(until { !session.isRunning })
      try await session.start()
      expectTrue(session.isRunning)
    }
    // The callback's task may hold it for a while.
    await expectTrue(until { released == nil })
    // Its run ends, after frames that are under way.
    let hasEnded = await until {
      let count = seen.now.numbers.count
      try? await Task.sleep(for: .milliseconds(300))
      return seen.now.numbers.count == count
    }
    expectTrue(hasEnded)
  }
}
