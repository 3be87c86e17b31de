/// Where frames come from. `docs/sources.md` has a whole live source.
///
/// A source is made and opened on the thread of the caller, then used on the source's thread alone, one call
/// at a time, so that it needs no lock. `interrupt` alone comes on other threads.
///
/// The engine's loop: `next` until it says `.frame`; `takeEvents`; then, when a position is free, `take`
/// moves the frame into a slot and it is published; live, when none is free, `discard` gives it back
/// (`overrun`). Offline, the engine waits for a position before it calls `next`. One frame is announced at a
/// time: `next` is not called again before it was taken or discarded.
public protocol Source: AnyObject {
  /// Opens the device or file. What it returns holds until `next` returns `.epoch`. It may take as long as
  /// the device does, if `interrupt` ends it. One that throws releases what it holds: `close` is not called.
  func open() throws(RunError) -> SourceDescription
  /// Waits for the next thing to happen, `timeout` nanoseconds at most: 20 ms while frames flow, 2 ms while
  /// an epoch ends. A longer wait delays requests and the end of the run. What it throws ends the run with
  /// that error; what was recorded is completed.
  func next(timeout: Int64) throws(RunError) -> Arrival
  /// Adds to `events` the events up to the frame that `next` announced: they belong to that frame. Called
  /// once for each frame that gets a running number, before it is taken or discarded. A source that keeps its
  /// events in an `EventQueue` calls `events.take(from:)`.
  func takeEvents(into events: inout EventQueue)
  /// The settings that an event `.settingsChanged` of this source is about: a replay repeats the changes
  /// that were recorded.
  func changedSettings(_ ticket: UInt64) -> ChangedSettings?
  /// Moves the frame that `next` announced into a slot: copies it (`CaptureSlot.bytes` and `filled`), or
  /// lends its memory (`CaptureSlot.lend`). Called for damaged frames and those of the start, too: a dump
  /// stores them. Allocates nothing.
  func take(into slot: inout CaptureSlot)
  /// Gives the frame that `next` announced back unused: there is no room for it, or the run ends before it.
  func discard()
  /// Gives memory back: `lent` is the `handle` that `CaptureSlot.lend` was given. A source that lends nothing
  /// leaves it empty.
  func reclaim(_ lent: UnsafeMutableRawPointer)
  /// Asks `open` or `next`, whichever is under way or comes next, to return soon: `open` throws
  /// `.interrupted`, `next` says `.end`. It holds for the rest of the source's life. Unlike all else it is
  /// called from any thread, at any time, more than once, also before `open`. Where a run ends and the source
  /// does not return within `RunOptions.drainLimit` and two seconds, it is left behind, and the run fails.
  func interrupt()
  /// Stops the device. Called once if `open` returned, after the last frame has been given back; but what a
  /// sink that blocks still reads stays lent, and has to stay readable. What it throws is an error of the
  /// run.
  func close() throws(RunError)
  /// Identity of the device, if only one source at a time can use it; `nil`, the default, for any other
  /// source. Asked before or after `open`, on any thread. A run that goes over to a source with the same
  /// identity closes this one first (`Engine.reconfigure`).
  var deviceIdentity: String? { get }
  /// A source as this one was before `open`; `nil`, the default, if there is none. A run goes back to it
  /// when it had to close this one, and the other source cannot be opened.
  func again() -> (any Source)?
  /// What the source counted, for the summary: each with the name that it has there, such as
  /// `copied`. Asked after `close`.
  var counts: [(name: String, value: UInt64)] { get }
  /// What a user should know of how the run went, each a sentence. Asked after `close`.
  var notes: [String] { get }
}

extension Source {
  /// Does nothing: for a source whose calls never take longer than a moment.
  public func interrupt() {}
  /// Adds nothing: for a source beside whose frames nothing happens.
  public func takeEvents(into events: inout EventQueue) {}
  /// For a source that changes no settings.
  public func changedSettings(_ ticket: UInt64) -> ChangedSettings? { nil }
  /// For a source that others may use at the same time.
  public var deviceIdentity: String? { nil }
  /// For a source that cannot be opened once more.
  public func again() -> (any Source)? { nil }
  /// For a source that has nothing to tell.
  public var notes: [String] { [] }
  /// For a source that counts nothing.
  public var counts: [(name: String, value: UInt64)] { [] }
}

/// What a source is, known once it is open.
public struct SourceDescription: Sendable {
  /// What to call it in a summary: a device's or file's name.
  public var name: String
  /// Size, pixels, colors and nominal rate of all frames until the next `Arrival.epoch`.
  public var format: FrameFormat
  /// Frames do not wait: a camera, or anything at real pace. One that finds no room is `overrun`. Else the
  /// run waits, and loses none.
  public var isLive: Bool
  /// The clock of every `ArrivedFrame.captured`: `.monotonic` for what is live, `.media` for a file.
  public var clock: Timestamp.Clock
  /// Bytes that a slot must hold for one frame: a packed frame's size, or the worst case of an
  /// encoded one (address space alone is reserved for it). 0 for a source that lends all it has.
  public var capacity: Int
  /// Number of frames, where that is known.
  public var frameCount: Int?
  /// Where writes to the source's controls arrive, and the source answers; `nil` for a source without any.
  public var controls: ControlPort?
  /// Takes requests for a key frame, where frames have packets.
  public var keyFrames: KeyFrameRequest?
  /// A sentence that the user should know before the run.
  public var note: String?
  /// What a file says of itself by FFmpeg's names, such as `title`, `make` and `creation_time`: movies that
  /// are made of it keep it.
  public var tags: [String: String] = [:]
  /// What a film of high dynamic range says of its light: movies that are made of it keep it.
  public var hdr: HDRMetadata?
  /// Time between the moment at which a source was asked to begin (`from`) and its first frame. The duration
  /// of a run counts from that moment.
  public var leadIn = Duration.zero
  /// Another program asks for each frame by its number. Stages that need frames in order are refused.
  public var isAskedByNumber = false

  /// Where its frames come from, for pictures' files; `nil`: from a camera of the source's name.
  public var ownOrigin: FrameOrigin?
  /// Where its frames come from, for pictures' files.
  public var origin: FrameOrigin { ownOrigin ?? FrameOrigin(camera: name) }

  /// Describes a source; everything else is set afterwards.
  public init(
    name: String, format: FrameFormat, isLive: Bool, clock: Timestamp.Clock, capacity: Int,
    frameCount: Int? = nil, controls: ControlPort? = nil
  ) {
    self.name = name
    self.format = format
    self.isLive = isLive
    self.clock = clock
    self.capacity = capacity
    self.frameCount = frameCount
    self.controls = controls
  }
}

/// What `Source.next` found.
public enum Arrival: Sendable {
  /// A frame is here: it will be taken or discarded before the next call of `next`.
  case frame(ArrivedFrame)
  /// Nothing within the time allowed; `next` is called again at once. A source that says so without having
  /// waited keeps a core busy.
  case nothing
  /// From here on frames are different, or the device was gone: a new epoch. It has no frame: `next`
  /// announces that afterwards. Frames under way are finished in the old format, then stages and sinks are
  /// configured for the description. What a live source announces meanwhile is `overrun`. Sequence numbers
  /// may begin anew.
  case epoch(SourceDescription, EpochReason)
  /// There are no more frames, or the source was interrupted. The run ends, and `next` is not called again.
  case end
}

/// Why an epoch begins. The engine does the same for both.
public enum EpochReason: String, Sendable {
  /// Frames have another size, other pixels or other colors.
  case formatChange
  /// The device was gone and is back. The source tells so by an event, too: `Event.Kind.replugged`.
  case replug
}

/// A frame that waits to be taken.
public struct ArrivedFrame: Sendable {
  /// The device's own number, which begins anywhere and rises by 1 from frame to frame. Numbers that are left
  /// out count as `missing`. One that does not rise, or is more than 32,768 further, begins an epoch.
  public var sequence: UInt64
  /// When the frame was captured, on the clock that `SourceDescription.clock` names; it rises from frame to
  /// frame. A device without a clock of its own takes `monotonicNow()` when the frame arrives; dates of the
  /// clock on the wall become times by `Timestamp(nanosecondsSince1970:)`.
  public var captured: Timestamp
  /// The moment within the frame that `captured` stands for.
  public var capturePoint: CapturePoint
  /// Flagged by the driver, or broken in structure. The frame's fate is `corrupt`: it reaches no stage, and
  /// of the sinks only those that tap the source, as a dump does.
  public var isCorrupt: Bool
  /// Among the first frames, which are not to be used, as while the device settles. The fate is `startup`, or
  /// `corrupt` for one that is also damaged; else what `isCorrupt` says holds for these frames, too.
  public var isStartup: Bool
  /// Whether the frame's packet can be decoded without earlier packets. True for frames without a packet.
  public var isKey = true
  /// A replay: when this was recorded there was no room for it, and there are no bytes.
  public var isOverrun = false
  /// A replay: when this was recorded a stage dropped it, because it came too late.
  public var wasLate = false
  /// The driver's own flags (`v4l2_buffer.flags`); 0 where there is no driver.
  public var driverFlags: UInt32 = 0
  /// The camera settings that the frame was taken with.
  public var inForce: ControlState

  /// An intact frame, unless it says otherwise.
  public init(
    sequence: UInt64, captured: Timestamp, capturePoint: CapturePoint = .unknown,
    isCorrupt: Bool = false, isStartup: Bool = false, inForce: ControlState = ControlState()
  ) {
    self.sequence = sequence
    self.captured = captured
    self.capturePoint = capturePoint
    self.isCorrupt = isCorrupt
    self.isStartup = isStartup
    self.inForce = inForce
  }
}
