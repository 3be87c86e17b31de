internal import Glibc
internal import SprocketCore

/// The packed bytes of the latest frames, for recordings that begin before they were asked for.
///
/// Keeps of the contract of requests:
/// - A14: bounded in time and in bytes, in one mapping. A frame that does not fit makes room by dropping the
///   oldest ones. The mapping has twice as much address space as bytes may be kept, so that a frame always
///   has room behind the newest, or at the start. Pages behind the oldest frame go back to the system, so
///   that little more is resident than what is kept.
///
/// Frames that were lost are kept too, without bytes, so that a recording's record has their fates.
///
/// Allocates only until it holds as many frames as ever.
@safe
final class PacketHistory {
  struct Entry {
    var record: FrameRecord
    /// `nil` for a frame that is kept; else its fate.
    var fate: Fate?
    fileprivate var offset = 0
    var count = 0

    /// A kept frame that was captured at `time` or later.
    func isKept(from time: Timestamp?) -> Bool {
      guard fate == nil, let time else { return false }
      return record.captured.nanoseconds(since: time).map { $0 >= 0 } ?? false
    }
  }

  let duration: Int64
  /// Nanoseconds for which frames are kept.
  private let kept: Int64
  private let capacity: Int
  private let mappedBytes: Int
  private let memory: UnsafeMutableRawPointer
  /// Entries in order from `first`, which moves on as they are dropped.
  private var entries: [Entry] = []
  private var first = 0
  /// Where the next frame goes, unless it does not fit before the mapping's end.
  private var tail = 0
  /// Pages up to there, from the start or from `tail` on, were given back.
  private var released = 0
  private(set) var keptBytes = 0
  /// The bytes and not the time were the limit.
  var wasShortened = false

  /// The corresponding C function is `mmap`: pages are resident once they are written.
  init(_ limits: PreRoll) throws(RunError) {
    duration = limits.duration.nanosecondCount
    kept = duration.addingReportingOverflow(limits.slack.nanosecondCount).partialValue
    capacity = limits.bytes
    mappedBytes = 2 * (capacity + FrameMemory.page - 1) / FrameMemory.page * FrameMemory.page
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let mapped = unsafe mmap(nil, mappedBytes, PROT_READ | PROT_WRITE, flags, -1, 0)
    guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
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

  /// The time from which a recording that was asked for at a frame begins: its pre-roll before the oldest
  /// kept frame from `number` on; before `captured` if there is none.
  func start(from number: UInt64, captured: Timestamp?) -> Timestamp? {
    let entry = entries[first...].first { $0.fate == nil && $0.record.number >= number }
    guard var time = entry?.record.captured ?? captured ?? newest?.record.captured else {
      return nil
    }
    time.nanoseconds = time.nanoseconds.subtractingReportingOverflow(duration).partialValue
    return time
  }

  /// Whether so many bytes can be kept without dropping a frame, or never.
  func hasRoom(for count: Int) -> Bool { keptBytes + count <= capacity || count > capacity }

  /// Keeps a frame's bytes. Returns how many kept frames were dropped for it, itself included if it is
  /// larger than the memory. Unless it `forgets`, none is dropped for its age.
  func add(_ record: FrameRecord, _ bytes: Span<UInt8>, forgets: Bool = true) -> UInt64 {
    var dropped: UInt64 = 0
    // A clock that goes back begins anew.
    while forgets, let oldest,
      !(0...kept ~= record.captured.nanoseconds(since: oldest.record.captured) ?? -1)
    {
      dropped += removeOldest()?.fate == nil ? 1 : 0
    }
    while keptBytes + bytes.count > capacity, oldest != nil {
      wasShortened = true
      dropped += removeOldest()?.fate == nil ? 1 : 0
    }
    guard bytes.count <= capacity else { return dropped + 1 }
    releasePages()
    let place = tail + bytes.count <= mappedBytes ? tail : 0
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (memory + place).copyMemory(from: start, byteCount: source.count)
    }
    tail = place + bytes.count
    keptBytes += bytes.count
    append(Entry(record: record, offset: place, count: bytes.count))
    return dropped
  }

  /// Notes a frame that was lost. Returns how many kept frames were dropped for it.
  func addLost(_ lost: LostFrame) -> UInt64 {
    guard let newest else { return 0 }
    var dropped: UInt64 = 0
    while entries.count - first >= Self.mostEntries {
      dropped += removeOldest()?.fate == nil ? 1 : 0
    }
    var record = FrameRecord()
    record.number = lost.number
    record.sequence = lost.sequence
    record.epoch = lost.epoch
    record.captured = newest.record.captured
    append(Entry(record: record, fate: lost.fate, offset: newest.offset + newest.count))
    return dropped
  }

  /// Frames that are kept or noted. Larger: a source that loses frames for longer is remembered, at 140 bytes
  /// each.
  private static let mostEntries = 1 << 16

  func withBytes<Failure: Error>(
    of entry: Entry, _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    let bytes = unsafe UnsafeRawBufferPointer(start: memory + entry.offset, count: entry.count)
    let buffer = unsafe bytes.assumingMemoryBound(to: UInt8.self)
    try unsafe body(Span(_unsafeElements: buffer))
  }

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
    // Entries that were dropped make room only if they are half of all, so that moving costs little per
    // frame.
    if entries.count == entries.capacity, first > entries.count / 2 {
      entries.removeFirst(first)
      first = 0
    }
    entries.append(entry)
  }

  /// Gives pages back that only dropped frames used. The corresponding C function is `madvise`.
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
