import Sprocket
import TestExpectations
import Testing

/// Writes the exposure at every seventh frame, and notes which frame first showed it.
private struct Nudge: Stage {
  static let order = Order.sequence
  private var port: ControlPort?
  private var written: [(ticket: UInt64, number: UInt64)] = []
  private(set) var notes: [String] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    port = try setup.steers()
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    let number = frame.record.number
    for index in 0..<frame.eventCount {
      let event = frame.event(index)
      guard event.kind == .controlApplied,
        let asked = written.first(where: { $0.0 == event.ticket })
      else { continue }
      notes.append("\(asked.number) \(event.number) \(frame.record.inForce.exposureMicroseconds)")
    }
    guard number % 7 == 3, let port, let control = port.control("exposure") else { return .keep }
    if let ticket = port.write(control, 5000 + Double(number)) { written.append((ticket, number)) }
    return .keep
  }

  static let plugin = Plugin("nudge", "writes the exposure", Nudge.self)
}

/// Looks two frames ahead, as far as that is: a lane of its own.
private struct Ahead: Stage {
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.readsAhead(2)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("ahead", "looks ahead", Ahead.self)
}

@Suite struct SteeringTests {
  private func settings(delay: Int) -> SceneSettings {
    var settings = SceneSettings()
    settings.width = 64
    settings.height = 48
    settings.pace = .fast
    settings.delay = delay
    return settings
  }

  private func run(_ settings: SceneSettings, _ stages: [Plugin], _ options: RunOptions) throws
    -> (notes: [String], digest: String)
  {
    let sink = ChecksumSink()
    let engine = try Engine(
      source: try SceneSource(settings), stages: stages.map { StageChoice($0) }, sinks: [sink],
      options: options)
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    return (engine.summary.notes, sink.runDigest)
  }

  /// Frames 3, 10, 17 ... write; what is written at n shows at n + delay, whatever the threads.
  @Test(arguments: 1...4) func aWriteShowsAfterTheDelayOfTheSourceExactly(_ delay: Int) throws {
    let shown = stride(from: 3, to: 60 - delay, by: 7).map {
      "\($0) \($0 + delay) \(Float(5000 + $0))"
    }
    var digests: Set<String> = []
    for workers in [1, 2, 4] {
      for wait in WaitStrategy.allCases {
        let options = RunOptions(workers: workers, wait: wait, frameLimit: 60)
        let (notes, digest) = try run(settings(delay: delay), [Nudge.plugin], options)
        expectEqual(notes, shown, "\(workers) workers, \(wait)")
        digests.insert(digest)
      }
    }
    expectEqual(digests.count, 1)
  }

  /// The stage sees a frame when two more are there, so the source is two further at each write.
  @Test func lookAheadBeforeTheStageComesOnTop() throws {
    let shown = stride(from: 3, to: 60 - 5, by: 7).map { "\($0) \($0 + 5) \(Float(5000 + $0))" }
    for workers in [1, 3] {
      let options = RunOptions(workers: workers, frameLimit: 60)
      let (notes, _) = try run(settings(delay: 3), [Ahead.plugin, Nudge.plugin], options)
      expectEqual(notes, shown)
    }
  }

  @Test func aSourceWithoutControlsIsRefusedWithOneSentence() throws {
    var cached = settings(delay: 1)
    cached.cached = 2
    let error = #expect(throws: RunError.self) {
      try run(cached, [Nudge.plugin], RunOptions(frameLimit: 1))
    }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.hasPrefix("nudge writes to the source's controls"), true)
  }
}
