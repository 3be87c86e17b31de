/// One frame as a stage sees it: its record, the pixels and reports that the stage declared, and
/// its neighbours.
///
/// A view is lent for one call and cannot be kept: spans taken from it end with it. Pixels are
/// those that the lane before sealed; reading what `configure` did not declare stops the program with a
/// sentence (`docs/traps.md`).
@safe
public struct FrameView: ~Copyable {
  @usableFromInline let storage: UnsafeMutablePointer<FrameStorage>
  /// Which copy of the record is this lane's own.
  @usableFromInline let lane: RecordIndex
  /// The image version that is read, and the one that may be written.
  let version: VersionIndex
  let written: VersionIndex?
  let isInPlace: Bool
  /// The format of the pixels that are read; that of `edit()` is what `configure` returned.
  public let format: FrameFormat
  let writtenFormat: FrameFormat
  /// Kept by whoever lends the view.
  private unowned(unsafe) let knownOrigin: FrameOrigin?
  /// What may be read of the pixels.
  let parts: FrameParts
  /// By how much `reducedImage` is reduced.
  public let imageScale: LumaScale
  /// How many other frames were declared to be read.
  let history: Int
  let lookahead: Int
  /// `nil` where events are not available: for stages of an order other than `.sequence`, and for
  /// the selectors and packers of sinks.
  let events: [Event]?
  /// The reports that the frame carries; `nil` for stages, which declare what they read.
  let reports: [ReportLayout]?
  /// The monotonic time at which the stage was entered. Stages have no other clock.
  public let now: Timestamp
  let neighbours: Neighbours

  public init(
    unsafeStorage storage: UnsafeMutablePointer<FrameStorage>, access: FrameAccess, now: Int64,
    neighbours: Neighbours, events: [Event]? = nil, reports: [ReportLayout]? = nil
  ) {
    unsafe self.storage = unsafe storage
    self.events = events
    self.reports = reports
    history = access.history
    lookahead = access.lookahead
    lane = access.lane
    version = access.version
    written = access.written
    isInPlace = access.isInPlace
    format = access.format
    writtenFormat = access.writtenFormat
    parts = access.parts
    imageScale = access.imageScale
    unsafe knownOrigin = access.origin
    self.now = Timestamp(nanoseconds: now, clock: .monotonic)
    unsafe self.neighbours = neighbours
  }

  /// Number, time and camera settings of the frame.
  public var record: FrameRecord { unsafe storage.pointee.records[lane] }

  /// The frame's camera, and the date of its film, in a sink; unknown for stages.
  public var origin: FrameOrigin { unsafe knownOrigin ?? .unknown }

  /// Nanoseconds from `captured` to `now`; `nil` where the source's clock is not monotonic.
  public var age: Int64? { now.nanoseconds(since: record.captured) }

  /// An event that this stage or sink receives with this frame, the oldest first: the events of the
  /// frame, and of earlier frames that did not reach this stage or sink. For stages of the order
  /// `.sequence`, and for a sink's `write` and `account`.
  public func event(_ index: Int) -> Event {
    let events = receivedEvents
    contract(
      index >= 0 && index < events.count,
      "asks for event \(index), and there are \(events.count); the first is 0, count to `eventCount`"
    )
    return events[index]
  }
  /// Number of events that `event(_:)` has for this frame.
  public var eventCount: Int { receivedEvents.count }

  private var receivedEvents: [Event] {
    guard let events else {
      contractBroken(
        "reads events, which its threads cannot receive in order; give the stage the order .sequence, in a "
          + "sink read them in `write` and `account`")
    }
    return events
  }

  /// Stores this stage's report; the last one counts.
  @inlinable
  public mutating func write<Report>(_ report: Report, _ writer: ReportWriter<Report>) {
    unsafe storage.pointee.reports.storeBytes(
      of: report, toByteOffset: writer.slot.offset, as: Report.self)
    unsafe storage.pointee.records[lane].reported |= writer.slot.bit
  }

  /// An earlier stage's report on this frame; `nil` if it made none.
  @inlinable
  public func read<Report>(_ reader: ReportReader<Report>) -> Report? {
    guard unsafe storage.pointee.records[lane].reported & reader.slot.bit != 0 else { return nil }
    return unsafe storage.pointee.reports.load(fromByteOffset: reader.slot.offset, as: Report.self)
  }
}

extension FrameView {
  /// The report of that type, in a sink; `nil` where no stage of the chain makes it, or none did on this
  /// frame. Of several stages with the same report, the first one's.
  public func report<Report: FrameReport>(_ type: Report.Type) -> Report? {
    guard let reports else {
      contractBroken(
        "reads a report by its type, which is for sinks; declare `setup.reader(\(type).self, from:)` in "
          + "configure, and read that")
    }
    for layout in reports where layout.type == type {
      return read(ReportReader(slot: layout.slot))
    }
    return nil
  }

  /// One number of any report, bit for bit, for sinks that write them all; `nil` where the stage
  /// made none on this frame. `index` counts within a field of many numbers.
  @inlinable
  public func value<Value: BitwiseCopyable>(
    _ field: ReportFieldDescription, of layout: ReportLayout, index: Int = 0, as type: Value.Type
  ) -> Value? {
    if index < 0 || index >= field.kind.count || MemoryLayout<Value>.size != field.kind.size {
      wrongValue(field, index: index, size: MemoryLayout<Value>.size)
    }
    guard unsafe storage.pointee.records[lane].reported & layout.slot.bit != 0 else { return nil }
    let offset = layout.slot.offset + field.offset + index * MemoryLayout<Value>.stride
    return unsafe storage.pointee.reports.load(fromByteOffset: offset, as: Value.self)
  }
}

extension FrameView {
  /// Copies a report as it lies in memory to the start of `bytes`; false where the stage made none on this
  /// frame. `bytes` holds `layout.byteCount`.
  package func copyReport(_ layout: ReportLayout, into bytes: inout MutableSpan<UInt8>) -> Bool {
    guard unsafe storage.pointee.records[lane].reported & layout.slot.bit != 0 else { return false }
    let count = min(layout.byteCount, bytes.count)
    for index in 0..<count {
      bytes[index] = unsafe storage.pointee.reports.load(
        fromByteOffset: layout.slot.offset + index, as: UInt8.self)
    }
    return true
  }
}

extension FrameView {
  /// The bytes of a text of a list's item; none if the stage made no report on this frame.
  @_lifetime(borrow self)
  package func bytes(
    _ text: ReportText, in list: ReportListKind, of layout: ReportLayout
  ) -> Span<UInt8> {
    let isReported = unsafe storage.pointee.records[lane].reported & layout.slot.bit != 0
    let range = text.range(within: isReported ? list.textsCapacity : 0)
    let offset = layout.slot.offset + list.textsOffset + range.lowerBound
    let start = unsafe UnsafeRawPointer(storage.pointee.reports) + offset
    let span = unsafe Span<UInt8>(
      _unsafeStart: start.assumingMemoryBound(to: UInt8.self), count: range.count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }
}

@usableFromInline @inline(never)
func wrongValue(_ field: ReportFieldDescription, index: Int, size: Int) -> Never {
  contractBroken(
    "reads number \(index), of \(size) bytes, of the report's field `\(field.name)`, which has "
      + "\(field.kind.count) of \(field.kind.size); go by the field's `kind`")
}

/// Which pixels a stage or a sink reads and writes; worked out by the engine at configure.
public struct FrameAccess: Sendable {
  public var lane: RecordIndex
  public var version: VersionIndex
  public var written: VersionIndex?
  public var isInPlace: Bool
  public var format: FrameFormat
  /// What a writer makes of it; may differ for `.nextImage`, and does for `.firstImage`.
  public var writtenFormat: FrameFormat
  public var parts: FrameParts
  /// By how much the image of `version` is reduced.
  public var imageScale = LumaScale.full
  /// How many frames before and after this one may be read.
  public var history = 0
  public var lookahead = 0
  /// Where frames come from; whoever lends a view keeps it. `nil` for stages.
  public var origin: FrameOrigin?

  public init(
    lane: RecordIndex, version: VersionIndex, written: VersionIndex? = nil, isInPlace: Bool = false,
    format: FrameFormat,
    writtenFormat: FrameFormat? = nil,
    parts: FrameParts
  ) {
    self.lane = lane
    self.version = version
    self.written = written
    self.isInPlace = isInPlace
    self.format = format
    self.writtenFormat = writtenFormat ?? format
    self.parts = parts
  }
}

/// The intact frames around one, nearest first: `earlier` of them, then `later`.
@unsafe
public struct Neighbours: BitwiseCopyable {
  public var frames: UnsafeMutablePointer<UnsafeMutablePointer<FrameStorage>>?
  public var earlier: Int
  public var later: Int

  public init(
    frames: UnsafeMutablePointer<UnsafeMutablePointer<FrameStorage>>?, earlier: Int, later: Int
  ) {
    unsafe self.frames = unsafe frames
    unsafe self.earlier = earlier
    unsafe self.later = later
  }

  public static var none: Neighbours { unsafe Neighbours(frames: nil, earlier: 0, later: 0) }
}

/// Another frame, read only, as the lane before sealed it.
@safe
public struct NeighbourFrame: ~Escapable {
  let storage: UnsafeMutablePointer<FrameStorage>
  /// The lane before the one that looks: what it sealed is what is seen.
  let lane: RecordIndex
  let version: VersionIndex
  let parts: FrameParts
  /// The format of its pixels, which is that of the frame that looks.
  public let format: FrameFormat

  @_lifetime(borrow frame)
  init(_ storage: UnsafeMutablePointer<FrameStorage>, of frame: borrowing FrameView) {
    unsafe self.storage = unsafe storage
    lane = frame.lane.previous
    version = frame.version
    parts = frame.parts
    format = frame.format
  }

  /// Number, time and camera settings of that frame.
  public var record: FrameRecord { unsafe storage.pointee.records[lane] }

  /// An earlier stage's report on that frame; `nil` if it made none.
  public func read<Report>(_ reader: ReportReader<Report>) -> Report? {
    guard unsafe storage.pointee.records[lane].reported & reader.slot.bit != 0 else { return nil }
    return unsafe storage.pointee.reports.load(fromByteOffset: reader.slot.offset, as: Report.self)
  }
}
