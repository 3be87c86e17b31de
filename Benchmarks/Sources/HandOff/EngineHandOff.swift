// The engine: the same source, stages that do nothing, a sink; all its bookkeeping included.

import CSprocketSystem
import Glibc
import SprocketCore
import SprocketEngine
import Synchronization

/// A frame of 16 bytes at a fixed rate; at rate 0 as fast as it goes, and then it waits for the
/// chain.
final class PacedSource: Source {
  private let frames: Int
  private let rate: Double
  private var start: Int64 = 0
  private var number = 0

  init(frames: Int, rate: Double) {
    self.frames = frames
    self.rate = rate
  }

  func open() throws(RunError) -> SourceDescription {
    SourceDescription(
      name: "paced",
      format: FrameFormat(
        pixelFormat: .grey, width: 4, height: 4, color: .jpeg,
        rate: FrameRate(framesPerSecond: rate)),
      isLive: rate > 0, clock: .monotonic, capacity: 16)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    if number == frames { return .end }
    if start == 0 { start = nanoseconds(CLOCK_MONOTONIC) + 1_000_000 }
    if rate > 0 { sleep(until: start + Int64(Double(number) * 1e9 / rate)) }
    defer { number += 1 }
    return .frame(
      ArrivedFrame(
        sequence: UInt64(number),
        captured: Timestamp(nanoseconds: nanoseconds(CLOCK_MONOTONIC), clock: .monotonic)))
  }

  func take(into slot: inout CaptureSlot) { slot.filled(16) }
  func discard() {}
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() {}
}

/// Does nothing. It looks back one frame, which gives it a lane of its own.
struct Pass: Stage {
  static let order = Order.sequence
  static let settings: [Setting<Pass>] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.readsHistory(1)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}

/// Writes down when frames came.
final class TimingSink: Sink {
  let name = "timing"
  let latencies: Mutex<[Int64]>

  init(frames: Int) {
    var empty: [Int64] = []
    empty.reserveCapacity(frames)
    latencies = Mutex(empty)
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {}
  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let latency = nanoseconds(CLOCK_MONOTONIC) - frame.record.captured.nanoseconds
    latencies.withLock { $0.append(latency) }
  }
}

/// Nothing is unpacked.
final class NoUnpacker: Unpacker {
  func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    UnpackPlan(borrowsImage: true, borrowsLuma: true)
  }
  func configure(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    plan(format: format, parts: parts)
  }
  func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool { true }
  func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts
  ) {}
}

struct EngineHandOff {
  let waiting: WaitStrategy
  /// The sink included.
  let lanes: Int

  func measure(frames: Int, rate: Double) throws -> HandOffResult {
    let before = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
    paced(frames: frames, rate: rate) { _ in _ = nanoseconds(CLOCK_MONOTONIC) }
    let idle = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before

    let sink = TimingSink(frames: frames)
    let plugins = (1..<lanes).map { Plugin("pass\($0)", "does nothing", Pass.self) }
    let engine = try Engine(
      source: PacedSource(frames: frames, rate: rate), stages: plugins.map { StageChoice($0) },
      sinks: [sink], options: RunOptions(workers: 1, wait: waiting)
    ) { NoUnpacker() }
    try engine.start()
    while !engine.wait(for: .seconds(3600)) {}
    let summary = engine.summary
    precondition(
      summary.lanes.count == lanes - 1, "\(lanes - 1) lanes were planned: \(summary.lanes)")
    let used =
      Double(summary.processCPUTime.components.attoseconds) / 1e9
      + Double(summary.processCPUTime.components.seconds) * 1e9
    let latencies = sink.latencies.withLock { $0.sorted() }
    return HandOffResult(
      cpu: (used - Double(idle)) / 1e3 / Double(frames * lanes), latencies: latencies,
      lost: frames - latencies.count)
  }
}
