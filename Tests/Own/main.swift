// The command line with sources and sinks of its own; Tests/Judges/test_own.py runs it.

import Glibc
import Sprocket
import SprocketCommandLine

/// Grey frames, each one level brighter than the one before.
final class RampSource: Source {
  struct Settings: SourceSettings {
    var count = 0
    var step = 1
    static let settings = [
      Setting<Settings>("count", \.count, range: 1...1_000_000, unit: "frames", "of the source"),
      Setting<Settings>("step", \.step, range: 1...255, unit: "levels", "from frame to frame"),
    ]
  }

  static let kind = SourceKind(
    "ramp", "grey frames that grow brighter", argument: "count", Settings.self
  ) { (settings) throws(RunError) in RampSource(settings.count, step: settings.step) }

  private let count: Int
  private let step: Int
  private var next = 0

  init(_ count: Int, step: Int) { (self.count, self.step) = (count, step) }

  func open() throws(RunError) -> SourceDescription {
    let format = FrameFormat(
      pixelFormat: .grey, width: 16, height: 8, color: .jpeg, rate: FrameRate(frames: 10))
    return SourceDescription(
      name: "ramp", format: format, isLive: false, clock: .media, capacity: 16 * 8,
      frameCount: count)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    guard next < count else { return .end }
    let time = Timestamp(nanoseconds: Int64(next) * 100_000_000, clock: .media)
    return .frame(ArrivedFrame(sequence: UInt64(next), captured: time))
  }

  func take(into slot: inout CaptureSlot) {
    var bytes = slot.bytes
    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: next * step) }
    slot.filled(16 * 8)
    next += 1
  }

  func discard() { next += 1 }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() {}
}

/// Counts frames above a level.
final class BrightSink: Sink {
  struct Settings: KindSettings {
    var above = 127
    static let settings = [
      Setting<Settings>("above", \.above, range: 0...255, unit: "levels", "of the first pixel")
    ]
  }

  static let kind = SinkKind("bright", "counts bright frames", Settings.self) {
    (settings, _) throws(RunError) in BrightSink(above: settings.above)
  }

  let name = "bright"
  private let above: Int
  private var count = 0

  init(above: Int) { self.above = above }

  func configure(_ setup: inout SinkSetup) throws(RunError) { try setup.reads(.luma(.full)) }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    if frame.view.luma()[row: 0][0] > above { count += 1 }
  }

  var notes: [String] { ["\(count) bright frames"] }
}

/// The stage that is declared wrongly, where a judge gives it a name.
let wrong = unsafe getenv("SPROCKET_OWN_STAGE").map { name in
  Plugin(unsafe String(cString: name), "is declared wrongly", WrongStage.self)
}

sprocketMain(
  stages: builtinStages + [Burn.plugin, SlowStage.plugin, TrapStage.plugin]
    + [wrong].compactMap(\.self),
  sources: builtinSources + [RampSource.kind, WireSource.kind],
  sinks: builtinSinks + [BrightSink.kind, ExportSink.kind])
