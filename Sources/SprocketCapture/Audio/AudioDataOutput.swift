public import Sprocket

/// A block of sound, lent for a call.
public struct SoundBlock: Sendable {
  public let record: AudioRecord
  public let format: AudioFormat
  /// When its first sample was heard, on the clock of the pictures; `nil` in the first second of a device,
  /// whose clock is being measured.
  public let time: Timestamp?
  /// Samples that were lost just before it.
  public let missing: UInt64

  /// Peak and RMS per channel in dBFS.
  public var levels: [(peak: Double, rms: Double)] {
    (0..<format.channels).map {
      (record.levels.peakDecibels($0), record.levels.rmsDecibels($0))
    }
  }
}

/// A copy of a block of sound: its samples, as `block.format` says, channels interleaved.
public struct SoundCopy: Sendable {
  public let block: SoundBlock
  public let bytes: [UInt8]

  init(_ block: SoundBlock, _ span: Span<UInt8>) {
    var bytes = [UInt8](repeating: 0, count: span.count)
    for index in span.indices { bytes[index] = span[index] }
    (self.block, self.bytes) = (block, bytes)
  }
}

/// Gives a program each block of sound, on a thread of its own. Sound is never discarded to catch up: a
/// callback that is too slow for seconds loses the oldest, and is told how many samples by `missing`.
public final class AudioDataOutput: TakesAudio, ReadsSound {
  /// Gets a block of sound and its samples, on the output's thread; the span is lent for the call.
  public typealias Handler = @Sendable (SoundBlock, Span<UInt8>) -> Void

  public let core = OutputCore("audio-data")
  let takes: Set<CaptureDevice.MediaType> = [.audio]
  private let onBlock: Handler

  /// The span has the block's samples as `SoundBlock.format` says, channels interleaved.
  public init(onBlock: @escaping Handler) { self.onBlock = onBlock }

  /// Makes an output and a sequence of copies of its blocks, to be read by `for await` in any task. If the
  /// reader is slow, up to 1,000 blocks wait: 10 s of a usual microphone. Then the oldest blocks are dropped,
  /// and `block.record.first` of the next block shows how many samples are missing. The sequence ends when
  /// the output is removed from its session. Costs an allocation and a copy for each block.
  ///
  ///     let (output, blocks) = AudioDataOutput.copies()
  public static func copies() -> (output: AudioDataOutput, blocks: AsyncStream<SoundCopy>) {
    let (stream, reader) = AsyncStream.makeStream(
      of: SoundCopy.self, bufferingPolicy: .bufferingNewest(1000))
    let output = AudioDataOutput { block, bytes in reader.yield(SoundCopy(block, bytes)) }
    output.core.state.withLock { $0.onRemove = { reader.finish() } }
    return (output, stream)
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] { [] }

  func makeAudioSink() -> any AudioSink { SoundDataSink(core, onBlock) }
}

/// An output that gets each block of sound.
protocol ReadsSound: SessionOutput {
  func makeAudioSink() -> any AudioSink
  /// The session's microphone was added, exchanged or removed.
  func soundChanged(isThere: Bool)
}

extension ReadsSound {
  func soundChanged(isThere: Bool) {}
}

final class SoundDataSink: AudioSink {
  let name: String
  private let core: OutputCore
  private let onBlock: AudioDataOutput.Handler
  private var format: AudioFormat?

  init(_ core: OutputCore, _ onBlock: @escaping AudioDataOutput.Handler) {
    name = core.name
    (self.core, self.onBlock) = (core, onBlock)
  }

  func configure(_ sound: AudioDescription) throws(RunError) { format = sound.format }

  func run(_ tap: any AudioTap) throws(RunError) {
    guard let format else { return }
    var (end, missing) = (tap.before.produced, tap.before.missing)
    while true {
      switch tap.next(timeout: 1_000_000_000) {
      case .nothing: continue
      case .end: return
      case .block:
        let record = tap.withBlock { record, _ in record }
        let line = tap.line(ofSegment: record.line.segment) ?? record.line
        let lost = record.first - end
        let time = Timestamp(nanoseconds: line.time(of: record.first), clock: .monotonic)
        let block = SoundBlock(
          record: record, format: format, time: line.isPlaced ? time : nil, missing: lost)
        if core.link.isSoundEnabled { tap.withBlock { _, bytes in onBlock(block, bytes) } }
        tap.release()
        tap.count(record.missing - missing, as: .missing)
        tap.count(lost - (record.missing - missing), as: .behind)
        tap.count(UInt64(record.count), as: .delivered)
        (end, missing) = (record.end, record.missing)
      }
    }
  }
}
