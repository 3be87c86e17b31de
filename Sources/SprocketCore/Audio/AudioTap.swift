/// A sink's hand on the sound of one source: takes its blocks one by one. For one thread at a time. An
/// ``AudioSink`` gets one in `run`, a movie is made with some (`AudioEngine.makeTap`).
///
/// Blocks come in order. A live source does not wait for the tap: a tap that is too slow, or does not read,
/// loses the oldest blocks. Any other source waits for it.
public protocol AudioTap: AnyObject {
  /// The source as it was opened.
  var description: AudioDescription { get }
  /// What came before this tap's first block: nothing, unless it was made while the sound went on. It is
  /// accounted for.
  var before: AudioPast { get }
  /// Whether there is a source, be it one that is silent or waited for. False while another one may come, and
  /// a file that begins then has no track of this sound.
  var hasSource: Bool { get }
  /// Takes the next block, or waits for it, at most `timeout` nanoseconds.
  func next(timeout: Int64) -> AudioStep
  /// The block that `next` took, until `release`: its record, and its samples, interleaved as
  /// `description.format` has them. They are lent for the call; copy what is to be kept.
  func withBlock<Result>(_ body: (AudioRecord, Span<UInt8>) -> Result) -> Result
  /// The newest line of a segment of the clock: better than that of a block's own record, and placed once the
  /// device has been observed for long enough. `nil` for a segment that is too long ago to be known.
  func line(ofSegment segment: UInt32) -> AudioLine?
  /// Gives the block back.
  func release()
  /// Adds samples to this tap's account. At the end, what it produced and did not account for is `flushed`.
  func count(_ samples: UInt64, as fate: Fate)
  /// Moves samples that were counted as `old` to another fate: a file that was lost later, for example.
  func recount(_ samples: UInt64, _ old: Fate, as new: Fate)
  /// Adds a file that is complete to this tap's account.
  func note(_ file: AudioFileAccount)
  /// Reads no more; the source does not wait for this tap any longer.
  func close()
}

extension AudioTap {
  public var before: AudioPast { AudioPast() }
  public var hasSource: Bool { true }
}

/// Samples of a run up to some block.
public struct AudioPast: Sendable, BitwiseCopyable {
  /// All that the source made, missing ones counted.
  public var produced: UInt64 = 0
  public var missing: UInt64 = 0

  public init(produced: UInt64 = 0, missing: UInt64 = 0) {
    (self.produced, self.missing) = (produced, missing)
  }
}

/// What `AudioTap.next` found.
public enum AudioStep: Sendable {
  case block
  /// Nothing within the time allowed.
  case nothing
  /// There will be no more.
  case end
}
