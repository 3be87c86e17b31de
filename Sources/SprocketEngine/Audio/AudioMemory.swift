internal import SprocketCore

/// The blocks of an audio engine's ring: a record and room for samples each, allocated before the first.
@safe
final class AudioMemory: @unchecked Sendable {
  // Unchecked: the ring's contract says which thread may touch which slot, and when.

  private let records: UnsafeMutablePointer<AudioRecord>
  private let bytes: UnsafeMutablePointer<UInt8>
  private let slotCount: Int
  private let slotBytes: Int

  init(slotCount: Int, slotBytes: Int, line: AudioLine) {
    self.slotCount = slotCount
    // So that words of 32 bits are aligned.
    self.slotBytes = (slotBytes + 3) / 4 * 4
    unsafe records = .allocate(capacity: slotCount)
    unsafe records.initialize(repeating: AudioRecord(line: line), count: slotCount)
    unsafe bytes = .allocate(capacity: slotCount * self.slotBytes)
  }

  deinit {
    unsafe records.deallocate()
    unsafe bytes.deallocate()
  }

  func record(_ slot: Int) -> AudioRecord {
    precondition(slot < slotCount)
    return unsafe records[slot]
  }

  func set(_ record: AudioRecord, slot: Int) {
    precondition(slot < slotCount)
    unsafe records[slot] = record
  }

  /// Calls `body` with the first `count` bytes of a slot, all of it by default. For the source's thread.
  func fill<Result, Failure: Error>(
    _ slot: Int, count: Int? = nil,
    _ body: (inout MutableSpan<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(slot < slotCount && count ?? 0 <= slotBytes)
    var span = unsafe MutableSpan(
      _unsafeStart: bytes + slot * slotBytes, count: count ?? slotBytes)
    return try body(&span)
  }

  /// Calls `body` with the first `count` bytes of a slot.
  func read<Result>(_ slot: Int, count: Int, _ body: (Span<UInt8>) -> Result) -> Result {
    precondition(slot < slotCount && count <= slotBytes)
    let start = unsafe UnsafePointer(bytes + slot * slotBytes)
    return unsafe body(Span(_unsafeStart: start, count: count))
  }

  /// Calls `body` with the first `count` words of 32 bits of a slot: loops over bytes are not vectorized.
  func readWords<Result>(_ slot: Int, count: Int, _ body: (Span<UInt32>) -> Result) -> Result {
    precondition(slot < slotCount && count <= slotBytes / 4)
    let start = unsafe UnsafePointer(bytes + slot * slotBytes)
    return unsafe start.withMemoryRebound(to: UInt32.self, capacity: count) {
      unsafe body(Span(_unsafeStart: $0, count: count))
    }
  }
}
