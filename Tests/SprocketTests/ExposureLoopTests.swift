import Sprocket
import SprocketStages
import TestExpectations
import Testing

/// A scene whose controls refuse everything from some frame on, or are gone after a replug.
private final class TroubledScene: Source {
  private let scene: SceneSource
  private let refusesFrom: UInt64
  private let losesControls: Bool
  private var port: ControlPort?
  private var behind: ControlPort?
  private var produced: UInt64 = 0
  private var refused: [ControlPort.Write] = []
  /// The scene's tickets are numbered from 1, as those of the port before it are.
  private var tickets: [UInt64: UInt64] = [:]

  init(_ settings: SceneSettings, refusesFrom: UInt64 = .max, losesControls: Bool = false) throws {
    scene = try SceneSource(settings)
    self.refusesFrom = refusesFrom
    self.losesControls = losesControls
  }

  func open() throws(RunError) -> SourceDescription {
    var description = try scene.open()
    behind = description.controls
    port = behind.map { ControlPort(controls: $0.controls) }
    description.controls = port
    return description
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    while let write = port?.take() {
      if produced >= refusesFrom {
        refused.append(write)
      } else if behind?.write(write.control, write.value) != write.ticket {
        preconditionFailure("the ports count alike until something is refused")
      }
    }
    switch try scene.next(timeout: timeout) {
    case .epoch(var description, let reason):
      description.controls = losesControls ? ControlPort(controls: []) : port
      return .epoch(description, reason)
    case .frame(let frame):
      produced += 1
      return .frame(frame)
    case .nothing: return .nothing
    case .end: return .end
    }
  }

  func takeEvents(into events: inout EventQueue) {
    scene.takeEvents(into: &events)
    for write in refused {
      events.add(
        Event(
          kind: .controlRefused, control: write.control, ticket: write.ticket, value: write.value))
    }
    refused = []
  }

  func take(into slot: inout CaptureSlot) { scene.take(into: &slot) }

  func discard() { scene.discard() }
  func reclaim(_ lent: UnsafeMutableRawPointer) {
    preconditionFailure("the scene lends no memory")
  }
  func close() throws(RunError) { try scene.close() }
}

/// Notes the exposure of each frame, in EV, with the light: what the loop is to hold.
private struct Witness: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("witness", "notes the exposure", Witness.self)
  private(set) var notes: [String] = []
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    let state = frame.record.inForce
    notes.append("= \(state.exposureMicroseconds * state.gain)")
    return .keep
  }
}

@Suite struct ExposureLoopTests {
  private func settings(_ change: (inout SceneSettings) -> Void = { _ in }) -> SceneSettings {
    var settings = SceneSettings()
    settings.width = 96
    settings.height = 64
    settings.pace = .fast
    settings.panX = 0
    settings.shake = 0
    settings.light = 2
    change(&settings)
    return settings
  }

  private func run(
    _ source: any Source, _ values: [String: String] = [:], frames: UInt64 = 120, workers: Int = 2
  ) throws -> (notes: [String], exposures: [Float]) {
    let names = ["meter", "autoexposure"]
    let plugins = names.compactMap { name in builtinStages.first { $0.name == name } }
    let engine = try Engine(
      source: source,
      stages: [
        StageChoice(plugins[0]), try StageChoice(plugins[1], values),
        StageChoice(Witness.plugin),
      ], sinks: [NullSink()], options: RunOptions(workers: workers, frameLimit: frames))
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    expectEmpty(engine.summary.errors)
    expectEqual(engine.summary.ledger.produced, frames)
    let notes = engine.summary.notes
    return (
      notes.filter { !$0.hasPrefix("= ") },
      notes.compactMap { $0.hasPrefix("= ") ? Float($0.dropFirst(2)) : nil }
    )
  }

  /// With 2 EV of light too much, 10,000 us become about 2,500; all threads agree.
  @Test func theLightIsMadeUpForWhateverTheWorkers() throws {
    var results: Set<[Float]> = []
    for workers in [1, 2, 4] {
      let (notes, exposures) = try run(SceneSource(settings()), workers: workers)
      expectEmpty(notes)
      results.insert(exposures)
      expectLess(abs((exposures.last ?? 0) - 2400), 300)
    }
    expectEqual(results.count, 1)
  }

  @Test func lockedWritesNothingAndCustomWhatIsGiven() throws {
    let locked = try run(SceneSource(settings()), ["mode": "locked"])
    expectEqual(Set(locked.exposures), [10_000])
    let custom = try run(
      SceneSource(settings()), ["mode": "custom", "exposure": "4000", "gain": "2"])
    expectTrue(custom.exposures.dropFirst(3).allSatisfy { $0 == 8000 })
  }

  /// The light changes back when it is done.
  @Test func autoLocksWhenItIsDone() throws {
    let changing = settings {
      $0.lightStep = -2
      $0.lightAt = 2
    }
    let auto = try run(SceneSource(changing), ["mode": "auto"])
    expectLess(abs(auto.exposures[59] - 2400), 300)
    expectEqual(Set(auto.exposures[59...]).count, 1)
    let continuous = try run(SceneSource(changing), ["mode": "continuous"])
    expectLess(abs((continuous.exposures.last ?? 0) - 9600), 1200)
  }

  @Test func aRefusalEndsTheLoopAndNotTheRun() throws {
    let (notes, exposures) = try run(
      TroubledScene(
        settings {
          $0.lightStep = -2
          $0.lightAt = 2
        }, refusesFrom: 50))
    expectEqual(notes.count, 1)
    expectEqual(notes.first?.hasPrefix("autoexposure stopped: the source refused exposure="), true)
    expectLess(abs((exposures.last ?? 0) - 2400), 300)
  }

  @Test func controlsThatAreGoneAfterAReplugEndTheLoopAndNotTheRun() throws {
    let (notes, _) = try run(
      TroubledScene(settings { $0.faults.unplug = 0.02 }, losesControls: true))
    expectEqual(
      notes,
      [
        "autoexposure stopped: the source came back without exposure or gain; the exposure stays as "
          + "it is"
      ])
  }

  @Test func aSourceWithoutExposureIsRefusedWithOneSentence() throws {
    let error = #expect(throws: RunError.self) {
      try run(SceneSource(settings { $0.cached = 3 }))
    }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.hasPrefix("autoexposure writes to the source's controls"), true)
  }
}
