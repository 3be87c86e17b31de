import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations
import Testing

/// Sound that is a script: blocks whose numbers say which sample they are.
///
/// Unchecked: the engine uses it on one thread at a time.
final class ScriptedSound: AudioSource, @unchecked Sendable {
  enum Step {
    case block(count: Int, missing: UInt64 = 0)
    case pause(nanoseconds: Int64)
    case fail
  }

  static let format = AudioFormat(number: .s32, rate: 48_000, channels: 2)
  private let steps: [Step]
  private var index = 0
  private var sample: UInt32 = 0
  private let isLive: Bool
  private let isStopped = Atomic<Bool>(false)
  private(set) var isClosed = false

  init(_ steps: [Step], isLive: Bool = false) {
    (self.steps, self.isLive) = (steps, isLive)
  }

  func open() throws(RunError) -> AudioDescription {
    AudioDescription(
      name: "script", format: Self.format, isLive: isLive, clock: .media, blockSamples: 480)
  }

  func read(into bytes: inout MutableSpan<UInt8>, timeout: Int64) throws(RunError) -> AudioArrival {
    guard !isStopped.load(ordering: .relaxed), index < steps.count else { return .end }
    defer { index += 1 }
    switch steps[index] {
    case .fail: throw RunError(.failed, "the script fails")
    case .pause(let nanoseconds):
      sleep(nanoseconds: nanoseconds)
      return .nothing
    case .block(let count, let missing):
      sample &+= UInt32(missing)
      let first = sample
      for offset in 0..<count {
        for channel in 0..<2 {
          let word = (sample << 8) | UInt32(channel)
          for byte in 0..<4 {
            bytes[(offset * 2 + channel) * 4 + byte] = UInt8(word >> (8 * byte) & 255)
          }
        }
        sample &+= 1
      }
      let time = Int64(first) * 1_000_000_000 / 48_000
      return .block(ArrivedSound(count: count, missing: missing, timing: .exact(time)))
    }
  }

  func interrupt() { isStopped.store(true, ordering: .relaxed) }
  func close() throws(RunError) { isClosed = true }
  var notes: [String] { ["the script was read"] }
}

private func sleep(nanoseconds: Int64) {
  let end = monotonicNow() + nanoseconds
  while monotonicNow() < end {}
}

/// Reads all of a tap; what it got, by sample.
private func readAll(_ tap: any AudioTap, limit: Int = .max) -> (samples: [UInt32], end: UInt64) {
  var samples: [UInt32] = []
  var (end, missing): (UInt64, UInt64) = (0, 0)
  for _ in 0..<limit {
    switch tap.next(timeout: longestWaitNanoseconds) {
    case .nothing: return (samples, end)
    case .end: return (samples, end)
    case .block:
      tap.withBlock { record, bytes in
        tap.count(record.missing - missing, as: .missing)
        tap.count(record.first - end - (record.missing - missing), as: .behind)
        tap.count(UInt64(record.count), as: .delivered)
        (end, missing) = (record.end, record.missing)
        for index in 0..<record.count {
          samples.append(UInt32(bytes[8 * index + 1]) | UInt32(bytes[8 * index + 2]) << 8)
        }
      }
      tap.release()
    }
  }
  return (samples, end)
}

@Suite struct AudioEngineTests {
  private func blocks(_ count: Int) -> [ScriptedSound.Step] {
    (0..<count).map { .block(count: 400 + $0 % 80) }
  }

  @Test func soundThatWaitsReachesEachTapWhole() throws {
    let source = ScriptedSound(blocks(1000))
    let engine = try AudioEngine(source)
    let taps = try (0..<3).map { try engine.makeTap(for: "tap\($0)") }
    try engine.start()
    let results = Locked<[[UInt32]]>([])
    let threads = try taps.map { tap in
      let tap = Unshared(tap)
      return try BackgroundWork("tap") {
        let samples = readAll(tap.value).samples
        results.withLock { $0.append(samples) }
      }
    }
    for thread in threads { expectTrue(thread.wait(for: longestWait)) }
    let total = (0..<1000).reduce(0) { $0 + 400 + $1 % 80 }
    expectTrue(results.withLock { $0 }.allSatisfy { $0 == (0..<UInt32(total)).map { $0 & 0xFFFF } })
    expectTrue(engine.wait(for: longestWait))
    expectTrue(source.isClosed)
    let summary = engine.summary
    expectTrue(summary.isOver)
    expectTrue(summary.ledger.isBalanced)
    expectTrue(summary.ledger.entries.allSatisfy { $0.counts[.delivered] == UInt64(total) })
    expectEqual(summary.notes, ["the script was read"])
    expectEmpty(summary.errors)
  }

  @Test func whatIsMissingIsCountedAndBeginsASegment() throws {
    let engine = try AudioEngine(
      ScriptedSound([.block(count: 480), .block(count: 100, missing: 1000), .block(count: 480)]))
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    let (samples, end) = readAll(tap)
    expectEqual(end, 2060)
    expectEqual(samples.count, 1060)
    expectEqual(tap.line(ofSegment: 1)?.first, 1480)
    expectNil(tap.line(ofSegment: 2))
    expectAtMost(abs((tap.line(ofSegment: 1)?.time(of: 2400) ?? 0) - 50_000_000), 1)
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectEqual(summary.missing, 1000)
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.ledger.entries[0].counts[.missing], 1000)
  }

  @Test func aTapThatIsTooSlowLosesTheOldestAlone() throws {
    // Blocks of 10 ms, a hold of 100 ms: 10 blocks and a spare.
    let engine = try AudioEngine(
      ScriptedSound(Array(repeating: .block(count: 480), count: 200), isLive: true),
      held: .milliseconds(100))
    let (slow, _) = (try engine.makeTap(for: "slow"), try engine.makeTap(for: "idle"))
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    let (samples, end) = readAll(slow)
    expectEqual(end, 96_000)
    expectEqual(samples.count, 10 * 480)
    let summary = engine.summary
    expectTrue(summary.ledger.isBalanced)
    expectEqual(summary.ledger.entries[0].counts[.behind], UInt64(96_000 - samples.count))
    expectEqual(summary.ledger.entries[1].counts[.flushed], 96_000)
  }

  @Test func aTapThatClosesHoldsNobodyUp() throws {
    let engine = try AudioEngine(ScriptedSound(blocks(100)))
    let (one, other) = (try engine.makeTap(for: "one"), try engine.makeTap(for: "other"))
    try engine.start()
    _ = readAll(one, limit: 3)
    one.close()
    expectEqual(readAll(other).samples.count, (0..<100).reduce(0) { $0 + 400 + $1 % 80 })
    if case .end = one.next(timeout: 0) {} else { Issue.record("a closed tap goes on") }
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced)
  }

  @Test func aStopEndsSoundThatNobodyReads() throws {
    let engine = try AudioEngine(ScriptedSound(blocks(1000)))
    _ = try engine.makeTap(for: "tap")
    try engine.start()
    expectFalse(engine.wait(for: .milliseconds(50)))
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced)
  }

  @Test func anErrorOfTheSourceEndsTheSoundAndIsTold() throws {
    let engine = try AudioEngine(ScriptedSound([.block(count: 480), .fail]))
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    expectEqual(readAll(tap).end, 480)
    expectTrue(engine.wait(for: longestWait))
    expectEqual(engine.summary.errors.map(\.description), ["the script fails"])
  }

  @Test func tapsThatComeLaterBeginWithTheNextBlock() throws {
    // A block each millisecond, for as long as this takes.
    let steps: [ScriptedSound.Step] = [
      .pause(nanoseconds: 1_000_000), .block(count: 480), .block(count: 10, missing: 7),
    ]
    let engine = try AudioEngine(
      ScriptedSound(Array(repeating: steps, count: 20_000).flatMap { $0 }))
    try engine.start()
    // More than there are at a time: each is given back.
    for _ in 0..<2 * AudioEngine.spareTaps {
      let tap = try engine.makeTap(for: "later")
      let before = tap.before
      guard case .block = tap.next(timeout: longestWaitNanoseconds) else {
        Issue.record("no block came")
        return
      }
      let record = tap.withBlock { record, _ in record }
      expectEqual(record.first - before.produced, record.missing - before.missing)
      expectAtMost(record.missing - before.missing, 7)
      tap.count(record.missing - before.missing, as: .missing)
      tap.count(UInt64(record.count), as: .delivered)
      tap.close()
    }
    let taps = try (0..<AudioEngine.spareTaps).map { try engine.makeTap(for: "held\($0)") }
    #expect(throws: RunError.self) { try engine.makeTap(for: "more") }
    engine.stop()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced)
    let counts = engine.summary.ledger.entries[0].counts
    expectTrue(counts[.delivered] == 480 || counts[.delivered] == 10)
    expectTrue(counts[.unselected] > 0 && counts[.flushed] == 0)
    expectEqual(taps.count, AudioEngine.spareTaps)
  }

  @Test func noTapIsMadeWhenTheSoundIsOver() throws {
    let engine = try AudioEngine(ScriptedSound([]))
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    #expect(throws: RunError.self) { try engine.makeTap(for: "late") }
    #expect(throws: RunError.self) { try engine.start() }
    expectTrue(engine.wait(for: longestWait))
  }
}

@Suite struct AudioStageTests {
  private struct Louder: AudioStage {
    static let plugin = AudioPlugin("louder", "makes it louder", Louder.self)
    struct Settings: KindSettings {
      var factor = 2.0
      static var settings: [Setting<Self>] { [Setting("factor", \.factor, range: 0...8, "of it")] }
    }
    var settings = Settings()
    init() {}
    mutating func configure(_ setup: AudioStageSetup) throws(StageError) {
      guard setup.channels == 2 else { throw StageError("wants two channels; give them") }
    }
    mutating func process(_ samples: inout MutableSpan<Float>, _ record: AudioRecord) {
      for index in 0..<samples.count { samples[index] *= Float(settings.factor) }
    }
    var notes: [String] { ["was loud"] }
  }

  /// A square wave of half of full scale.
  ///
  /// Unchecked: the engine uses it on one thread at a time.
  private final class Square: AudioSource, @unchecked Sendable {
    let number: AudioFormat.Number
    private var left = 10

    init(_ number: AudioFormat.Number) { self.number = number }

    func open() throws(RunError) -> AudioDescription {
      AudioDescription(
        name: "square", format: AudioFormat(number: number, rate: 8000, channels: 2), isLive: false,
        clock: .media, blockSamples: 80)
    }
    func read(
      into bytes: inout MutableSpan<UInt8>, timeout: Int64
    ) throws(RunError) -> AudioArrival {
      guard left > 0 else { return .end }
      left -= 1
      let size = number.bytes
      for index in 0..<160 {
        let half: UInt32 = number == .f32 ? 0x3F00_0000 : 1 << (8 * size - 2)
        let negative: UInt32 = number == .f32 ? 0xBF00_0000 : ~half &+ 1
        let word = index / 2 % 2 == 0 ? half : negative
        for byte in 0..<size { bytes[index * size + byte] = UInt8(word >> (8 * byte) & 255) }
      }
      return .block(ArrivedSound(count: 80, timing: .exact(0)))
    }
    func close() throws(RunError) {}
  }

  @Test(arguments: AudioFormat.Number.allCases, [1.0, 1.5, 3.0])
  func levelsAreThoseBehindTheStages(number: AudioFormat.Number, factor: Double) throws {
    let choice = AudioChoice(Louder.plugin, of: Louder.self) { $0.factor = factor }
    let engine = try AudioEngine(Square(number), stages: factor == 1 ? [] : [choice])
    let tap = try engine.makeTap(for: "tap")
    try engine.start()
    var count = 0
    while case .block = tap.next(timeout: longestWaitNanoseconds) {
      tap.withBlock { record, _ in
        let most = number == .f32 ? Float.infinity : 1
        let expected = min(Float(0.5 * factor), most)
        for channel in 0..<2 {
          expectLess(abs(record.levels.peak[channel] - expected), 1e-4)
          expectLess(abs(record.levels.meanSquare[channel] - expected * expected), 1e-3)
        }
        count += record.count
      }
      tap.release()
    }
    expectEqual(count, 800)
    expectTrue(engine.wait(for: longestWait))
    let summary = engine.summary
    expectEqual(summary.clipped, (factor == 3 ? 1600 : 0))
    expectEqual(summary.notes, (factor == 1 ? [] : ["was loud"]))
  }

  @Test func aSettingThatThereIsNotIsRefused() {
    let error = #expect(throws: RunError.self) {
      try AudioEngine(Square(.s16), stages: [try AudioChoice(Louder.plugin, ["factr": "2"])])
    }
    expectEqual(error?.description.contains("did you mean `factor`?"), true)
    let range = #expect(throws: RunError.self) {
      try AudioEngine(Square(.s16), stages: [try AudioChoice(Louder.plugin, ["factor": "9"])])
    }
    expectEqual(range?.description, "the audio stage louder: factor=9 is not allowed: give 0 to 8")
  }
}

/// Unchecked: one thread uses it.
private struct Unshared<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
