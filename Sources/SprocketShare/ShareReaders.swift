internal import CSprocketSystem
internal import Glibc
package import SprocketCore
internal import SprocketFiles

/// The connections of the programs that read a `SharedMemory`. Accepts them, sends them layouts and notices,
/// and keeps which slots each of them holds.
///
/// All calls come from one thread. Only `wait` blocks. A reader that breaks the protocol is disconnected, and
/// a note reports it.
package final class ShareReaders {
  /// Most readers at a time. Larger: more programs read, and each frame costs a packet to each.
  package static let most = 64
  /// Nanoseconds within which a reader must send its first packet. Larger: slower readers are accepted, and
  /// a silent one occupies its place for longer.
  private static let patienceWithHello: Int64 = 2_000_000_000
  /// Most packets that are received from one reader per call. Larger: a reader that floods its socket delays
  /// the other readers for longer.
  private static let mostPackets = 64

  /// Pause in nanoseconds before the next try to accept a reader, after the program had no free descriptor. A
  /// larger value costs fewer failed tries, and connects readers later.
  private static let pauseWithoutDescriptors: Int64 = 50_000_000

  private let listener: ListeningSocket?
  /// Whether a reader may keep slots that it has acknowledged: of several, each would have to know what the
  /// others keep.
  var keepsSlots: Bool { listener == nil }
  /// Monotonic time in nanoseconds from which readers are accepted.
  private var acceptsFrom: Int64 = 0
  /// For how long a reader may hold slots and acknowledge none of them.
  private let patience: Duration
  private var readers: [ShareReader] = []
  private var layout: [UInt8] = []
  private var memory: SharedMemory?
  private var requests: [pollfd] = []
  var slots = ShareSlots()
  /// Counts of all frames so far, by fate.
  package private(set) var totals = FateTotals(repeating: 0)
  /// Whether readers that leave it to the share take every frame.
  private(set) var takesEvery = false
  /// What a user should know of readers that were disconnected, each once.
  package private(set) var notes: [String] = []

  /// Readers connect at `listener`.
  package init(_ listener: ListeningSocket, patience: Duration) {
    (self.listener, self.patience) = (listener, patience)
  }

  /// One reader, at the other end of a socket of packets that this program was started with.
  package init(descriptor: Int32, patience: Duration) throws(RunError) {
    (listener, self.patience) = (nil, patience)
    try Self.requireSocket(descriptor)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    readers.append(ShareReader(descriptor: descriptor, since: monotonicNow()))
  }

  deinit { end(.failed) }

  /// Disconnects all readers, which find `state` in their memory, and removes the name.
  package func end(_ state: SharedMemory.State) {
    // Closing a socket with unread packets would give the reader ECONNRESET instead of the end.
    for index in readers.indices { receive(&readers[index], monotonicNow()) }
    for reader in readers {
      reader.memory?.set(state)
      close(reader.descriptor)
    }
    readers.removeAll()
    listener?.removeName()
  }

  /// Readers that have said what they want.
  package var count: Int { readers.reduce(0) { $0 + ($1.takesEvery == nil ? 0 : 1) } }

  /// Of these, those that take every frame.
  package var everyCount: Int { readers.reduce(0) { $0 + ($1.takesEvery == true ? 1 : 0) } }

  /// Frames that waited for readers, and that no reader of every frame has acknowledged so far.
  package var unacknowledgedCount: UInt64 { slots.unacknowledgedCount }

  /// Whether there is, or can still be, a reader.
  package var canHaveReaders: Bool { listener != nil || !readers.isEmpty }

  /// Sends `layout` and the memory to all readers, and later to each new one. `layout` is a JSON object
  /// without `shared` and `totals`. Where frames wait, readers of every frame have received all, and get it
  /// at once.
  package func publish(_ layout: [UInt8], _ memory: SharedMemory, every: Bool, waits: Bool) {
    refresh(layout, every: every)
    self.memory = memory
    memory.set(totals)
    slots.replace()
    for index in readers.indices {
      (readers[index].held, readers[index].kept) = (0, 0)
      guard let takesEvery = readers[index].takesEvery else { continue }
      sendLayout(to: &readers[index], always: waits && takesEvery)
    }
    removeLeaving()
  }

  /// Releases the memory before `publish` is given another, so that without readers both never exist at once.
  /// It is kept for each reader until that has been sent the other.
  package func withdraw() {
    memory?.set(.replaced)
    memory = nil
  }

  /// Replaces the layout that new readers get; the memory stays the same.
  package func refresh(_ layout: [UInt8], every: Bool) {
    (self.layout, takesEvery) = (layout, every)
  }

  /// Adds frames to the count of their fate. `notify` counts those that are delivered.
  package func count(_ fate: Fate, _ frames: Int = 1) {
    totals[Int(fate.rawValue)] += UInt64(frames)
    memory?.set(totals)
    for reader in readers where reader.needsLayout { reader.memory?.set(totals) }
  }

  /// Accepts new readers, receives first packets and acknowledgements, and disconnects each reader that holds
  /// slots and has acknowledged none for `patience`; one of a descriptor only if frames wait (`waits`).
  package func serve(waits: Bool = false) {
    acceptReaders()
    let now = monotonicNow()
    for index in readers.indices {
      receive(&readers[index], now)
      if readers[index].needsLayout { sendLayout(to: &readers[index]) }
      guard waits || listener != nil, readers[index].held & ~readers[index].kept != 0,
        !readers[index].isLeaving,
        now - readers[index].progressed >= patience.nanosecondCount
      else { continue }
      dismiss(
        &readers[index],
        "it did not acknowledge a frame within \(patience.settingText): take frames faster, or give the "
          + "share more patience")
    }
    removeLeaving()
  }

  // MARK: Slots

  /// The first slot after `slot` that no reader holds; `nil` if readers hold all.
  package func freeSlot(behind slot: Int) -> Int? {
    let held = heldSlots
    for step in 1...slotCount {
      let candidate = (slot + step) % slotCount
      if held & 1 << UInt64(candidate) == 0 { return candidate }
    }
    return nil
  }

  var slotCount: Int { memory?.slotCount ?? SharedMemory.mostSlots }

  package var freeSlotCount: Int { slotCount - heldSlots.nonzeroBitCount }

  /// Slots that no reader has still to acknowledge.
  package var readSlotCount: Int {
    slotCount - readers.reduce(UInt64(0)) { $0 | $1.held & ~$1.kept }.nonzeroBitCount
  }

  /// A bit for each slot that a reader holds.
  private var heldSlots: UInt64 { readers.reduce(UInt64(0)) { $0 | $1.held } }

  /// Slots that readers of every frame may hold together where frames do not wait for them, and each of them
  /// holds more than one. Larger: these readers may pause for longer, and readers of the latest frames have
  /// less time before a frame is overwritten.
  private var mostHeld: Int { slotCount / 2 }

  /// Sends a notice of the slot to the readers; one slot stays free. If `waits` is false (frames do not wait
  /// for readers), a reader of every frame that holds its part of `mostHeld` gets no notice.
  package func notify(slot: Int, ticket: UInt64, frames: Int, waits: Bool) {
    count(.delivered, frames)
    let most = waits ? slotCount : max(1, mostHeld / max(everyCount, 1))
    let free = freeSlotCount
    slots.fill(slot: slot, ticket: ticket, waiting: waits ? frames : 0)
    let notice = ShareNotice(
      slot: UInt32(slot), ticket: ticket, sharedCount: totals[0], frames: UInt32(frames))
    for index in readers.indices {
      guard let takesEvery = readers[index].takesEvery, !readers[index].needsLayout else {
        continue
      }
      if takesEvery {
        let held = readers[index].held.nonzeroBitCount
        // One that holds none may exceed `mostHeld`: others that are stuck must not keep it from all frames.
        let reserve = waits || held == 0 ? 1 : slotCount - mostHeld
        if free <= reserve || held >= most { continue }
      }
      let result = unsafe withUnsafeBytes(of: notice.words) {
        unsafe sprocket_send_packet(readers[index].descriptor, $0.baseAddress, $0.count, -1)
      }
      if result == 0 { readers[index].lastSent = ticket }
      if takesEvery {
        if readers[index].held == 0 { readers[index].progressed = monotonicNow() }
        readers[index].held |= 1 << UInt64(slot)
      }
      // A reader that has closed leaves once its acknowledgements are received.
      if result == -EPIPE || result == -ECONNRESET { continue }
      if result != 0, takesEvery || result != -EAGAIN { readers[index].isLeaving = true }
    }
    removeLeaving()
  }

  /// Waits until a packet or a connection arrives, for `milliseconds` at most.
  package func wait(milliseconds: Int32) {
    requests.removeAll(keepingCapacity: true)
    for index in readers.indices {
      requests.append(pollfd(fd: readers[index].descriptor, events: Int16(POLLIN), revents: 0))
    }
    if let listener, monotonicNow() >= acceptsFrom {
      requests.append(pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0))
    }
    _ = unsafe poll(&requests, nfds_t(requests.count), milliseconds)
  }

  // MARK: Single readers

  private func acceptReaders() {
    guard let listener, monotonicNow() >= acceptsFrom else { return }
    while true {
      let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
      let descriptor = sprocket_accept(listener.descriptor, flags)
      guard descriptor >= 0 else {
        // Without descriptors or memory the socket stays ready, and a wait for it would not wait.
        if ![-EAGAIN, -EINTR, -ECONNABORTED].contains(descriptor) {
          acceptsFrom = monotonicNow() + Self.pauseWithoutDescriptors
        }
        return
      }
      let user = peerUser(of: descriptor)
      if user != geteuid(), user != 0 {
        refuse(descriptor, "this share is another user's")
      } else if readers.count >= Self.most {
        refuse(descriptor, "\(Self.most) programs read this share already; close one of them")
      } else {
        readers.append(ShareReader(descriptor: descriptor, since: monotonicNow()))
      }
    }
  }

  private func receive(_ reader: inout ShareReader, _ now: Int64) {
    for _ in 0..<Self.mostPackets {
      var words: InlineArray<3, UInt64> = [0, 0, 0]
      let count = unsafe withUnsafeMutableBytes(of: &words) { bytes in
        unsafe recv(reader.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
      }
      // A reader that closed with packets unread: its acknowledgements are still there.
      if count < 0, errno == EINTR || errno == ECONNRESET { continue }
      if count < 0, errno == EAGAIN { break }
      guard count > 0 else {
        reader.isLeaving = true
        return
      }
      guard count == 16, hear(words[0], words[1], from: &reader) else {
        return dismiss(&reader, "it sent what no reader sends")
      }
    }
    if reader.takesEvery == nil, now - reader.since > Self.patienceWithHello, listener != nil {
      dismiss(&reader, "it did not say within 2s which frames it takes")
    }
  }

  /// Unless `always`, waits until the reader has received all packets: a layout that it does not receive
  /// keeps its memory from being freed.
  func sendLayout(to reader: inout ShareReader, always: Bool = false) {
    guard let memory else { return }
    reader.needsLayout = !always && sprocket_unreceived(reader.descriptor) > 0
    guard !reader.needsLayout else { return }
    // The reader counts from here: earlier frames are not missed ones.
    let counts = totals.indices.map { "\(totals[$0])" }.joined(separator: ",")
    let holds = keepsSlots ? #""holds":1,"# : ""
    let text =
      Array(#"{"shared":\#(totals[0]),"totals":[\#(counts)],\#(holds)"#.utf8) + layout.dropFirst()
    let result = unsafe text.withUnsafeBytes {
      unsafe sprocket_send_packet(
        reader.descriptor, $0.baseAddress, $0.count, memory.descriptor)
    }
    reader.memory = memory
    if result != 0 { reader.isLeaving = true }
  }

  private func dismiss(_ reader: inout ShareReader, _ reason: String) {
    reader.isLeaving = true
    tell(reader.descriptor, "this reader was disconnected: \(reason)")
    let note = "share: a reader was disconnected: \(reason)"
    if !notes.contains(note) { notes.append(note) }
  }

  private func removeLeaving() {
    guard readers.contains(where: \.isLeaving) else { return }
    for reader in readers where reader.isLeaving { close(reader.descriptor) }
    readers.removeAll(where: \.isLeaving)
  }
}
