import SprocketTesting
import TestExpectations
import Testing

/// Writes the exposure at every fifth frame that it gets, eleven times in all, and notes each answer with
/// the frames from the write to it.
private struct Asker: Stage {
  static let order = Order.sequence
  private var exposure: SteeredControl?
  private var asked = 0
  private var seen = 0
  private(set) var notes: [String] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let port = try setup.steers()
    exposure = exposure ?? SteeredControl(.exposure, on: port)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    for index in 0..<frame.eventCount {
      guard let answer = exposure?.answer(frame.event(index)) else { continue }
      if case .applied(_, let delay) = answer { notes.append("\(delay)") }
    }
    seen += 1
    if seen % 5 == 1, asked < 11 {
      asked += 1
      _ = exposure?.write(5000 + 10 * Double(asked), at: frame.record.number)
    }
    return .keep
  }

  static let plugin = Plugin("asker", "writes the exposure", Asker.self)
}

@Suite struct DroppedEventTests {
  private func run(corrupt: Double) throws -> RunSummary {
    var settings = SceneSettings()
    settings.width = 64
    settings.height = 48
    settings.pace = .fast
    settings.delay = 2
    settings.faults.corrupt = corrupt
    return try TestRun(
      of: SceneSource(settings), through: [StageChoice(Asker.plugin)], frames: 200, pictures: false
    ).summary
  }

  /// Whether or not the frame of a completion event is damaged, the control loop receives the event and
  /// measures the source's delay correctly.
  @Test(arguments: [0, 0.4]) func answersOnDamagedFramesAreHeardWithTheirOwnDelay(
    _ corrupt: Double
  ) throws {
    let summary = try run(corrupt: corrupt)
    expectTrue(summary.ledger.entries[0].counts[.corrupt] > 0 || corrupt == 0)
    expectEqual(summary.droppedEvents, 0)
    expectEqual(summary.notes, Array(repeating: "2", count: 11))
  }
}
