/// Where sound comes from: a microphone, a file, the scene. Made and opened on the caller's thread, then
/// used on one thread alone.
public protocol AudioSource: AnyObject {
  /// Opens the device or file.
  func open() throws(RunError) -> AudioDescription
  /// Waits for the next block, at most `timeout` nanoseconds, and fills `bytes` from the start with its
  /// samples; `bytes` has room for `AudioDescription.blockSamples`.
  func read(into bytes: inout MutableSpan<UInt8>, timeout: Int64) throws(RunError) -> AudioArrival
  /// Asks `open` or `read` to return soon. Called from any thread, at any time.
  func interrupt()
  /// Stops the device. Called once.
  func close() throws(RunError)
  /// What a user should know of how the run went, each a sentence. Asked after `close`.
  var notes: [String] { get }
}

extension AudioSource {
  public func interrupt() {}
  public var notes: [String] { [] }
}

/// What an audio source is, known once it is open.
public struct AudioDescription: Sendable {
  /// What to call it in a summary.
  public var name: String
  public var format: AudioFormat
  /// Sound does not wait: a microphone, or anything at real pace.
  public var isLive: Bool
  /// Clock of its times.
  public var clock: Timestamp.Clock
  /// Most samples in a block.
  public var blockSamples: Int
  /// Samples in a usual block, by which the engine knows how many blocks a second has. Blocks that are much
  /// smaller are kept for a shorter time.
  public var usualSamples: Int
  /// How the device was set up, for `--verbose` and the summary: such as its period and buffer.
  public var setup: String?
  /// Tags of a file, such as its title and its artist, which sinks write into their files.
  public var tags: [String: String] = [:]
  /// A sentence that the user should know before the run.
  public var note: String?
  /// What can be set: volume, switches; `nil` where there is nothing.
  public var controls: (any AudioControls)?

  public init(
    name: String, format: AudioFormat, isLive: Bool, clock: Timestamp.Clock, blockSamples: Int
  ) {
    self.name = name
    self.format = format
    self.isLive = isLive
    self.clock = clock
    self.blockSamples = blockSamples
    usualSamples = blockSamples
  }
}

/// Controls of a source of sound. They may be used from any thread, before, in and after a run.
public protocol AudioControls: Sendable {
  /// Asks the device.
  var controls: [ControlDescription] { get }
  /// Reads a control, and returns what sets each of its channels back to its present value; `nil` if the
  /// control cannot be read.
  func restorer(of name: String) -> ControlRestorer?
  /// Sets a control to what a person writes, all channels of it; returns what they should know of it. Throws
  /// for one that there is not, and for a value that is not allowed.
  func set(_ name: String, to text: String) throws(RunError) -> String?
}

/// Sets a control back to former values.
public typealias ControlRestorer = @Sendable () throws(RunError) -> Void

/// What `AudioSource.read` found.
public enum AudioArrival: Sendable {
  case block(ArrivedSound)
  /// Nothing within the time allowed.
  case nothing
  case end
}

/// A block that was read.
public struct ArrivedSound: Sendable {
  /// Samples that were read.
  public var count: Int
  /// Samples that were lost just before these; an estimate where the device does not count them. Any number
  /// above 0 begins a new segment of the clock.
  public var missing: UInt64
  /// A new segment begins although nothing is known to be missing: the device was started again.
  public var isRestarted = false
  public var timing: Timing
  /// When the block was read, nanoseconds on the source's clock; `nil`: now, or of another clock than the
  /// monotonic one, when its last sample was heard. Replays say when it was then.
  public var read: Int64?

  public init(count: Int, missing: UInt64 = 0, timing: Timing) {
    self.count = count
    self.missing = missing
    self.timing = timing
  }

  /// How the time of the first sample is known.
  public enum Timing: Sendable, BitwiseCopyable {
    /// The first sample was heard at this time (nanoseconds), exactly: of files and replays.
    case exact(Int64)
    /// The device's status: `ahead` samples after the block's first one (they may not have been read yet), it
    /// was this time.
    case status(ahead: Int, time: Int64)
    /// The device says nothing of times.
    case unknown
  }
}
