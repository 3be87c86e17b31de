public import SprocketCore

/// `--null`: takes every frame and reads none.
public final class NullSink: Sink {
  public let name = "null"
  /// Frames taken.
  public private(set) var frameCount = 0

  /// The run ends when no other sink is left.
  public var lasts: Bool { false }

  public init() {}

  public func configure(_ setup: inout SinkSetup) throws(SinkError) {}

  public func write(_ frame: borrowing PackedFrame) throws(SinkError) { frameCount += 1 }
}
