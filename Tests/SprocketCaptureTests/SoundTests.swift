import Sprocket
import SprocketCapture
import TestExpectations
import Testing

@Suite("Sound and pictures together", .serialized) struct SoundTests {
  private static func microphone(_ name: String) -> CaptureDevice {
    CaptureDevice(sceneMicrophone: SceneMicrophoneSettings(), name: name)
  }

  @Test("a picture has the sound up to its time, each block once, and its reports")
  func synchronizer() async throws {
    struct Pair: Sendable {
      let time: Int64
      let isComplete: Bool
      let blocks: [(first: UInt64, end: UInt64, time: Int64, bytes: Int)]
      let types: [String]
    }
    let pairs = Shared<[Pair]>([])
    let together = DataSynchronizer(reading: .luma(.eighth), types: ["meter"]) { frame, data in
      let blocks = data.sound.map { sound in
        let record = sound.block.record
        return (
          record.first, record.end, record.line.time(of: record.first), sound.bytes.count
        )
      }
      let pair = Pair(
        time: frame.record.captured.nanoseconds, isComplete: data.isSoundComplete, blocks: blocks,
        types: data.objects.map(\.type))
      pairs.change { $0.append(pair) }
    }
    let session = try CaptureSession()
    let microphone = Self.microphone("paired")
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      c.preset = .size(Cameras.small)
      c.stages = [.meter(), .focus()]
      c.add(together)
    }
    try await session.start()
    await expectTrue(until { pairs.value.count >= 20 })
    await session.stop()
    let all = pairs.value
    expectTrue(all.allSatisfy { $0.types == ["meter"] })
    expectAtLeast(all.dropFirst(2).filter(\.isComplete).count, all.count / 2)
    for (pair, next) in zip(all, all.dropFirst()) {
      // A line that is measured again moves times by less than a millisecond.
      expectTrue(pair.blocks.allSatisfy { $0.time <= pair.time + 1_000_000 })
      if pair.isComplete { expectTrue(next.blocks.allSatisfy { $0.time > pair.time - 1_000_000 }) }
    }
    let blocks = all.flatMap(\.blocks)
    expectGreater(blocks.count, 20)
    expectTrue(blocks.allSatisfy { $0.bytes > 0 })
    for (block, next) in zip(blocks, blocks.dropFirst()) { expectEqual(block.end, next.first) }
  }

  private static func first(
    _ count: Int, of blocks: some AsyncSequence<SoundCopy, Never> & Sendable
  ) async -> [SoundCopy] {
    var all: [SoundCopy] = []
    for await block in blocks {
      all.append(block)
      if all.count == count { break }
    }
    return all
  }

  @Test("all data outputs are sequences, too, and a slow reader of pairs loses no sound")
  func sequences() async throws {
    let drops = Shared(0)
    let (together, pairs) = DataSynchronizer.copies(
      of: .luma(.half), types: ["meter"], onDrop: { _ in drops.change { $0 += 1 } })
    let (sound, blocks) = AudioDataOutput.copies()
    let (metadata, lists) = MetadataOutput.objects(types: ["meter"])
    let session = try CaptureSession()
    let microphone = Self.microphone("sequences")
    try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      c.preset = .size(Cameras.small)
      c.stages = [.meter()]
      c.add(together)
      c.add(sound)
      c.add(metadata)
    }
    try await session.start()
    // The test reads both streams at the same time, because a stream without a reader drops blocks.
    async let heard = Self.first(30, of: blocks)
    var all: [DataSynchronizer.Pair] = []
    for await pair in pairs {
      all.append(pair)
      if all.count == 10 { break }
      // Whoever does not read in time loses some.
      await expectTrue(until { drops.value > 0 })
    }
    expectTrue(all.allSatisfy { $0.data.objects.map(\.type) == ["meter"] })
    expectTrue(all.allSatisfy { $0.frame.bytes.count == $0.frame.width * $0.frame.height })
    Self.expectWhole(all.flatMap(\.data.sound))
    await Self.expectWhole(heard)
    for await list in lists {
      expectEqual(list.map(\.type), ["meter"])
      break
    }
    await session.stop()
    try await session.configure { c in
      c.remove(together)
      c.remove(sound)
      c.remove(metadata)
    }
    // Each ends.
    for await _ in pairs {}
    for await _ in blocks {}
    for await _ in lists {}
  }

  /// Nothing is missing between blocks, but on a machine that is too slow for seconds, where it is told.
  private static func expectWhole(_ blocks: [SoundCopy]) {
    expectGreater(blocks.count, 20)
    expectTrue(blocks.allSatisfy { !$0.bytes.isEmpty })
    for (block, next) in zip(blocks, blocks.dropFirst()) {
      let gap = next.block.record.first - block.block.record.end
      expectEqual(gap, next.block.missing)
      expectTrue(gap == 0 || gap > 48_000)
    }
  }

  @Test("without a microphone pictures do not wait for sound") func silence() async throws {
    let count = Shared(0)
    let together = DataSynchronizer(reading: []) { _, data in
      if data.sound.isEmpty, !data.isSoundComplete { count.change { $0 += 1 } }
    }
    let session = try await running(together)
    await expectTrue(until { count.value >= 10 })
    await session.stop()
  }

  @Test("the volume is set while sound flows, and holds at the next start") func volume()
    async throws
  {
    let loudest = Shared(Int16(0))
    let output = AudioDataOutput { block, bytes in
      var peak: Int16 = 0
      for index in stride(from: 0, to: bytes.count - 1, by: 2) {
        let sample = Int16(truncatingIfNeeded: Int(bytes[index]) | Int(bytes[index + 1]) << 8)
        peak = max(peak, sample)
      }
      let found = peak
      loudest.change { $0 = found }
    }
    let session = try CaptureSession()
    let microphone = Self.microphone("volume")
    let added = try await session.configure { c throws(CaptureError) in
      c.add(try DeviceInput(Cameras.back()))
      c.add(try DeviceInput(microphone))
      c.preset = .size(Cameras.small)
      return c.add(output)
    }
    let link = added.link(for: .audio)
    #expect(throws: CaptureError.self) { try link.setVolume(0) }
    try await session.start()
    await expectTrue(until { loudest.value > 100 })
    let missing = #expect(throws: CaptureError.self) { try link.setVolume(0) }
    expectEqual(missing?.description.contains("add .gain()"), true)
    try await session.configure { c in c.soundStages = [.gain()] }
    #expect(throws: CaptureError.self) { try link.setVolume(-1) }
    await expectTrue(until { loudest.value > 100 })
    try link.setVolume(0)
    await expectTrue(until { loudest.value == 0 })
    await session.stop()
    loudest.change { $0 = 1 }
    try await session.start()
    await expectTrue(until { loudest.value == 0 })
    try link.setVolume(1)
    await expectTrue(until { loudest.value > 100 })
    await session.stop()
  }
}
