internal import SprocketCore
internal import Synchronization

/// The audio stages of one source.
///
/// Unchecked: the source's thread alone uses the stages; those that take the place of others wait under a
/// lock.
final class AudioChain: @unchecked Sendable {
  /// Stages that take the place of others before the next block.
  private struct Waiting: @unchecked Sendable {
    var choices: [AudioChoice]
    var stages: [(index: Int, stage: any AudioStage)] = []
  }

  private var stages: [any AudioStage]
  private var numbers: [Float]
  private var notes: [String] = []
  private let setup: AudioStageSetup
  private let waiting: Locked<Waiting>
  private let hasWaiting = Atomic<Bool>(false)
  /// What the thread of the source runs: the source, or one of the stages.
  let code: RunningCode

  init(
    _ choices: [AudioChoice], _ made: [any AudioStage], _ setup: AudioStageSetup, of source: String
  ) throws(RunError) {
    self.setup = setup
    code = RunningCode(
      ["sound"] + choices.map { "audio stage `\($0.plugin.name)`" }, counting: "block", of: source)
    stages = made
    waiting = Locked(Waiting(choices: choices))
    numbers = Array(
      repeating: 0, count: choices.isEmpty ? 0 : setup.blockSamples * setup.channels)
    try code.during { () throws(RunError) in
      for index in stages.indices {
        code.enter(1 + index, frame: .max)
        try Self.configure(&stages[index], choices[index], setup)
      }
    }
  }

  private static func configure(
    _ stage: inout any AudioStage, _ choice: AudioChoice, _ setup: AudioStageSetup
  ) throws(RunError) {
    do throws(StageError) {
      try stage.configure(setup)
    } catch {
      throw RunError(.usage, "\(choice.plugin.name): \(error.description)", error.settings)
    }
  }

  var isEmpty: Bool { stages.isEmpty }

  /// From any thread.
  func set(_ change: SettingsChange) throws(RunError) {
    let name = change.stage
    try waiting.withLock { (waiting) throws(RunError) in
      guard let index = waiting.choices.firstIndex(where: { $0.plugin.name == name }) else {
        throw RunError(
          .usage,
          "the sound passes no stage `\(name)`; "
            + knownNames(waiting.choices.map(\.plugin.name), near: name, "it passes"))
      }
      let choice = try waiting.choices[index].with(change)
      var stage = choice.make()
      try Self.configure(&stage, choice, setup)
      waiting.choices[index] = choice
      waiting.stages.append((index, stage))
    }
    hasWaiting.store(true, ordering: .releasing)
  }

  private func exchange() {
    guard hasWaiting.exchange(false, ordering: .acquiringAndReleasing) else { return }
    let new = waiting.withLock { waiting in
      defer { waiting.stages = [] }
      return waiting
    }
    for (index, stage) in new.stages {
      stages[index].finish()
      notes += stages[index].notes
      stages[index] = stage
    }
  }

  /// Passes a block through the stages, and counts numbers that were clipped.
  func process(
    _ record: AudioRecord, _ slot: Int, _ format: AudioFormat, _ memory: AudioMemory,
    _ count: borrowing Atomic<UInt64>
  ) {
    exchange()
    let byteCount = record.count * format.sampleBytes
    // As a local variable: the compiler takes a span of a property here for one that escapes.
    var numbers: [Float] = []
    swap(&numbers, &self.numbers)
    defer { swap(&numbers, &self.numbers) }
    var all = numbers.mutableSpan
    var samples = all._mutatingExtracting(first: record.count * format.channels)
    memory.read(slot, count: byteCount) { decode($0, format.number, into: &samples) }
    for index in stages.indices {
      code.enter(1 + index, frame: record.block)
      stages[index].process(&samples, record)
    }
    code.enter(0, frame: record.block)
    let clipped = memory.fill(slot, count: byteCount) { bytes in
      encode(samples.span, format.number, into: &bytes)
    }
    if clipped > 0 { count.wrappingAdd(UInt64(clipped), ordering: .relaxed) }
  }

  /// Returns what the stages noted.
  func finish() -> [String] {
    for index in stages.indices {
      code.enter(1 + index, frame: .max)
      stages[index].finish()
    }
    code.enter(0, frame: .max)
    return notes + stages.flatMap(\.notes)
  }
}
