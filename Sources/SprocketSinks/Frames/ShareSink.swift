internal import Glibc
internal import SprocketCodecs
public import SprocketCore
internal import SprocketFiles
internal import SprocketShare
internal import Synchronization

/// `--share`: frames for other programs, in memory that they read where it is (`docs/share.md`).
///
/// Each frame is converted straight into shared memory, together with its header and its reports, and each
/// reader is told by a packet of 32 bytes. A reader takes the latest frames and holds nobody up, or every
/// one, and then it acknowledges them. Readers come and go; while there is none, frames are `unselected`.
public final class ShareSink: Sink, RenamedSink {
  public internal(set) var name = "share"
  private let settings: ShareSettings
  private let readers: ShareReaders
  private let given: GivenDescriptor?
  private var memory: SharedMemory?
  private var layout: ShareLayout?
  private var packer: TensorPacker?
  private var header = FrameHeader()
  private var slot = 0
  private var ticket: UInt64 = 0
  /// Frames in the slot that is being filled.
  private var filled = 0
  /// Sum of `between` of the headers in that slot.
  private var batchBetween = InlineArray<12, UInt32>(repeating: 0)
  /// Layout of the next epoch, its JSON, and its `isGated`; `nil` if the layout does not change.
  private var next: (layout: ShareLayout, text: [UInt8], takesEvery: Bool, isGated: Bool)?
  private var hasFailed = false
  /// Whether frames wait for readers.
  private var isGated = false
  private let isInterrupted = Atomic<Bool>(false)
  public private(set) var replacedCount: UInt64 = 0

  /// Readers connect at a Unix socket: `name` itself if it has a `/`, else `NAME` in the folder of this
  /// user's shares. Throws if the name cannot be used.
  public init(named name: String, _ settings: ShareSettings = ShareSettings()) throws(RunError) {
    self.settings = settings
    let path = try ShareFolder.path(of: name)
    let listener = try ListeningSocket(path: path, .packets, owner: "share")
    readers = ShareReaders(listener, patience: settings.patience)
    given = nil
  }

  /// One reader, at the other end of a socket (`SOCK_SEQPACKET`) that this program was started with. The
  /// sink ends when the reader goes.
  public init(descriptor: Int32, _ settings: ShareSettings = ShareSettings()) throws(RunError) {
    self.settings = settings
    readers = try ShareReaders(descriptor: descriptor, patience: settings.patience)
    given = nil
  }

  /// Shares with one reader at a given descriptor, which stays free if the run refuses this sink.
  init(_ given: GivenDescriptor, _ settings: ShareSettings) throws(RunError) {
    self.settings = settings
    readers = try ShareReaders(descriptor: given.copy, patience: settings.patience)
    self.given = given
  }

  public var notes: [String] { (layout?.plan.notes(of: name) ?? []) + readers.notes }

  /// Frames that were shared, and acknowledged where they waited for readers.
  public var durableCount: UInt64 { readers.totals[0] - readers.unacknowledgedCount }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    let takesEvery = settings.take.map { $0 == .every } ?? !setup.isLive
    let waits = takesEvery && !setup.isLive
    let plan = try TensorPlan(
      settings.usedTensor, for: setup.format, untouched: setup.untouchedSource)
    try setup.reads(plan.parts)
    setup.takesLatest = !takesEvery
    let new = ShareLayout(
      plan, reports: setup.reports, batch: settings.batch, slots: settings.slots)
    setup.ownBytes = new.byteCount
    let text = new.text(setup, every: takesEvery)
    guard new.isSame(as: layout) else {
      next = (new, text, takesEvery, waits)
      return
    }
    next = nil
    isGated = waits
    readers.refresh(text, every: takesEvery)
  }

  /// Makes the memory of a new layout. Called with the epoch's first frame, because the engine checks the
  /// run's memory after `configure`.
  private func open() throws(RunError) {
    guard let (new, text, takesEvery, waits) = next.take() else { return }
    given?.use()
    try publishBatch()
    if isGated, memory != nil { try waitUntilRead() }
    readers.withdraw()
    memory = nil
    let memory = try SharedMemory(slotBytes: new.slotBytes, slotCount: new.slots)
    readers.publish(text, memory, every: takesEvery, waits: waits)
    (self.memory, layout, isGated) = (memory, new, waits)
    let packer = TensorPacker(new.plan)
    for slot in 0..<settings.slots {
      for frame in 0..<settings.batch {
        memory.write(slot: slot, new.payloadRange(frame: frame)) { packer.pad(&$0) }
      }
    }
    self.packer = packer
    header.layout = FrameLayoutCode(new.plan)
    header.payloadBytes = new.plan.byteCount
    header.pictureFromTensor = new.plan.pictureFromTensor(region: 0)
    slot = settings.slots - 1
  }

  public func account(_ lost: LostFrame) throws(RunError) {
    try orFail { () throws(RunError) in try open() }
    readers.serve()
    note(lost.fate)
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    do throws(RunError) {
      try share(frame)
    } catch {
      hasFailed = true
      throw error
    }
  }

  private func share(_ frame: borrowing PackedFrame) throws(RunError) {
    try open()
    readers.serve()
    guard readers.canHaveReaders else { throw readerGone }
    while isGated {
      if readers.everyCount == 0 { try waitForReader() }
      if filled == 0 { try waitForSlots(free: 2) }
      // The last one may have been disconnected meanwhile.
      if readers.everyCount > 0 { break }
    }
    guard readers.count > 0 else {
      discardBatch()
      note(.unselected)
      replacedCount += 1
      return
    }
    if filled == 0 { try takeSlot() }
    try fill(frame)
    if filled == settings.batch { try publishBatch() }
  }

  /// Gives up an incomplete batch: its frames would be old when the next reader connects.
  private func discardBatch() {
    for fate in header.between.indices { header.between[fate] &+= batchBetween[fate] }
    for _ in 0..<filled { note(.unselected) }
    replacedCount += UInt64(filled)
    batchBetween = InlineArray(repeating: 0)
    filled = 0
  }

  /// Counts a frame that is not shared.
  private func note(_ fate: Fate) {
    header.note(fate)
    readers.count(fate)
  }

  public func finish() throws(RunError) {
    given?.use()
    defer { readers.end(hasFailed ? .failed : .ended) }
    guard !hasFailed else { return }
    try orFail { () throws(RunError) in
      try publishBatch()
      if isGated { try waitUntilRead() }
    }
    let lost = readers.unacknowledgedCount
    guard lost == 0 else {
      throw RunError(
        .readerGone,
        "\(name): \(lost) frames were not acknowledged by the readers that left with them")
    }
  }

  /// Sets `hasFailed` if `body` throws. The memory's state then tells readers that the run has not ended.
  private func orFail(_ body: () throws(RunError) -> Void) throws(RunError) {
    do throws(RunError) {
      try body()
    } catch {
      hasFailed = true
      throw error
    }
  }

  public func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  // MARK: Slots

  /// Chooses the next slot to fill: one that no reader holds.
  private func takeSlot() throws(RunError) {
    // One slot is never held, see `ShareReaders.notify`.
    guard let free = readers.freeSlot(behind: slot) else { throw readerGone }
    slot = free
    ticket += 1
    memory?.begin(slot: slot, ticket: ticket)
  }

  private func fill(_ frame: borrowing PackedFrame) throws(RunError) {
    guard let memory, let layout, let packer else { return }
    let isPacked = memory.write(slot: slot, layout.payloadRange(frame: filled)) { bytes in
      packer.packPadded(frame.view, into: &bytes) != nil
    }
    guard isPacked else {
      throw RunError(.failed, "a frame could not be made into what the share asks for")
    }
    header.record = frame.record
    header.sensorMap = frame.view.sensorMap
    header.handedOn = monotonicNow()
    var reported: UInt64 = 0
    memory.write(slot: slot, layout.headerRange(frame: filled)) { bytes in
      for index in layout.reports.indices {
        var part = bytes._mutatingExtracting(layout.reportOffsets[index]...)
        if frame.view.copyReport(layout.reports[index], into: &part) {
          reported |= 1 << UInt64(index)
        }
      }
      header.reported = reported
      header.encode(into: &bytes)
      for fate in readers.totals.indices {
        let batched = fate == 0 ? UInt64(filled) : 0
        bytes.put(readers.totals[fate] + batched, at: ShareLayout.totalsOffset + 8 * fate)
      }
    }
    for fate in header.between.indices { batchBetween[fate] &+= header.between[fate] }
    header.forget()
    filled += 1
  }

  /// Ends the slot, and tells the readers.
  private func publishBatch() throws(RunError) {
    guard filled > 0, let memory else { return }
    memory.end(slot: slot, ticket: ticket)
    readers.notify(slot: slot, ticket: ticket, frames: filled, waits: isGated)
    filled = 0
    batchBetween = InlineArray(repeating: 0)
  }

  // MARK: Waiting

  /// Milliseconds between two looks at whether the run ends. Larger: fewer wake-ups, a later end.
  private static let tick: Int32 = 50

  /// Waits for a reader that takes every frame.
  private func waitForReader() throws(RunError) {
    let end = monotonicNow() &+ settings.patience.nanosecondCount
    while readers.everyCount == 0 {
      guard !isInterrupted.load(ordering: .relaxed), readers.canHaveReaders else {
        throw readerGone
      }
      guard monotonicNow() < end else {
        throw RunError(
          .failed,
          "no reader of every frame connected to the share within \(settings.patience.settingText), and "
            + "frames wait for one; start the reader, give patience more time, or give take=latest")
      }
      readers.wait(milliseconds: Self.tick)
      readers.serve()
    }
  }

  /// Waits until so many slots are free. A reader that gives none back for `patience` is disconnected.
  private func waitForSlots(free count: Int) throws(RunError) {
    try wait { readers.freeSlotCount >= count }
  }

  /// Waits until readers of every frame have acknowledged all.
  private func waitUntilRead() throws(RunError) {
    try wait { readers.readSlotCount == settings.slots }
  }

  private func wait(until isDone: () -> Bool) throws(RunError) {
    while !isDone() {
      guard !isInterrupted.load(ordering: .relaxed) else { throw readerGone }
      readers.wait(milliseconds: Self.tick)
      readers.serve(waits: true)
    }
  }

  private var readerGone: RunError { RunError(.readerGone, "the reader of the share has gone") }
}
