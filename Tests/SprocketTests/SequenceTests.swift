import Sprocket
import SprocketTesting
import TestExpectations
import Testing

/// Recordings one after the other, each with controls of its own (A21 of the contract of requests).
@Suite struct SequenceTests {
  private typealias Value = RecordingStep.NamedValue

  private static let exposure = ControlDescription(
    name: "exposure", unit: "us", minimum: 1000, maximum: 40_000, defaultValue: 10_000)

  /// Its pictures tell the exposure, and it refuses values from 30 ms on. It is unplugged at the step
  /// `replug`.
  private func camera(delay: Int = 2, replug: Int? = nil, frames: Int = 200) -> TestCamera {
    let answer = { (_: Int, value: Double) -> Double? in value < 30_000 ? value : nil }
    return TestCamera(controls: [Self.exposure], delay: delay, answer: answer) { number, values in
      guard number < frames else { return nil }
      if number == replug { return .replug(withControls: false) }
      var frame = TestFrame(
        width: 16, height: 16, luma: [UInt8](repeating: UInt8(values[0] / 1000), count: 256))
      frame.record.inForce.exposureMicroseconds = Float(values[0])
      return .picture(frame)
    }
  }

  private struct Result {
    /// Exposures of the photographs, by the recordings' paths.
    var exposures: [String: Float] = [:]
    /// The exposures of all frames.
    var all: [Float] = []
    var sequences: [RecordingSequence] = []
    var records: [RecordingRecord] = []
  }

  /// Asks for sequences of photographs, and runs to the source's end. `stopped` is stopped before that.
  private func run(
    _ source: some Source, _ steps: [[Double]], sinks: [String] = ["photo"],
    restoring restored: Double = 10_000, stopped: Int? = nil
  ) throws -> Result {
    let photos = Locked<[String: Float]>([:])
    let all = ExposureList()
    let made = sinks.map { sink in
      PhotoSink(sink) { file in
        photos.withLock { $0["\(sink)/\(file.key)"] = file.record.inForce.exposureMicroseconds }
      }
    }
    let engine = try Engine(source: source, sinks: made + [all], options: RunOptions(workers: 1))
    var result = Result()
    for (place, values) in steps.enumerated() {
      let asked = values.map { value in
        RecordingStep(
          [Value("exposure", value)],
          sinks.map { .record(sink: $0, path: "\(place)-\(value)", frames: 1) })
      }
      result.sequences.append(
        try engine.ask(asked, restoring: [Value("exposure", restored)], within: .seconds(30)))
      if place == stopped { result.sequences[place].stop() }
    }
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced)
    result.exposures = photos.withLock { $0 }
    result.all = all.exposures.withLock { $0 }
    result.records = engine.recordingRecords
    return result
  }

  @Test(arguments: 1...4) func eachStepShowsItsValuesAndTheSourceIsAsBefore(_ delay: Int) throws {
    let result = try run(
      camera(delay: delay), [[2000, 4000, 8000], [25_000]], sinks: ["photo", "other"])
    for sink in ["photo", "other"] {
      for (place, value) in [(0, 2000.0), (0, 4000), (0, 8000), (1, 25_000)] {
        expectEqual(result.exposures["\(sink)/\(place)-\(value)"], Float(value))
      }
    }
    expectEqual(result.sequences.map(\.end), [.complete, .complete])
    expectEqual(result.sequences.map(\.isOver), result.sequences.map { _ in true })
    expectEqual(result.sequences[0].controls(ofStep: 1)?.map(\.value), [4000])
    // Each value in turn, and what was before between the two.
    var turns: [Float] = []
    for exposure in result.all where exposure != turns.last { turns.append(exposure) }
    expectEqual(turns, [10_000, 2000, 4000, 8000, 10_000, 25_000, 10_000])
  }

  @Test func aRefusedStepEndsTheSequenceAndRestores() throws {
    let result = try run(camera(), [[2000, 35_000, 4000], [3000]])
    expectEqual(result.exposures, ["photo/0-2000.0": 2000, "photo/1-3000.0": 3000])
    expectEqual(
      result.sequences.map(\.end),
      [.failed("the source has refused a control of step 2"), .complete])
    expectEqual(result.records.count, 4)
    expectTrue(result.records.allSatisfy { $0.reason == .asked })
    expectEqual(result.all.last, 10_000)
  }

  @Test func whatIsNotRestoredIsTold() throws {
    let result = try run(camera(), [[2000], [3000]], restoring: 35_000)
    expectEqual(result.exposures.count, 2)
    let end = RecordingSequence.End.failed(
      "the controls are not restored: the source has refused a control")
    expectEqual(result.sequences.map(\.end), [end, end])
  }

  @Test func aStoppedSequenceWritesNothing() throws {
    let result = try run(camera(), [[2000, 4000], [3000]], stopped: 0)
    expectEqual(result.exposures, ["photo/1-3000.0": 3000])
    expectEqual(result.sequences.map(\.end), [.failed("it was stopped"), .complete])
    expectFalse(result.all.contains(2000))
    expectEqual(result.records.count, 3)
  }

  @Test func aSourceThatBeginsAnewEndsTheSequence() throws {
    let result = try run(camera(replug: 4), [[2000, 4000, 8000]])
    expectEqual(
      result.sequences.map(\.end),
      [.failed("the source began anew before all steps were recorded; ask again")])
    expectEqual(result.sequences.map(\.isOver), result.sequences.map { _ in true })
    expectEqual(result.records.count, 3)
  }

  @Test(arguments: 0..<24) func aRunThatEndsFirstHasARecordOfEachRecording(_ frames: Int) throws {
    let result = try run(camera(frames: frames + 1), [[2000, 4000, 8000], [3000]])
    expectEqual(result.records.count, 4)
    let taken = result.records.filter { $0.counts[.delivered] == 1 }.count
    expectEqual(taken, result.exposures.count)
    for (path, exposure) in result.exposures {
      expectTrue(path.hasSuffix("-\(Double(exposure))"))
    }
  }

  @Test func withoutControlsTheRecordingsFollowEachOther() throws {
    let photos = Locked<[UInt64]>([])
    let sink = PhotoSink("photo") { file in photos.withLock { $0.append(file.record.number) } }
    let engine = try Engine(
      source: TestCamera((0..<20).map { _ in Self.grey }), sinks: [sink], options: RunOptions())
    let step = RecordingStep([], [.record(sink: "photo", path: "a", frames: 2)])
    let sequence = try engine.ask([step, step], within: .seconds(30))
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    expectEqual(sequence.end, .complete)
    expectEqual(photos.withLock { $0.count }, 4)
  }

  private static let grey = TestFrame(
    width: 16, height: 16, luma: [UInt8](repeating: 90, count: 256))

  @Test func whatCannotBeDoneIsRefusedAtTheCall() throws {
    let engine = try Engine(
      source: camera(),
      sinks: [
        PhotoSink("photo") { _ in },
        MovieSink("live", path: "live.mov", isOnDemand: true, preRoll: PreRoll(.seconds(1))),
      ], options: RunOptions())
    func refusal(_ steps: [RecordingStep], _ restored: [Value] = []) -> String? {
      do {
        _ = try engine.ask(steps, restoring: restored, within: .seconds(1))
        return nil
      } catch {
        return "\(error)"
      }
    }
    let photo = Request.record(sink: "photo", frames: 1)
    expectEqual(
      refusal([RecordingStep([Value("expsure", 1)], [photo])]),
      "the source has no control `expsure`; did you mean `exposure`? it has: exposure")
    expectEqual(
      refusal([RecordingStep([], [photo])], [Value("gain", 1)]),
      "the source has no control `gain`; it has: exposure")
    expectEqual(
      refusal([RecordingStep([], [.record(sink: "photo")])]),
      "a step has recordings with a count of frames, and no other request")
    expectNotNil(refusal([RecordingStep([], Array(repeating: photo, count: 17))]))
    expectEqual(refusal([]), "a sequence has steps of 1 to 16 recordings")
    expectEqual(
      refusal([RecordingStep([Value("exposure", .nan)], [photo])]),
      "the value of `exposure` is no finite number")
    expectEqual(
      refusal([RecordingStep([], [.record(sink: "live", frames: 1)])])?
        .hasPrefix("live keeps pictures from before a recording"), true)
    let many = Array(repeating: RecordingStep([], [photo]), count: 65)
    expectEqual(refusal(many)?.hasPrefix("a sequence takes files up to 64"), true)
    // Nothing is left of what was refused.
    expectEmpty(engine.recordingRecords)
    expectNil(refusal(Array(many.prefix(64))))
    engine.stop()
  }
}

/// The exposures of all frames.
private final class ExposureList: Sink {
  let name = "exposures"
  let exposures = Locked<[Float]>([])

  func configure(_ setup: inout SinkSetup) throws(RunError) {}

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let exposure = frame.record.inForce.exposureMicroseconds
    exposures.withLock { $0.append(exposure) }
  }
}
