/// What is known of one block of sound besides its samples.
public struct AudioRecord: Sendable, BitwiseCopyable {
  /// Running number of the block, from 0.
  public var block: UInt64 = 0
  /// Number of the block's first sample among all that the device made since the run began, missing ones
  /// counted.
  public var first: UInt64 = 0
  /// Samples in the block.
  public var count = 0
  /// Samples that are missing between the run's begin and this block: those of gaps.
  public var missing: UInt64 = 0
  /// When the block was read, nanoseconds on the source's clock; in a replay, when it was read then.
  public var read: Int64 = 0
  /// What the source said of the block's time. The clock's line is made of it.
  public var timing = ArrivedSound.Timing.unknown
  /// What was known of the clock with this block. It holds for earlier blocks of the same segment, too.
  public var line: AudioLine
  public var levels = AudioLevels()

  public init(line: AudioLine) { self.line = line }

  /// The number of the sample behind the last one.
  public var end: UInt64 { first &+ UInt64(count) }
}
