internal import Sprocket

/// Frames of a source, copied to memory as delivered, so that decoding a file or drawing the scene is not
/// part of the measurement.
///
/// Unchecked: `kept` is filled before the clip is shared with a run, and only read afterwards.
@safe
final class BenchClip: @unchecked Sendable {
  /// Most frames in a clip. They are shown forwards, then backwards, so that motion does not jump. Larger:
  /// more varied content, longer preparation.
  static let frames = 30
  /// Most bytes in a clip; large frames are fewer, but at least 2. Larger: more memory.
  static let mostBytes = 256 << 20
  private static let alignment = 4096

  let source: SourceDescription
  private var kept: [Kept] = []

  @safe
  private struct Kept {
    let base: UnsafeMutablePointer<UInt8>
    let count: Int
  }

  init(_ source: SourceDescription) { self.source = source }

  deinit { for frame in kept { unsafe frame.base.deallocate() } }

  var count: Int { kept.count }

  /// Frames until the pictures come again.
  var period: UInt64 { UInt64(max(1, 2 * count - 2)) }

  /// Mean bytes of a frame.
  var meanBytes: Int { kept.reduce(0) { $0 + $1.count } / max(1, kept.count) }

  /// Appends a copy of a frame if the clip has room: planes one after the other, without padding.
  func add(_ frame: borrowing FrameView) {
    let total = kept.reduce(frame.record.byteCount) { $0 + $1.count }
    guard count < 2 || total <= Self.mostBytes,
      SystemMemory.addressSpaceLeft() > 2 * frame.record.byteCount
    else { return }
    let bytes = FrameCopy(frame, .encoded).bytes
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: max(1, bytes.count), alignment: Self.alignment)
    let base = unsafe memory.bindMemory(to: UInt8.self, capacity: bytes.count)
    unsafe base.initialize(from: bytes, count: bytes.count)
    unsafe kept.append(Kept(base: base, count: bytes.count))
  }

  /// Lends frame `number` of an endless stream.
  func lend(_ number: UInt64, to slot: inout CaptureSlot) {
    let place = Int(number % period)
    let frame = kept[place < count ? place : Int(period) - place]
    let image = unsafe ImageStorage(
      packedAt: frame.base, byteCount: frame.count, source.format)
    unsafe slot.lend(
      image, byteCount: frame.count, handle: UnsafeMutableRawPointer(frame.base))
  }
}

/// Delivers a clip over and over, as fast as the run takes frames. Records the process's resource use at the
/// first measured frame and after the last.
final class BenchSource: Source {
  private let clip: BenchClip
  private let warmUp: UInt64
  private let last: UInt64
  private var next: UInt64 = 0
  private(set) var first: BenchMoment?
  private(set) var end: BenchMoment?

  init(_ clip: BenchClip, warmUp: UInt64, frames: UInt64) {
    self.clip = clip
    self.warmUp = warmUp
    last = warmUp + frames
  }

  func open() throws(RunError) -> SourceDescription {
    var description = clip.source
    description.capacity = 0
    description.frameCount = nil
    description.controls = nil
    return description
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    if next == warmUp { first = .now(isFirst: true) }
    if next == last {
      end = .now(isFirst: false)
      return .end
    }
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
