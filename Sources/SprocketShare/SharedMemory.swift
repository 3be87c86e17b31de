internal import CSprocketSystem
internal import Glibc
package import SprocketCore
internal import SprocketFiles
internal import Synchronization

/// Memory that one program writes and others read: a header of one page, then slots. `docs/share.md` has
/// its layout.
///
/// A slot's first two words tell which notice it belongs to: the first is set before the slot is written,
/// the second after. A reader that finds both equal to the notice's ticket, before and after it has read,
/// has read what belongs to that notice. Both words are atomic. Setting the first is a read-modify-write
/// that acquires, so that no write to the slot moves before it; setting the second releases.
@safe
package final class SharedMemory {
  /// Most slots, a bit of a word each.
  package static let mostSlots = 8
  /// Bytes before the first slot.
  static let headerBytes = 4096
  /// Bytes at a slot's start.
  package static let slotHeaderBytes = 64
  /// "SPRKSHM1" as bytes in memory.
  private static let magic: UInt64 = 0x314D_4853_4B52_5053

  /// What the header says of the writer.
  package enum State: UInt32 {
    case writing = 1
    case ended, replaced, failed
  }

  /// What readers are sent.
  let descriptor: Int32
  package let slotBytes: Int
  package let slotCount: Int
  private let base: UnsafeMutableRawPointer
  package var byteCount: Int { Self.byteCount(slotBytes: slotBytes, slotCount: slotCount) }

  package static func byteCount(slotBytes: Int, slotCount: Int) -> Int {
    headerBytes + slotCount * slotBytes
  }

  /// `slotBytes` is a multiple of 4096, and `slotCount` 2 to ``mostSlots``. Throws where there is no memory.
  /// The corresponding C functions are `memfd_create`, `fallocate`, `mmap`, `fcntl` and `open`.
  package init(slotBytes: Int, slotCount: Int) throws(RunError) {
    precondition(slotBytes > 0 && slotBytes % 4096 == 0, "slots are whole pages")
    precondition(2...Self.mostSlots ~= slotCount, "two slots at least")
    let size = Self.byteCount(slotBytes: slotBytes, slotCount: slotCount)
    let writable = unsafe sprocket_make_memory("sprocket-frames", Int64(size))
    guard writable >= 0 else { throw Self.failure(size, -writable) }
    defer { close(writable) }
    let mapped = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0)
    guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
      throw Self.failure(size, errno)
    }
    // A descriptor of its own, which can only read: that of `memfd_create` can write.
    let sealed = sprocket_seal_memory(writable)
    let readable = unsafe open("/proc/self/fd/\(writable)", O_RDONLY | O_CLOEXEC)
    guard sealed == 0, readable >= 0 else {
      let code = sealed < 0 ? -sealed : errno
      if readable >= 0 { close(readable) }
      unsafe munmap(mapped, size)
      throw Self.failure(size, code)
    }
    unsafe base = unsafe mapped
    descriptor = readable
    (self.slotBytes, self.slotCount) = (slotBytes, slotCount)
    unsafe base.storeBytes(of: Self.magic, as: UInt64.self)
    unsafe base.storeBytes(of: 1, toByteOffset: 8, as: UInt32.self)
    unsafe base.storeBytes(of: UInt32(slotCount), toByteOffset: 12, as: UInt32.self)
    unsafe base.storeBytes(of: UInt64(slotBytes), toByteOffset: 16, as: UInt64.self)
    unsafe base.storeBytes(of: UInt64(Self.headerBytes), toByteOffset: 24, as: UInt64.self)
    set(.writing)
  }

  deinit {
    unsafe munmap(base, byteCount)
    close(descriptor)
  }

  private static func failure(_ size: Int, _ code: Int32) -> RunError {
    RunError(
      .failed,
      "cannot make \(max(size >> 20, 1)) MB of shared memory: \(RunError.text(code)); use smaller frames or "
        + "tensors", change: .size)
  }

  private func word(at offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  package func set(_ state: State) {
    unsafe word(at: 72).pointee.store(UInt64(state.rawValue), ordering: .releasing)
  }

  /// Stores the counts of all frames since the sink began.
  package func set(_ totals: FateTotals) {
    for fate in totals.indices {
      unsafe word(at: 80 + 8 * fate).pointee.store(totals[fate], ordering: .releasing)
    }
    unsafe word(at: 64).pointee.store(totals[0], ordering: .releasing)
  }

  private func offset(ofSlot index: Int) -> Int {
    precondition(index >= 0 && index < slotCount)
    return Self.headerBytes + index * slotBytes
  }

  /// Before the slot is written.
  package func begin(slot index: Int, ticket: UInt64) {
    _ = unsafe word(at: offset(ofSlot: index)).pointee.exchange(
      ticket, ordering: .acquiringAndReleasing)
  }

  /// After the slot was written.
  package func end(slot index: Int, ticket: UInt64) {
    unsafe word(at: offset(ofSlot: index) + 8).pointee.store(ticket, ordering: .releasing)
  }

  /// Calls `body` with bytes of a slot.
  package func write<Result, Failure: Error>(
    slot index: Int, _ range: Range<Int>,
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(
      range.lowerBound >= Self.slotHeaderBytes && range.upperBound <= slotBytes,
      "writes beyond a slot")
    let start = unsafe (base + offset(ofSlot: index) + range.lowerBound)
      .assumingMemoryBound(to: UInt8.self)
    var bytes = unsafe MutableSpan(_unsafeStart: start, count: range.count)
    return try body(&bytes)
  }
}
