public import Sprocket

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
  /// What is copied; `nil` for a callback that reads by itself.
  private let content: FrameCopy.Content?
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
    content = nil
    self.discardsLateFrames = discardsLateFrames
    self.onDrop = onDrop
    self.onFrame = { frame, _ in onFrame(frame.view) }
  }

  /// An output whose frames are read as copies by `for await`, in any task. The newest is kept for a reader
  /// that has not asked yet; one that is replaced before it was read is told of as `late`. The sequence ends
  /// when the output is removed from its session. Costs an allocation and a copy for each frame.
  ///
  ///     let (output, frames) = VideoDataOutput.copies(of: .nv12)
  public static func copies(
    of content: FrameCopy.Content = .image, onDrop: DropHandler? = nil
  ) -> (output: VideoDataOutput, frames: AsyncStream<FrameCopy>) {
    let (stream, reader) = AsyncStream.makeStream(
      of: FrameCopy.self, bufferingPolicy: .bufferingNewest(1))
    return (VideoDataOutput(content, reader, onDrop), stream)
  }

  private init(
    _ content: FrameCopy.Content, _ reader: AsyncStream<FrameCopy>.Continuation,
    _ onDrop: DropHandler?
  ) {
    parts = content.parts
    self.content = content
    discardsLateFrames = true
    self.onDrop = onDrop
    onFrame = { frame, _ in
      let copy = FrameCopy(frame, content)
      if case .dropped(let old) = reader.yield(copy) {
        onDrop?(DroppedFrame(number: old.record.number, reason: .late))
      }
    }
    core.state.withLock { $0.onRemove = { reader.finish() } }
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    let sink = VideoDataSink(core, parts, content, takesLatest: discardsLateFrames)
    sink.onDrop = onDrop
    sink.onFrame = onFrame
    return [sink]
  }
}

/// Calls back with each frame while the link is enabled.
final class VideoDataSink: Sink {
  let name: String
  private let core: OutputCore
  private let parts: FrameParts
  private let content: FrameCopy.Content?
  private let takesLatest: Bool
  private var plan: TensorPlan?
  private var reader: ReportReader
  var onDrop: VideoDataOutput.DropHandler?
  /// With the reports of the types that were asked for.
  typealias Handler = @Sendable (borrowing PackedFrame, [MetadataObject]) -> Void
  var onFrame: Handler?

  init(
    _ core: OutputCore, _ parts: FrameParts, _ content: FrameCopy.Content?, takesLatest: Bool,
    types: Set<String>? = []
  ) {
    name = core.name
    reader = ReportReader(types: types)
    (self.core, self.parts, self.content, self.takesLatest) = (core, parts, content, takesLatest)
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(parts)
    setup.takesLatest = takesLatest
    reader.configure(setup)
    plan = try content?.plan(&setup)
  }

  func makePacker() throws(RunError) -> (any Packer)? { plan.map { TensorPacker($0) } }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard core.link.isEnabled else { return }
    onFrame?(frame, reader.objects(of: frame))
  }

  func account(_ lost: LostFrame) throws(RunError) {
    guard let onDrop, core.link.isEnabled, let dropped = DroppedFrame(lost) else { return }
    onDrop(dropped)
  }
}

extension FrameCopy {
  init(_ frame: borrowing PackedFrame, _ content: Content) {
    self.init(frame.view, content, packed: content == .bgra ? frame.packed : Span())
  }
}
