import CSprocketAllocations
import Foundation
import SprocketCore
import SprocketFiles
import SprocketJPEG
import SprocketPixels
import TestExpectations
import Testing

@testable import SprocketScene

@Suite struct SceneSourceTests {
  private func troubled(_ seed: UInt64, _ format: PixelFormat) -> SceneSettings {
    scene {
      $0.seed = seed
      $0.format = format
      $0.faults = SceneFaultsTests.settings(0.08)
      $0.faults.unplug = 0.01
      $0.faults.formatChange = 0.01
      $0.startup = 3
    }
  }

  @Test(arguments: [PixelFormat.mjpeg, .i420, .yuyv])
  func twoRunsAreTheSame(_ format: PixelFormat) throws {
    let first = try frames(troubled(5, format), count: 60)
    let second = try frames(troubled(5, format), count: 60)
    expectEqual(first.taken, second.taken)
    let other = try frames(troubled(6, format), count: 60)
    expectUnequal(first.taken.map(\.bytes), other.taken.map(\.bytes))
  }

  /// What the scene says it did is what can be seen from outside.
  @Test(arguments: 1...6 as ClosedRange<UInt64>, [PixelFormat.mjpeg, .grey])
  func theRecordIsWhatHappened(_ seed: UInt64, _ format: PixelFormat) throws {
    let (taken, record) = try frames(troubled(seed, format), count: 150)
    var missing: UInt64 = 0
    for (before, after) in zip(taken, taken.dropFirst()) where before.epoch == after.epoch {
      expectGreater(after.sequence, before.sequence)
      missing += after.sequence - before.sequence - 1
    }
    expectEqual(record.told, 150)
    expectEqual(record.missing, missing)
    expectGreater(missing, 0)
    expectEqual(record.corrupt, UInt64(taken.filter(\.isCorrupt).count))
    expectGreater(record.corrupt, 0)
    expectEqual(record.startup, UInt64(taken.filter { $0.isStartup && !$0.isCorrupt }.count))
    expectEqual(record.replugs + record.formatChanges, UInt64(taken.last?.epoch ?? 0))
    let drops = record.faults[0]
    expectGreater(drops, 0)
    expectAtMost(drops, missing)
  }

  @Test func intactJPEGsAreWholeAndDamagedOnesAreNot() throws {
    for frame in try frames(troubled(9, .mjpeg), count: 80).taken {
      expectEqual(((try? JPEGStructure(frame.bytes.span)) == nil), frame.isCorrupt)
    }
  }

  @Test(arguments: [(64, 48), (65, 47), (17, 16)], [SceneSettings.Subsampling.half420, .half422])
  func jpegsHaveTheAskedForShape(
    _ size: (Int, Int), _ subsampling: SceneSettings.Subsampling
  ) throws {
    let settings = scene {
      ($0.width, $0.height) = size
      $0.subsampling = subsampling
    }
    let frame = try #require(try frames(settings, count: 1).taken.first)
    let structure = try JPEGStructure(frame.bytes.span)
    expectEqual(structure.width, size.0)
    expectEqual(structure.height, size.1)
    expectEqual(structure.subsampling, (subsampling == .half420 ? .yuv420 : .yuv422))
  }

  @Test func betterQualityTakesMoreBytes() throws {
    let counts = try [30, 60, 95].map { quality in
      try frames(scene { $0.quality = quality }, count: 1).taken[0].bytes.count
    }
    expectTrue(counts[0] < counts[1] && counts[1] < counts[2])
  }

  @Test(arguments: [PixelFormat.mjpeg, .i420])
  func cachedFramesAreTheDrawnOnesOverAndOver(_ format: PixelFormat) throws {
    let drawn = try frames(scene { $0.format = format }, count: 4).taken
    let cached = try frames(
      scene {
        $0.format = format
        $0.cached = 4
      }, count: 10
    ).taken
    for index in 0..<10 { expectEqual(cached[index].bytes, drawn[index % 4].bytes) }
    expectEqual(cached.map(\.sequence), Array(0..<10))
  }

  @Test(arguments: 0...4) func controlsTakeEffectAfterTheirDelay(_ delay: Int) throws {
    let settings = scene {
      $0.delay = delay
      $0.format = .grey
      $0.noise = 0
      $0.shake = 0
      $0.panX = 0
    }
    var port: ControlPort?
    let source = try SceneSource(settings)
    let description = try source.open()
    port = description.controls
    let slot = SourceSlot(capacity: description.capacity)
    let exposure = try #require(port?.control("exposure"))
    var ticket: UInt64?
    var shown: [Float] = []
    var sums: [Int] = []
    for index in 0..<12 {
      // Frame 4 is the newest when the write is made.
      if index == 5 { ticket = port?.write(exposure, 2_500) }
      guard case .frame(let frame) = try source.next(timeout: 0) else { continue }
      slot.take(from: source, description.format)
      shown.append(frame.inForce.exposureMicroseconds)
      sums.append(slot.bytes.reduce(0) { $0 + Int($1) })
      let applied = slot.events.filter { $0.kind == .controlApplied }
      let first = max(4 + delay, 5)
      expectEqual(applied.count, (index == first ? 1 : 0))
      if index == first {
        expectTrue(applied.first?.ticket == ticket && applied.first?.value == 2500)
      }
    }
    let change = max(4 + delay, 5)
    for index in 0..<12 { expectEqual(shown[index], (index < change ? 10_000 : 2_500)) }
    for index in 1..<12 { expectEqual((sums[index] < sums[index - 1] * 3 / 4), (index == change)) }
  }

  @Test func controlsWrittenBeforeTheFirstFrameHoldFromIt() throws {
    let (taken, _) = try frames(scene { $0.format = .grey }, count: 2) { source, index in
      guard index == 0, let port = (try? source.open())?.controls else { return }
      for (name, value) in [("gain", 2.0), ("lens", 0.25)] {
        if let control = port.control(name) { _ = port.write(control, value) }
      }
    }
    expectTrue(taken[0].inForce.gain == 2 && taken[0].inForce.lensPosition == 0.25)
  }

  @Test func realPaceKeepsTheBeat() throws {
    let settings = scene {
      $0.pace = .real
      $0.rate = FrameRate(frames: 100)
      $0.format = .grey
    }
    let source = try SceneSource(settings)
    let description = try source.open()
    expectTrue(description.isLive)
    expectEqual(description.clock, .monotonic)
    let slot = SourceSlot(capacity: description.capacity)
    var times: [Int64] = []
    var sequences: [Int64] = []
    while times.count < 20 {
      guard case .frame(let frame) = try source.next(timeout: 5_000_000) else { continue }
      expectAtLeast(monotonicNow(), frame.captured.nanoseconds, "never before it is due")
      times.append(frame.captured.nanoseconds)
      sequences.append(Int64(frame.sequence))
      slot.take(from: source, description.format)
    }
    for index in 1..<20 {
      let beats = sequences[index] - sequences[0]
      expectEqual(times[index] - times[0], beats * 10_000_000)
    }
  }

  @Test func waitingEndsInTime() throws {
    let settings = scene {
      $0.pace = .real
      $0.rate = FrameRate(frames: 1)
      $0.format = .grey
    }
    let source = try SceneSource(settings)
    _ = try source.open()
    guard case .frame = try source.next(timeout: 20_000_000) else {
      Issue.record("the first frame is due at once")
      return
    }
    source.discard()
    let start = monotonicNow()
    guard case .nothing = try source.next(timeout: 20_000_000) else {
      Issue.record("the second frame is due in a second")
      return
    }
    expectAtLeast(monotonicNow() - start, 20_000_000)
  }

  @Test(arguments: [
    scene { $0.format = .yuv411p }, scene { $0.width = 8 }, scene { $0.height = 9000 },
    scene { $0.rate = FrameRate(frames: 0) },
  ])
  func impossibleSettingsAreRefusedWithASentence(_ settings: SceneSettings) {
    let error = #expect(throws: RunError.self) { try SceneSource(settings) }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("the scene"), true)
  }

  @Test func theKindTakesSettingsByName() throws {
    let source = try SceneSource.kind.make(
      values: ["seed": "7", "drop": "0.25", "stallfor": "2s", "pace": "fast", "shake": "0"],
      request: FormatRequest(format: .nv12, size: FrameSize(33, 21), rate: FrameRate(frames: 60)))
    let scene = try #require(source as? SceneSource)
    expectEqual(scene.settings.seed, 7)
    expectEqual(scene.settings.faults.drop, 0.25)
    expectEqual(scene.settings.faults.stallDuration, .seconds(2))
    let description = try source.open()
    expectEqual(description.format.width, 33)
    expectEqual(description.format.pixelFormat, .nv12)
    expectFalse(description.isLive)
    expectEqual(description.format.rate.frames, 60)
    let names = SceneSettings.settings.map(\.name)
    expectEqual(Set(names).count, names.count)
  }
}

/// A frame costs no allocation in Swift; libturbojpeg's own are the same for every image.
@Suite struct SceneAllocationTests {
  private func allocations(_ settings: SceneSettings, frames count: Int) throws -> Int {
    let source = try SceneSource(settings)
    let description = try source.open()
    let slot = SourceSlot(capacity: description.capacity)
    var taken = 0
    var before = 0
    // The first faults set up what is made once.
    while taken < count + 50 {
      if taken == 50 { before = sprocket_allocation_count() }
      guard case .frame = try source.next(timeout: 20_000_000) else { continue }
      slot.take(from: source, description.format)
      taken += 1
    }
    return sprocket_allocation_count() - before
  }

  /// The least of three runs: when another test loads a library meanwhile, the loader may allocate once on
  /// this thread for its thread-local memory. What a frame costs is in each run.
  private func leastAllocations(_ settings: SceneSettings, frames count: Int) throws -> Int {
    var least = Int.max
    for _ in 0..<3 where least > 0 { least = min(least, try allocations(settings, frames: count)) }
    return least
  }

  @Test(arguments: [SourcePace.fast, .real]) func rawFramesCostNone(
    _ pace: SourcePace
  ) throws {
    for format in [PixelFormat.i420, .yuyv, .rgb24, .nv12, .y10, .bayerRGGB] {
      let settings = scene {
        $0.format = format
        $0.pace = pace
        $0.rate = FrameRate(frames: 1000)
        $0.lens = 0.4
        $0.roll = 1
        $0.truth = "/dev/null"
        $0.faults.drop = 0.1
        $0.faults.truncate = 0.1
        $0.faults.stall = 0.01
        $0.faults.stallDuration = .milliseconds(1)
      }
      try expectEqual(leastAllocations(settings, frames: 100), 0, "\(format)")
    }
  }

  @Test func encodedFramesCostWhatTheLibraryTakes() throws {
    let hundred = try allocations(scene(), frames: 100)
    expectAtMost(hundred, 100 * 8)
    try expectEqual(allocations(scene(), frames: 200), 2 * hundred)
    try expectEqual(allocations(scene { $0.cached = 5 }, frames: 100), 0)
    // The testing library itself takes memory for a backtrace of each error that is thrown.
    let damaged = try allocations(scene { $0.faults.corrupt = 0.2 }, frames: 100)
    expectTrue((hundred...hundred + 50).contains(damaged))
  }
}

@Suite struct SceneTruthTests {
  private func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "truth-\(UUID()).jsonl").path
  }

  @Test func everyFrameHasItsLine() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let settings = scene {
      $0.truth = OutputName(literal: path)
      $0.faults.drop = 0.2
      $0.faults.corrupt = 0.2
      $0.roll = 1
      $0.zoom = 0.01
    }
    let (taken, record) = try frames(settings, count: 100)
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    expectEqual(lines.count, 100 + Int(record.missing))
    let motion = SceneMotion(settings.motionSettings, seed: settings.seed)
    var told = 0
    for (index, line) in lines.enumerated() {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      expectEqual(object["sequence"] as? Int, index)
      let faults = try #require(object["faults"] as? [String])
      if faults == ["lost"] { continue }
      expectEqual(faults.contains("corrupt"), taken[told].isCorrupt)
      let seconds = try #require(object["taken_ns"] as? Double) * 1e-9
      let pose = motion.sceneFromFrame(at: seconds)
      for (key, value) in [
        ("dx", pose.dx), ("dy", pose.dy), ("roll_degrees", pose.rollDegrees),
        ("scale", pose.scale), ("exposure_us", 10_000), ("gain", 1), ("lens", 0.5), ("blur_px", 0),
      ] {
        expectLess(abs((object[key] as? Double ?? .nan) - value), 1e-9, "\(key)")
      }
      told += 1
    }
    expectEqual(told, 100)
  }

  /// 30 frames per second: the light is on from frame 15 to 29, what is sharp changes at frame 30, and
  /// the lens, written at the start of frame 10, leaves its place then. Frames say what the lens was
  /// told, truth where it is.
  @Test func truthTellsTheLightAndWhereTheLensIs() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let settings = scene {
      $0.truth = OutputName(literal: path)
      $0.format = .grey
      $0.panX = 0
      $0.shake = 0
      $0.light = 0.5
      $0.lightStep = -2
      $0.lightAt = 0.5
      $0.lightFor = 0.5
      $0.focusStep = 0.25
      $0.focusAt = 1
      $0.lensSpeed = 0.6
      $0.backlash = 0.04
      $0.delay = 1
    }
    let source = try SceneSource(settings)
    let description = try source.open()
    let slot = SourceSlot(capacity: description.capacity)
    let port = try #require(description.controls)
    var sums: [Int] = []
    for index in 0..<40 {
      if index == 10 { _ = port.write(2, 0.7) }
      guard case .frame(let frame) = try source.next(timeout: 0) else { continue }
      expectEqual(frame.inForce.lensPosition, (index < 10 ? 0.5 : 0.7))
      slot.take(from: source, description.format)
      sums.append(slot.bytes.reduce(0) { $0 + Int($1) })
    }
    try source.close()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for (index, line) in text.split(separator: "\n").enumerated() {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      expectEqual(object["light_ev"] as? Double, ((15..<30).contains(index) ? -1.5 : 0.5))
      expectEqual(object["focus"] as? Double, (index < 30 ? 0.5 : 0.75))
      let moved = min(max(Double(index - 9), 0) * 0.02, 0.2)
      let lens = 0.5 + max(moved - 0.02, 0)
      expectLess(abs((object["lens"] as? Double ?? .nan) - lens), 1e-9, "\(index)")
      let blur = abs(lens - (index < 30 ? 0.5 : 0.75)) * settings.defocus
      expectLess(abs((object["blur_px"] as? Double ?? .nan) - blur), 1e-7, "\(index)")
    }
    for index in 1..<40 {
      expectEqual((sums[index] * 4 < sums[index - 1] * 3), (index == 15))
      expectEqual((sums[index] * 3 > sums[index - 1] * 4), (index == 30))
    }
  }

  @Test func aPathThatCannotBeWrittenIsRefused() throws {
    let source = try SceneSource(scene { $0.truth = "no/such/folder/truth.jsonl" })
    let error = #expect(throws: RunError.self) { try source.open() }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("no/such/folder"), true)
  }

  @Test func aFullDiskIsTold() throws {
    let settings = scene {
      $0.truth = "/dev/full"
      $0.format = .grey
      $0.width = 16
      $0.height = 16
    }
    #expect(throws: RunError.self) { _ = try frames(settings, count: 3000) }
  }

  @Test func numbersKeepBillionths() throws {
    var truth = SceneTruth()
    truth.moment.sceneFromFrame = SceneSimilarity(dx: -0.0000000014, dy: 12.5, scale: 1.000000001)
    truth.capture.faults = [.late, .drop]
    var text = TextBuffer()
    try text.append(truth)
    let line = unsafe String(decoding: text.elements, as: UTF8.self)
    expectTrue(line.contains("\"dx\":-1.4e-09,\"dy\":12.5,"))
    expectTrue(line.contains("\"scale\":1.000000001,"))
    expectTrue(line.hasSuffix("\"faults\":[\"drop\",\"late\"]}\n"))
  }
}
