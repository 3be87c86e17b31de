public import Sprocket
internal import Synchronization

/// Gives a program each frame, on a thread of its own.
///
///     let output = VideoDataOutput(reading: .luma(.eighth)) { frame in
///       print(frame.record.number, frame.luma(.eighth)[row: 0][0])
///     }
///
/// The frame is lent for the call. Frames that come while the callback is busy are dropped, unless
/// `discardsLateFrames` is false: then some wait, and a callback that is too slow for long loses the oldest.
/// Each frame that is dropped is told of once. No other output waits for it.
public final class VideoDataOutput: TakesVideo, SessionOutput {
  /// Gets a frame on the output's thread; it is lent for the call.
  public typealias FrameHandler = @Sendable (borrowing FrameView) -> Void
  /// Gets what is known of a frame that was dropped, on the output's thread.
  public typealias DropHandler = @Sendable (DroppedFrame) -> Void

  public let core = OutputCore("video-data")
  let takes: Set<CaptureDevice.MediaType> = [.video]
  private let parts: FrameParts
  /// Where copies wait; `nil` for a callback that reads by itself.
  private let room: (any CopyRoom)?
  private let discardsLateFrames: Bool
  private let onDrop: DropHandler?
  private let onFrame: VideoDataSink.Handler

  /// - Parameters:
  ///   - parts: what the callback reads of the pixels; reading anything else stops the program.
  ///   - discardsLateFrames: whether a frame that comes while the callback is busy is dropped at once.
  ///   - onDrop: on the same thread, once for each frame that is dropped.
  ///   - onFrame: called with each frame, which is lent for the call.
  public init(
    reading parts: FrameParts = .image, discardsLateFrames: Bool = true,
    onDrop: DropHandler? = nil, onFrame: @escaping FrameHandler
  ) {
    self.parts = parts
    room = nil
    self.discardsLateFrames = discardsLateFrames
    self.onDrop = onDrop
    self.onFrame = { frame, _ in onFrame(frame.view) }
  }

  /// Makes an output and a sequence: `for await` reads the output's frames as copies, in any task. The
  /// sequence ends when the output is removed from its session. Costs an allocation and a copy for each
  /// frame.
  ///
  ///     let (output, frames) = VideoDataOutput.copies(of: .nv12, keeping: .every(30))
  ///
  /// - Parameters:
  ///   - content: what is copied of each frame.
  ///   - keeping: what waits for a reader that has not asked yet. `.newest`: the newest frame; one that is
  ///     replaced before it was read is told of as `late`. `.every(n)`: as many as `n`, and then some in the
  ///     engine; a reader that is slower for longer loses the oldest of these, as `outOfBuffers`, told when
  ///     it takes its next. A file waits for its reader.
  ///   - onDrop: called on the output's thread, once for each frame that no reader gets.
  public static func copies(
    of content: FrameCopy.Content = .image, keeping: FrameCopies.Keeping = .newest,
    onDrop: DropHandler? = nil
  ) -> (output: VideoDataOutput, frames: AsyncStream<FrameCopy>) {
    let copies = CopiedFrames<FrameCopy>(content, keeping, onDrop)
    return (VideoDataOutput(copies), copies.stream)
  }

  private init(_ copies: CopiedFrames<FrameCopy>) {
    (parts, room, onDrop) = ([], copies, copies.onDrop)
    discardsLateFrames = copies.keeping == .newest
    onFrame = { frame, _ in copies.add(FrameCopy(frame, copies.content)) }
    core.state.withLock { $0.onRemove = { copies.end() } }
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    let sink = VideoDataSink(core, parts, room, takesLatest: discardsLateFrames)
    sink.onDrop = onDrop
    sink.onFrame = onFrame
    return [sink]
  }
}

/// Calls back with each frame while the link is enabled. With a `room` it has copies packed, and waits until
/// one more can be kept.
final class VideoDataSink: Sink {
  let name: String
  private let core: OutputCore
  private let parts: FrameParts
  private let room: (any CopyRoom)?
  private var copier: FrameCopier?
  private let takesLatest: Bool
  private var reader: ReportReader
  private let isInterrupted = Atomic<Bool>(false)
  var onDrop: VideoDataOutput.DropHandler?
  /// With the reports of the types that were asked for.
  typealias Handler = @Sendable (borrowing PackedFrame, [MetadataObject]) -> Void
  var onFrame: Handler?

  init(
    _ core: OutputCore, _ parts: FrameParts, _ room: (any CopyRoom)?, takesLatest: Bool,
    types: Set<String>? = []
  ) {
    name = core.name
    reader = ReportReader(types: types)
    copier = room.map { FrameCopier($0.content) }
    (self.core, self.parts, self.room, self.takesLatest) = (core, parts, room, takesLatest)
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(parts)
    setup.takesLatest = takesLatest
    isInterrupted.store(false, ordering: .releasing)
    reader.configure(setup)
    try copier?.configure(&setup)
  }

  func makePacker() throws(RunError) -> (any Packer)? { copier?.makePacker() }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard core.link.isEnabled else { return }
    room?.waitForRoom { isInterrupted.load(ordering: .acquiring) }
    onFrame?(frame, reader.objects(of: frame))
  }

  func account(_ lost: LostFrame) throws(RunError) {
    guard let onDrop, core.link.isEnabled, let dropped = DroppedFrame(lost) else { return }
    onDrop(dropped)
  }

  func interrupt() {
    isInterrupted.store(true, ordering: .releasing)
    room?.wake()
  }
}
