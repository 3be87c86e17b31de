/// Where frames go. Each sink has a cursor and a thread of its own.
///
/// Calls: `configure · (write | account)* · finish`, with `configure` again at each epoch, in order and one
/// at a time. Live, the chain does not wait for `write`: a sink that is too slow loses the oldest frames
/// (`behind`). Work that belongs on the chain's threads is done by other objects: a selector runs in order
/// before packing, so that no unwanted frame is packed; packers run in parallel. The chain waits for both.
public protocol Sink: AnyObject {
  /// The key in the summary.
  var name: String { get }
  /// Additional sinks that this one needs, such as one that also records the end of the chain. The engine
  /// adds them to the run.
  var companions: [any Sink] { get }
  /// Declares what is read and packed, looks at the format of the frames to come, and allocates. Called
  /// before the first frame, and again at each epoch. What it throws refuses the run, or the change of a run
  /// that would attach the sink; in a new epoch it ends this sink alone.
  func configure(_ setup: inout SinkSetup) throws(RunError)
  /// Chooses frames, for a sink that wants some only; `nil` for one that wants all.
  func makeSelector() -> (any FrameSelector)?
  /// One per worker, for a sink that declared `packs` in `configure`; else `nil`.
  func makePacker() throws(RunError) -> (any Packer)?
  /// Takes a frame. When this returns, the frame counts as delivered, unless the sink fails before
  /// `durableCount` has reached it.
  func write(_ frame: borrowing PackedFrame) throws(RunError)
  /// Called live, some 20 times a second, while no frame comes: for what a sink writes beside frames. By
  /// default does nothing.
  func idle() throws(RunError)
  /// Whether `idle` is also called offline, where frames wait for the sink. By default false.
  var idlesOffline: Bool { get }
  /// How many of the frames for which `write` returned have reached the kernel or the reader,
  /// counted from the first. `.max`, the default, means all: the sink does not buffer. Must also be
  /// correct after `write`, `account` or `finish` threw.
  var durableCount: UInt64 { get }
  /// How many of the frames for which `write` returned were given up for a later one: they count as
  /// `unselected` and not as delivered. It only grows; by default it is 0.
  var replacedCount: UInt64 { get }
  /// Called for each produced frame that this sink does not get, in order between the writes.
  func account(_ lost: LostFrame) throws(RunError)
  /// Called instead of `account(_:)` if the frame reached a slot and has not been overwritten: its
  /// record and the reports of the stages before the one that dropped it can be read.
  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError)
  /// Completes and closes what was written.
  func finish() throws(RunError)
  /// The account of the whole run, for a sink that stores it: called last, after every sink has
  /// finished, also this one. If `seal` throws, all frames of this sink become `failed` in the run's
  /// summary; the account that other sinks have stored by then does not show it.
  func seal(_ ledger: Ledger) throws(RunError)
  /// Whether the sink has all that it was asked for. Read after each `write`; from then on it no longer keeps
  /// the run going. It still gets frames, and gives them up (`replacedCount`). By default never.
  var isComplete: Bool { get }
  /// Sentences for the user about what was written, such as a renamed file; read after `finish`.
  var notes: [String] { get }
  /// What the sink counted beside frames, for the summary and for who asks about the run: each with the name
  /// that it has there, such as `copies`. Unlike the other calls it may come on any thread, at any time.
  var counts: [(name: String, value: UInt64)] { get }
  /// Asks a waiting `write` to return soon, because the run, or the epoch, ends without it. It holds for the
  /// rest of the run. Unlike the other calls it may come on any thread, at any time, also if the run is
  /// never started.
  func interrupt()
  /// Whether the sink produces a result of its own: a file, a stream with a reader, a digest. A run that has
  /// such sinks ends when all of them have ended.
  var lasts: Bool { get }
}

extension Sink {
  public var companions: [any Sink] { [] }
  public var durableCount: UInt64 { .max }
  public var replacedCount: UInt64 { 0 }
  public func makeSelector() -> (any FrameSelector)? { nil }
  public func makePacker() throws(RunError) -> (any Packer)? { nil }
  public func account(_ lost: LostFrame) throws(RunError) {}
  public func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    try account(lost)
  }
  public func idle() throws(RunError) {}
  public var idlesOffline: Bool { false }
  public func finish() throws(RunError) {}
  public func seal(_ ledger: Ledger) throws(RunError) {}
  public var isComplete: Bool { false }
  public var notes: [String] { [] }
  public var counts: [(name: String, value: UInt64)] { [] }
  public var lasts: Bool { true }
  /// Does nothing: for a sink whose `write` never waits.
  public func interrupt() {}
}

/// A frame that did not reach a sink.
public struct LostFrame: Sendable {
  /// Running number in the run, as `FrameRecord.number`.
  public var number: UInt64
  /// The source's own number.
  public var sequence: UInt64
  /// Which epoch it belongs to, as `FrameRecord.epoch`.
  public var epoch: UInt32
  /// Why this sink does not get it.
  public var fate: Fate
  /// For a sink that taps the source: `corrupt` or `startup` where the source marked the frame so, and
  /// the sink lost it for another reason.
  public var sourceFate: Fate?
  /// Events just before the frame. A copy that outlives the call makes the engine allocate memory.
  public var events: [Event] = []

  public init(
    number: UInt64, sequence: UInt64, epoch: UInt32, fate: Fate, sourceFate: Fate? = nil
  ) {
    self.number = number
    self.sequence = sequence
    self.epoch = epoch
    self.fate = fate
    self.sourceFate = sourceFate
  }
}

/// Decides which frames a sink wants: called in order, on one thread.
public protocol FrameSelector: AnyObject {
  /// Whether the sink wants the frame: one that it does not want is `unselected`, and is not packed.
  /// Allocates nothing.
  func selects(_ frame: borrowing FrameView) -> Bool
}

/// Turns a frame into the bytes that a sink will write, in parallel.
public protocol Packer: AnyObject {
  /// Fills `bytes` (the size that the sink asked for) and returns how many it used; `nil` when the
  /// frame cannot be packed.
  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int?
}

/// Requests of a sink in `configure`, and what it learns about the stream.
public struct SinkSetup {
  /// Frames as they leave the chain.
  public let format: FrameFormat
  /// Counts the epochs of the run, from 0.
  public let epoch: UInt32
  /// The source as it is in this epoch.
  public let source: SourceDescription
  /// True if no stage writes pixels, so that `.encoded` shows the same picture as the end of the chain.
  public let isUntouched: Bool
  /// The reports that frames carry, in the chain's order.
  public let reports: [ReportLayout]
  /// The chain's stages by index, for `FrameRecord.droppedBy`.
  public let stageNames: [String]
  /// The settings that an event `.settingsChanged` with this ticket is about; `nil` if they are not known any
  /// more: those of the latest 4,096 events are. May be called from any thread.
  public let changedSettings: @Sendable (_ ticket: UInt64) -> ChangedSettings?

  /// What `reads` declared.
  public private(set) var parts: FrameParts = []
  /// What `packs` declared, in bytes.
  public private(set) var packedCapacity = 0
  /// What `packs` declared of each packer, in bytes.
  public private(set) var packerBytes = 0
  /// What the sink itself allocates and grows with the frame's size, for the plan of the run's memory.
  public var ownBytes = 0
  /// Set by a sink that wants the newest frame only.
  public var takesLatest = false
  /// Set by a sink that wants frames as the source delivers them, before any stage: `write` gets every
  /// frame that arrived and found room, also damaged ones and those of the start. It may read `.encoded`
  /// alone, and has packers but no selector.
  public var tapsSource = false
  /// Set by a sink that writes packets: after a frame that it did not get, and where a recording or an epoch
  /// begins, it gets the next key frame, and those before that are `unselected`. The source is asked for one.
  public var needsEarlierFrames = false
  /// Live: frames that may wait for this sink before it loses the oldest. Larger: a longer pause of its
  /// device loses nothing; costs as many slots. Else, up to 4: threads work in longer batches.
  public var backlog = 8

  public init(
    format: FrameFormat, epoch: UInt32, source: SourceDescription, isUntouched: Bool,
    reports: [ReportLayout], stageNames: [String],
    changedSettings: @escaping @Sendable (UInt64) -> ChangedSettings? = { _ in nil }
  ) {
    self.format = format
    self.epoch = epoch
    self.source = source
    self.isUntouched = isUntouched
    self.reports = reports
    self.stageNames = stageNames
    self.changedSettings = changedSettings
  }

  /// Whether frames do not wait: a sink that is slow then loses some.
  public var isLive: Bool { source.isLive }

  /// The format of the source's frames, if no stage writes pixels.
  public var untouchedSource: FrameFormat? { isUntouched ? source.format : nil }

  /// Declares what the sink's packers and `write` read of each frame.
  public mutating func reads(_ parts: FrameParts) throws(RunError) {
    if !parts.isDisjoint(with: .pixels) { _ = try format.picture() }
    self.parts.formUnion(parts)
  }

  /// Declares that this sink has packers. Reserves `capacity` bytes, 1 or more, of each frame's memory
  /// for them; only pages that are written cost anything. `packerBytes` is what each packer allocates
  /// beside that and grows with the frame's size, for the plan of the run's memory.
  public mutating func packs(capacity: Int, packerBytes: Int = 0) {
    packedCapacity = capacity
    self.packerBytes = packerBytes
  }
}

/// A frame as `Sink.write` sees it: the view, and what the packer made.
@safe
public struct PackedFrame: ~Copyable {
  /// The frame: its pixels as far as the sink declared them, its reports and events. Lent for the call.
  public let view: FrameView
  let bytes: UnsafeMutableRawPointer
  let count: Int

  public init(view: consuming FrameView, bytes: UnsafeMutableRawPointer, count: Int) {
    self.view = view
    unsafe self.bytes = unsafe bytes
    self.count = count
  }

  /// Number, time and camera settings of the frame.
  public var record: FrameRecord { view.record }

  /// What the packer wrote.
  public var packed: Span<UInt8> {
    @_lifetime(borrow self)
    get {
      let start = unsafe UnsafePointer(bytes.assumingMemoryBound(to: UInt8.self))
      let span = unsafe Span(_unsafeStart: start, count: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// One number of a report, bit for bit; `nil` where the stage made no report on this frame.
  /// `index` counts within a field of many numbers.
  @inlinable
  public func value<Value: BitwiseCopyable>(
    _ field: ReportFieldDescription, of layout: ReportLayout, index: Int = 0, as type: Value.Type
  ) -> Value? {
    view.value(field, of: layout, index: index, as: type)
  }
}
