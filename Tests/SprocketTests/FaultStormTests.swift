import Foundation
import Glibc
import Sprocket
import SprocketStages
import Synchronization
import Testing

/// Ends a scene after so many frames that it told of, so that its own list is complete.
///
/// Unchecked: the engine uses it on one thread at a time.
private final class FiniteScene: Source, @unchecked Sendable {
  let scene: SceneSource
  private var left: Int

  init(_ settings: SceneSettings, frames: Int) throws {
    scene = try SceneSource(settings)
    left = frames
  }

  func open() throws(SourceError) -> SourceDescription { try scene.open() }
  func next(timeout: Int64) throws(SourceError) -> Arrival {
    guard left > 0 else { return .end }
    let arrival = try scene.next(timeout: timeout)
    if case .frame = arrival { left -= 1 }
    return arrival
  }
  func take(into slot: inout CaptureSlot) { scene.take(into: &slot) }
  func discard() { scene.discard() }
  func reclaim(_ lent: UnsafeMutableRawPointer) { unsafe scene.reclaim(lent) }
  func close() { scene.close() }
}

/// Counts what it is told, and checks that it is told of every frame, once and in order.
///
/// Unchecked: the engine uses it on one thread at a time.
private final class CountingSink: Sink, @unchecked Sendable {
  let name: String
  let sleepMicroseconds: UInt32
  var next: UInt64 = 0
  var isOrdered = true

  init(_ name: String, sleepMicroseconds: UInt32 = 0) {
    self.name = name
    self.sleepMicroseconds = sleepMicroseconds
  }
  func configure(_ setup: inout SinkSetup) throws(SinkError) {}
  func write(_ frame: borrowing PackedFrame) throws(SinkError) {
    see(frame.record.number)
    if sleepMicroseconds > 0, frame.record.number % 7 == 0 { usleep(sleepMicroseconds) }
  }
  func account(_ lost: LostFrame) throws(SinkError) { see(lost.number) }
  private func see(_ number: UInt64) {
    if number != next { isOrdered = false }
    next = number + 1
  }
}

/// What one run of a storm is like; all of it follows from the seed.
private struct Weather {
  var settings = SceneSettings()
  var workers: Int
  var wait: WaitStrategy
  var plugins: [Plugin]
  var frames: Int

  init(seed: UInt64) {
    var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func draw(_ bound: UInt64) -> UInt64 {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return (random >> 20) % bound
    }
    func probability(_ percent: UInt64) -> Double {
      draw(2) == 0 ? 0 : Double(draw(percent + 1)) / 100
    }
    settings.seed = seed
    settings.width = Int(48 + draw(5) * 7)
    settings.height = Int(44 + draw(4) * 9)
    settings.pace = draw(3) == 0 ? .real : .fast
    settings.rate = FrameRate(frames: settings.pace == .real ? 2_000 : 30)
    settings.startup = Int(draw(3))
    settings.faults.drop = probability(20)
    settings.faults.corrupt = probability(20)
    settings.faults.truncate = probability(20)
    settings.faults.stall = probability(4)
    settings.faults.stallDuration = .milliseconds(2)
    settings.faults.late = probability(10)
    settings.faults.lateDuration = .milliseconds(1)
    settings.faults.backwards = probability(10)
    settings.faults.unplug = probability(4)
    settings.faults.unplugDuration = .milliseconds(3)
    settings.faults.formatChange = probability(4)
    if draw(4) == 0 { settings.format = [.yuyv, .grey, .nv12, .rgb24][Int(draw(4))] }
    workers = Int(1 + draw(8))
    wait = WaitStrategy.allCases[Int(draw(3))]
    let order = builtinStages.sorted { _, _ in draw(2) == 0 }
    let chosen = order.prefix(Int(draw(5)))
    // A controller reads what another reports.
    let readers = ["meter": "autoexposure", "focus": "autofocus"]
    plugins = Plugin.inOrder(
      order.filter { plugin in
        chosen.contains { $0.name == plugin.name || $0.name == readers[plugin.name] }
      })
    frames = Int(1 + draw(60))
  }
}

@Suite struct FaultStormTests {
  static let stress =
    ProcessInfo.processInfo.environment["SPROCKET_STRESS"].flatMap { Int($0) } ?? 1

  @Test func everyFaultAtRandomIsAccountedForAsTheSceneDidIt() throws {
    for seed in 1...UInt64(150 * Self.stress) {
      let weather = Weather(seed: seed)
      let source = try FiniteScene(weather.settings, frames: weather.frames)
      let sinks = [CountingSink("fast"), CountingSink("slow", sleepMicroseconds: 300)]
      let options = RunOptions(
        workers: weather.workers, wait: weather.wait, drainLimit: .seconds(20))
      let engine = try Engine(
        source: source, stages: weather.plugins.map { StageChoice($0) },
        sinks: sinks + [ChecksumSink()], options: options
      ) { FrameUnpacker() }
      engine.start()
      guard engine.wait(for: .seconds(60)) else {
        Issue.record("seed \(seed): the run did not end within a minute")
        return
      }
      let summary = engine.summary
      let record = source.scene.record
      #expect(summary.errors.isEmpty, "seed \(seed)")
      #expect(summary.ledger.isBalanced, "seed \(seed): \(summary.ledger)")
      #expect(summary.ledger.produced == record.told + record.missing, "seed \(seed)")
      for entry in summary.ledger.entries {
        #expect(entry.counts[.missing] == record.missing, "seed \(seed), \(entry.sink)")
        #expect(entry.counts[.corrupt] == record.corrupt, "seed \(seed), \(entry.sink)")
        #expect(entry.counts[.startup] == record.startup, "seed \(seed), \(entry.sink)")
        if weather.settings.pace == .fast {
          #expect(entry.counts[.delivered] == record.told - record.corrupt - record.startup)
        }
      }
      for sink in sinks {
        #expect(sink.isOrdered && sink.next == summary.ledger.produced, "seed \(seed)")
      }
    }
  }
}
