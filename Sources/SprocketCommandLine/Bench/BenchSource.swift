internal import Sprocket
internal import SprocketPipelines

/// What a benchmark takes frames from: a source by its description, made anew for each run.
struct BenchOrigin {
  let kinds: Kinds
  let part: Part
  let format: SourceFormat

  func make() throws(RunError) -> any Source { try kinds.make(part, format) }
}

/// Delivers a clip over and over, as fast as the run takes frames.
final class ClipSource: Source {
  private let clip: BenchClip
  private var next: UInt64 = 0

  init(_ clip: BenchClip) { self.clip = clip }

  func open() throws(RunError) -> SourceDescription {
    var description = clip.source
    description.capacity = 0
    description.frameCount = nil
    description.controls = nil
    return description
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    // Files may declare any rate. An unusual one is replaced by 30 frames/s so that times fit in 64 bits.
    let rate = clip.source.format.rate.framesPerSecond
    let interval = 1e9 / ((0.1...100_000).contains(rate) ? rate : 30)
    let captured = Timestamp(
      nanoseconds: Int64(Double(next) * interval), clock: clip.source.clock)
    return .frame(ArrivedFrame(sequence: next, captured: captured))
  }

  func take(into slot: inout CaptureSlot) {
    clip.lend(next, to: &slot)
    next += 1
  }

  func discard() { next += 1 }

  func reclaim(_ lent: UnsafeMutableRawPointer) {}

  func close() throws(RunError) {}
}

/// A source of so many frames. Records the process's resource use at the first measured frame and after the
/// last.
final class BenchSource: Source {
  private let source: any Source
  private let warmUp: UInt64
  private let last: UInt64
  private let counters: HardwareCounters?
  private var count: UInt64 = 0
  private(set) var first: BenchMoment?
  private(set) var end: BenchMoment?

  init(
    _ source: any Source, warmUp: UInt64, frames: UInt64, _ counters: HardwareCounters?
  ) {
    self.source = source
    self.counters = counters
    self.warmUp = warmUp
    last = warmUp + frames
  }

  /// Frames that were taken.
  var taken: UInt64 { count }

  /// Frames that were measured: fewer than asked for where the source ended before.
  var measured: UInt64 { count - min(count, warmUp) }

  func open() throws(RunError) -> SourceDescription { try source.open() }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    if count == warmUp, first == nil { first = .now(isFirst: true, counters) }
    let arrival = count == last ? .end : try source.next(timeout: timeout)
    if case .end = arrival { end = .now(isFirst: false, counters) }
    return arrival
  }

  func take(into slot: inout CaptureSlot) {
    source.take(into: &slot)
    count += 1
  }

  func discard() {
    source.discard()
    count += 1
  }

  func takeEvents(into events: inout EventQueue) { source.takeEvents(into: &events) }
  func changedSettings(_ ticket: UInt64) -> ChangedSettings? { source.changedSettings(ticket) }
  func reclaim(_ lent: UnsafeMutableRawPointer) { unsafe source.reclaim(lent) }
  func interrupt() { source.interrupt() }
  func close() throws(RunError) { try source.close() }
}
