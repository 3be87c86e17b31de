public import SprocketCore

/// `--null`: takes every frame and reads none.
public final class NullSink: Sink {
  public let name = "null"
  /// Frames taken.
  public private(set) var frameCount = 0

  /// False: a run does not continue for this sink after all others have ended.
  public var lasts: Bool { false }

  public init() {}

  public func configure(_ setup: inout SinkSetup) throws(RunError) {}

  public func write(_ frame: borrowing PackedFrame) throws(RunError) { frameCount += 1 }
}

extension NullSink {
  public static let kind = SinkKind("null", "counts frames and drops them") {
    (_) throws(RunError) in NullSink()
  }
}
