import Sprocket
import SprocketCapture
import TestExpectations
import Testing

/// Sequences of copies, whose readers get every frame or are told which they did not get.
@Suite("Copies of a session's frames", .serialized) struct CopiesTests {
  /// Reads `count` copies, each after `pause`, then all that are left when the session has stopped.
  private func read(
    _ frames: AsyncStream<FrameCopy>, of output: some TakesVideo, count: Int,
    beside seen: Seen? = nil,
    pause: () async -> Void
  ) async throws -> [FrameCopy] {
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.small)
      c.add(output)
      if let seen { c.add(watching(seen, discardsLateFrames: false)) }
    }
    try await session.start()
    var all: [FrameCopy] = []
    for await frame in frames {
      all.append(frame)
      if all.count == count { break }
      await pause()
    }
    await session.stop()
    try await session.configure { c in c.remove(output) }
    for await frame in frames { all.append(frame) }
    return all
  }

  @Test("every frame is read where the reader keeps up, of outputs and previews")
  func every() async throws {
    let drops = Shared<[DroppedFrame]>([])
    let note: VideoDataOutput.DropHandler = { drop in drops.change { $0.append(drop) } }
    let data = VideoDataOutput.copies(of: .rgb, keeping: .every(60), onDrop: note)
    let preview = PreviewOutput.copies(of: .nv12, keeping: .every(60), onDrop: note)
    var all = try await read(data.frames, of: data.output, count: 20) {}
    expectAll(all, drops.value)
    drops.change { $0 = [] }
    all = try await read(preview.frames, of: preview.output, count: 20) {}
    expectAll(all, drops.value)
  }

  /// Each frame was read, or is told of, once.
  private func expectAll(_ frames: [FrameCopy], _ drops: [DroppedFrame]) {
    let read = frames.map(\.record.number)
    expectEqual(read, read.sorted())
    let numbers = (read + drops.map(\.number)).sorted()
    expectEqual(numbers, Array(0..<UInt64(numbers.count)))
    expectTrue(frames.allSatisfy { $0.bytes.count >= 24 * 32 })
  }

  @Test("a reader that is too slow for its bound is told of each frame that it does not get, once")
  func bound() async throws {
    let drops = Shared<[DroppedFrame]>([])
    let (output, frames) = VideoDataOutput.copies(
      of: .luma(.half), keeping: .every(2), onDrop: { drop in drops.change { $0.append(drop) } })
    let seen = Seen()
    let all = try await read(frames, of: output, count: 4, beside: seen) {
      // More than two copies, and what the engine keeps for a sink.
      await expectTrue(seen.wait(for: seen.now.numbers.count + 30))
    }
    expectAtLeast(all.count, 4)
    expectAll(all, drops.value)
    expectTrue(drops.value.contains { $0.reason == .outOfBuffers })
  }

  @Test("the newest replaces one that nobody read, which is told as late") func newest()
    async throws
  {
    let drops = Shared<[DroppedFrame]>([])
    let (output, frames) = PreviewOutput.copies(onDrop: { drop in drops.change { $0.append(drop) } }
    )
    let all = try await read(frames, of: output, count: 3) {
      let before = drops.value.count
      await expectTrue(until { drops.value.count > before + 1 })
    }
    expectAll(all, drops.value)
    expectTrue(drops.value.contains { $0.reason == .late })
  }

  @Test("pairs come every one, each with its sound") func pairs() async throws {
    let (output, pairs) = DataSynchronizer.copies(of: .luma(.half), keeping: .every(60))
    let session = try CaptureSession()
    let microphone = CaptureDevice(sceneMicrophone: SceneMicrophoneSettings())
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      c.preset = .size(Cameras.small)
      c.add(output)
    }
    try await session.start()
    var all: [DataSynchronizer.Pair] = []
    for await pair in pairs {
      all.append(pair)
      if all.count == 10 { break }
    }
    await session.stop()
    let sound = all.flatMap(\.data.sound)
    expectGreater(sound.count, 5)
    for (block, next) in zip(sound, sound.dropFirst()) {
      expectEqual(next.block.record.first, block.block.record.end)
    }
  }

  @Test("a photograph's pixels are its JPEG's, and a lent frame is kept by a callback")
  func photographs() async throws {
    let photos = PhotoOutput(formats: [.jpeg, .png])
    let kept = Shared<FrameCopy?>(nil)
    let output = VideoDataOutput { frame in
      let copy = FrameCopy(frame, .nv12)
      kept.change { $0 = copy }
    }
    let session = try CaptureSession()
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.preset = .size(Cameras.small)
      c.add(photos)
      c.add(output)
    }
    try await session.start()
    let photo = try await photos.photo(PhotoSettings(.jpeg))
    let pixels = try photo.pixels(.rgb)
    expectEqual(pixels.bytes.count, 64 * 48 * 3)
    expectEqual(pixels.record.number, photo.record?.number)
    let drawn = try await photos.photo(PhotoSettings(.png))
    let error = #expect(throws: CaptureError.self) { try drawn.pixels() }
    expectEqual(error?.description.contains("JPEG"), true)
    await expectTrue(until { kept.value != nil })
    expectEqual(kept.value?.bytes.count, 64 * 48 * 3 / 2)
    await session.stop()
  }
}
