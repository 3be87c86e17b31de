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
