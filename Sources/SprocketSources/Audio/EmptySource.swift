public import SprocketCore
internal import Synchronization

/// `--source none`: no pictures, for a run of sound alone. It ends when it is stopped, or when `isOver`
/// says so.
public final class EmptySource: Source {
  private let interruption = SourceInterrupt()
  /// Asked some times a second, on the source's thread: whether the run has nothing more to wait for.
  public var isOver: @Sendable () -> Bool = { false }

  public init() {}

  public static let kind = SourceKind("none", "no pictures: for sound alone", NoSettings.self) {
    (_) throws(RunError) in EmptySource()
  }

  public func open() throws(RunError) -> SourceDescription {
    SourceDescription(
      name: "none",
      format: FrameFormat(
        pixelFormat: .grey, width: 16, height: 16, color: Color(range: .full), rate: .unknown),
      isLive: true, clock: .monotonic, capacity: 0, frameCount: 0)
  }

  public func next(timeout: Int64) throws(RunError) -> Arrival {
    if interruption.isSet || isOver() { return .end }
    _ = interruption.wait(
      until: monotonicNow().clampedSum(min(timeout, SourceInterrupt.attention)), timeout: timeout)
    return interruption.isSet ? .end : .nothing
  }

  public func take(into slot: inout CaptureSlot) { slot.filled(0) }
  public func discard() {}
  public func reclaim(_ lent: UnsafeMutableRawPointer) {
    contractBroken("gives memory back to a source that lends none; give it to its owner")
  }
  public func interrupt() { interruption.set() }
  public func close() throws(RunError) {}
}
