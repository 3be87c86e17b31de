internal import Glibc
internal import SprocketCore

/// The packed bytes of the latest frames, for recordings that begin before they were asked for.
///
/// Keeps of the contract of requests:
/// - A14: the history is bounded in time and in bytes, and lies in one mapping. To make room for a new frame,
///   it drops the oldest ones. The mapping has twice as much address space as bytes may be kept, so that a
///   new frame always fits behind the newest one, or at the mapping's start. Pages that no kept frame uses
///   are given back to the system, so that little more memory is resident than is kept.
///
/// Lost frames have entries, too, without bytes: a recording's record counts their fates.
///
/// It allocates only when it holds more frames than ever before.
@safe
final class PacketHistory {
  struct Entry {
    var record: FrameRecord
    /// The fate of a lost frame; `nil` for a frame that is kept.
    var fate: Fate?
    /// Whether the sink's account has a kept frame already: a recording has it.
    var isCounted = false
    fileprivate var offset = 0
    var count = 0

    /// Whether this is a kept frame that was captured at `time` or later.
    func isKept(from time: Timestamp?) -> Bool {
      guard fate == nil, let time else { return false }
      return record.captured.nanoseconds(since: time).map { $0 >= 0 } ?? false
    }
  }

  let duration: Int64
  /// Nanoseconds for which frames are kept.
  private let kept: Int64
  /// Whether the last frame before that time is kept, too: it is the one at or before the time's start.
  private let keepsEdge: Bool
  private let capacity: Int
  private let mappedBytes: Int
  private let memory: UnsafeMutableRawPointer
  /// Entries in order from `first`, which moves on as they are dropped.
  private(set) var entries: [Entry] = []
  private(set) var first = 0
  /// Offset of the next frame, unless it does not fit before the mapping's end.
  private var tail = 0
  /// Pages below this offset, from the mapping's start or from `tail` on, were given back.
  private var released = 0
  private(set) var keptBytes = 0
  /// When the latest frame was captured that is not kept any more.
  private(set) var latestDropped: Timestamp?
  /// Number of that frame.
  private var latestDroppedNumber: UInt64?
  /// Frames were dropped because of the limit of bytes, before their time was over.
  var wasShortened = false

  init(_ limits: PreRoll) throws(RunError) {
    duration = limits.duration.nanosecondCount
    kept = duration.addingReportingOverflow(limits.slack.nanosecondCount).partialValue
    keepsEdge = limits.use == .choices
    capacity = limits.bytes
    mappedBytes = 2 * (capacity + FrameMemory.page - 1) / FrameMemory.page * FrameMemory.page
    guard let mapped = unsafe SystemMemory.map(mappedBytes) else {
      throw RunError(
        .failed,
        "cannot reserve \(mappedBytes >> 20) MB of address space for the pre-roll; give it less memory"
      )
    }
    unsafe memory = unsafe mapped
  }

  deinit { unsafe munmap(memory, mappedBytes) }

  /// The oldest frame.
  var oldest: Entry? { first < entries.count ? entries[first] : nil }
  private var newest: Entry? { first < entries.count ? entries[entries.count - 1] : nil }

  /// Returns the time at which the pre-roll begins of a recording that was asked for at frame `number`. It is
  /// counted back from the first kept frame from `number` on; if there is none, from `captured`.
  func start(from number: UInt64, captured: Timestamp?) -> Timestamp? {
    let entry = entries[first...].first { $0.fate == nil && $0.record.number >= number }
    guard var time = entry?.record.captured ?? captured ?? newest?.record.captured else {
      return nil
    }
    time.nanoseconds = time.nanoseconds.subtractingReportingOverflow(duration).partialValue
    return time
  }

  /// Number of the key frame with which a recording begins that should have the frames from `start` on: the
  /// last one at or before that, or else the first; `nil` if none is kept.
  func key(for start: Timestamp?) -> UInt64? {
    let keys = entries[first...].filter { $0.fate == nil && $0.record.isKey }
    let before = keys.last { entry in
      start.flatMap { entry.record.captured.nanoseconds(since: $0) }.map { $0 <= 0 } ?? false
    }
    return (before ?? keys.first)?.record.number
  }

  /// Whether `count` bytes can be kept without dropping a frame.
  func hasRoom(for count: Int) -> Bool { keptBytes + count <= capacity }

  /// Keeps a frame's bytes. Returns how many frames were dropped for it; the frame itself is among them if it
  /// is larger than the memory. With `forgets`, frames that are too old are dropped as well.
  /// `isCounted`: the sink's account has the frame already. `byKeys`: a frame is of use with all frames from
  /// the key frame before it, so these are not too old before it is.
  func add(
    _ record: FrameRecord, _ bytes: Span<UInt8>, forgets: Bool = true, isCounted: Bool = false,
    byKeys: Bool = false
  ) -> UInt64 {
    var dropped: UInt64 = 0
    // If the clock has gone back, all earlier frames are dropped.
    while forgets, isTooOld(at: record.captured), !byKeys || hasLaterKey(at: record.captured) {
      dropped += dropOldest()
    }
    while keptBytes + bytes.count > capacity, oldest != nil {
      wasShortened = true
      dropped += dropOldest()
    }
    guard bytes.count <= capacity else {
      noteDropped(record)
      return isCounted ? dropped : dropped + 1
    }
    releasePages()
    let place = tail + bytes.count <= mappedBytes ? tail : 0
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (memory + place).copyMemory(from: start, byteCount: source.count)
    }
    tail = place + bytes.count
    keptBytes += bytes.count
    append(Entry(record: record, isCounted: isCounted, offset: place, count: bytes.count))
    return dropped
  }

  /// Whether the oldest frame is not needed any more when one of time `now` comes.
  private func isTooOld(at now: Timestamp) -> Bool {
    func age(_ index: Int) -> Int64 { now.nanoseconds(since: entries[index].record.captured) ?? -1 }
    guard first < entries.count, !(0...kept ~= age(first)) else { return false }
    let isEdge = age(first) > kept && (first + 1 == entries.count || 0...kept ~= age(first + 1))
    return !(keepsEdge && isEdge)
  }

  /// Whether a key frame behind the oldest entry is too old as well.
  private func hasLaterKey(at now: Timestamp) -> Bool {
    entries[first...].dropFirst().first { $0.fate == nil && $0.record.isKey }.map { entry in
      now.nanoseconds(since: entry.record.captured).map { !(0...kept ~= $0) } ?? true
    } ?? false
  }

  /// Adds an entry for a lost frame. Returns how many kept frames were dropped for it.
  func addLost(_ lost: LostFrame) -> UInt64 {
    guard let newest else { return 0 }
    var dropped: UInt64 = 0
    while entries.count - first >= Self.mostEntries { dropped += dropOldest() }
    var record = FrameRecord()
    record.number = lost.number
    record.sequence = lost.sequence
    record.epoch = lost.epoch
    record.captured = newest.record.captured
    append(Entry(record: record, fate: lost.fate, offset: newest.offset + newest.count))
    return dropped
  }

  /// Most entries, of kept and lost frames. Larger: lost frames of a longer time are counted, at 140 bytes
  /// each. 65,536 are 18 minutes at 60 frames/s.
  private static let mostEntries = 1 << 16

  func withBytes<Failure: Error>(
    of entry: Entry, _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    let bytes = unsafe UnsafeRawBufferPointer(start: memory + entry.offset, count: entry.count)
    let buffer = unsafe bytes.assumingMemoryBound(to: UInt8.self)
    try unsafe body(Span(_unsafeElements: buffer))
  }

  /// Removes the oldest entry. Returns 1 if it was a kept frame without a fate so far, else 0.
  func dropOldest() -> UInt64 {
    guard let entry = removeOldest() else { return 0 }
    if entry.fate == nil { noteDropped(entry.record) }
    return entry.fate == nil && !entry.isCounted ? 1 : 0
  }

  private func noteDropped(_ record: FrameRecord) {
    (latestDropped, latestDroppedNumber) = (record.captured, record.number)
  }

  /// Whether the frame of that number, or one behind it, is not kept any more.
  func hasDropped(from number: UInt64) -> Bool { latestDroppedNumber.map { $0 >= number } ?? false }

  /// Notes that the sink's account has the frame of an entry now.
  func noteCounted(_ index: Int) { entries[index].isCounted = true }

  /// Removes the oldest entry. Its bytes can be read until the next `add`.
  func removeOldest() -> Entry? {
    guard let entry = oldest else { return nil }
    keptBytes -= entry.count
    first += 1
    if first == entries.count {
      entries.removeAll(keepingCapacity: true)
      first = 0
    }
    return entry
  }

  private func append(_ entry: Entry) {
    // Entries are moved to the front only when half of all were dropped: moving then costs little per frame.
    if entries.count == entries.capacity, first > entries.count / 2 {
      entries.removeFirst(first)
      first = 0
    }
    entries.append(entry)
  }

  /// Gives pages that no kept frame uses back to the system. The corresponding C function is `madvise`.
  private func releasePages() {
    guard let start = oldest?.offset else {
      release(0..<mappedBytes)
      (tail, released) = (0, 0)
      return
    }
    if start < released {
      // The oldest frame lies at the mapping's start again.
      release(released..<mappedBytes)
      released = 0
    }
    let end = start / FrameMemory.page * FrameMemory.page
    release(released..<max(released, end))
    released = max(released, end)
  }

  private func release(_ bytes: Range<Int>) {
    if !bytes.isEmpty { unsafe madvise(memory + bytes.lowerBound, bytes.count, MADV_DONTNEED) }
  }
}
