public import Sprocket

/// Gives a program each picture with the sound up to its time and with the reports of its stages: a video
/// data output, an audio data output and a metadata output in one, paired by time.
///
///     let together = DataSynchronizer(reading: .luma(.eighth)) { frame, data in
///       print(frame.record.number, data.sound.count, data.objects.count)
///     }
///
/// A picture waits for its sound, for `limit` at most. Every block of sound comes once, in order, with the
/// first picture that is not earlier than the block's first sample; that of dropped pictures comes with the
/// next one. Costs an allocation and a copy for each block of sound.
public final class DataSynchronizer: TakesVideo, TakesAudio, ReadsSound {
  /// What belongs to a picture.
  public struct Data: Sendable {
    /// Blocks of sound that began since the picture before, and no later than this one.
    public let sound: [SoundCopy]
    /// False where the sound did not come in time, or the session has no microphone.
    public let isSoundComplete: Bool
    /// What the stages reported of the picture.
    public let objects: [MetadataObject]
  }

  /// A copy of a picture, and what belongs to it.
  public struct Pair: Sendable {
    public let frame: FrameCopy
    public let data: Data
  }

  /// Gets a frame and what belongs to it, on the output's thread; the frame is lent for the call.
  public typealias Handler = @Sendable (borrowing FrameView, Data) -> Void

  public let core = OutputCore("together")
  let takes: Set<CaptureDevice.MediaType> = [.video, .audio]
  private let parts: FrameParts
  private let types: Set<String>?
  private let limit: Duration
  private let onDrop: VideoDataOutput.DropHandler?
  private let onData: @Sendable (borrowing PackedFrame, Data) -> Void
  /// Where pairs wait; `nil` for a callback that reads by itself.
  private let room: (any CopyRoom)?
  private let queue = SoundQueue()

  /// - Parameters:
  ///   - parts: what the callback reads of the pixels; reading anything else stops the program.
  ///   - types: names of stages. Their reports are delivered; `nil` delivers the reports of all stages.
  ///   - limit: how long a picture waits for its sound. Larger: more pictures are late and dropped where the
  ///     sound is late. A microphone's block takes 10 ms or more.
  ///   - onDrop: on the same thread, once for each picture that is dropped.
  ///   - onData: called with each picture, which is lent for the call, and what belongs to it.
  public init(
    reading parts: FrameParts = .image, types: Set<String>? = nil,
    waiting limit: Duration = .milliseconds(200), onDrop: VideoDataOutput.DropHandler? = nil,
    onData: @escaping Handler
  ) {
    (self.parts, self.types, self.limit) = (parts, types, limit)
    (self.onDrop, room) = (onDrop, nil)
    self.onData = { frame, data in onData(frame.view, data) }
  }

  /// Makes an output and a sequence of its pairs, to be read by `for await` in any task. A pair has copies
  /// of the picture and of its sound. The sequence ends when the output is removed from its session. Costs an
  /// allocation and a copy for each picture and each block of sound.
  ///
  ///     let (output, pairs) = DataSynchronizer.copies(of: .nv12)
  ///
  /// `keeping` says what waits for a reader that is slow: the newest pair, with the sound of those that it
  /// replaces, or every one up to a number, as in ``VideoDataOutput/copies(of:keeping:onDrop:)``. The sound
  /// of a picture that is dropped comes with the next pair.
  public static func copies(
    of content: FrameCopy.Content = .image, types: Set<String>? = nil,
    waiting limit: Duration = .milliseconds(200), keeping: FrameCopies.Keeping = .newest,
    onDrop: VideoDataOutput.DropHandler? = nil
  ) -> (output: DataSynchronizer, pairs: AsyncStream<Pair>) {
    let copies = CopiedFrames<Pair>(content, keeping, onDrop)
    return (DataSynchronizer(copies, types, limit), copies.stream)
  }

  private init(_ copies: CopiedFrames<Pair>, _ types: Set<String>?, _ limit: Duration) {
    (parts, room, onDrop) = ([], copies, copies.onDrop)
    (self.types, self.limit) = (types, limit)
    onData = { frame, data in
      let pair = Pair(frame: FrameCopy(frame, copies.content), data: data)
      copies.add(pair) { old, new in new.adding(soundOf: old) }
    }
    core.state.withLock { $0.onRemove = { copies.end() } }
  }

  func check(stages: Set<String>) throws(CaptureError) { try ReportReader.check(types, stages) }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    try check(stages: setup.stages)
    queue.begin(hasSound: setup.hasMicrophone)
    let takesLatest = room.map { $0.keeping == .newest } ?? true
    let sink = VideoDataSink(core, parts, room, takesLatest: takesLatest, types: types)
    sink.onDrop = onDrop
    sink.onFrame = { [queue, limit, onData] frame, objects in
      let (sound, isComplete) = queue.take(until: frame.record.captured, waiting: limit)
      onData(frame, Data(sound: sound, isSoundComplete: isComplete, objects: objects))
    }
    return [sink]
  }

  func soundChanged(isThere: Bool) { queue.begin(hasSound: isThere) }

  func makeAudioSink() -> any AudioSink {
    SoundDataSink(core) { [queue] block, bytes in queue.add(block, bytes) }
  }

  func didLeave() { queue.begin(hasSound: false) }
}

extension DataSynchronizer.Pair: NumberedCopy {
  var number: UInt64 { frame.record.number }

  /// The pair with the sound of one before it, which nobody read.
  fileprivate func adding(soundOf old: Self) -> Self {
    let sound = (old.data.sound + data.sound).suffix(SoundQueue.most)
    return Self(
      frame: frame,
      data: DataSynchronizer.Data(
        sound: Array(sound), isSoundComplete: data.isSoundComplete, objects: data.objects))
  }
}

/// Blocks of sound that wait for their picture.
private final class SoundQueue: Sendable {
  private struct State {
    var blocks: [(sound: SoundCopy, start: Int64)] = []
    /// Time up to which the sound has come, on the monotonic clock.
    var end = Int64.min
    /// The session has a microphone, which has not failed to deliver in time since its last block.
    var isExpected = false
  }

  /// Blocks that are kept while no picture comes. Larger: more memory. 10 s of a usual microphone.
  static let most = 1000

  private let state = Locked(State())
  private let changes = FutexWord()

  func begin(hasSound: Bool) {
    state.withLock { $0 = State(isExpected: hasSound) }
    changes.advance()
  }

  func add(_ block: SoundBlock, _ bytes: Span<UInt8>) {
    let piece = SoundCopy(block, bytes)
    // Before the microphone's clock is measured, the time of reading is the best that is known.
    let length = Double(block.record.count) / Double(block.format.rate) * 1e9
    let start = block.time?.nanoseconds ?? block.record.read - Int64(nearest: length)
    state.withLock { state in
      if state.blocks.count >= Self.most { state.blocks.removeFirst() }
      state.blocks.append((piece, start))
      state.end = start + Int64(nearest: length)
      state.isExpected = true
    }
    changes.advance()
  }

  /// The blocks that began by `time`. Waits until the sound has come that far; once it has not, it waits no
  /// more before the next block.
  func take(
    until time: Timestamp, waiting limit: Duration
  ) -> (sound: [SoundCopy], isComplete: Bool) {
    let end = monotonicNow() + limit.nanosecondCount
    while true {
      let seen = changes.value
      let (isExpected, isThere) = state.withLock { ($0.isExpected, $0.end >= time.nanoseconds) }
      if isThere || !isExpected { break }
      guard changes.wait(while: seen, until: end) else {
        state.withLock { $0.isExpected = false }
        break
      }
    }
    return state.withLock { state in
      let count =
        state.blocks.firstIndex { $0.start > time.nanoseconds } ?? state.blocks.count
      let sound = state.blocks.prefix(count).map(\.sound)
      state.blocks.removeFirst(count)
      return (sound, state.end >= time.nanoseconds)
    }
  }
}
