internal import Glibc

/// Bytes that grow at their end; memory is kept when they are removed.
@safe
struct MCAPBytes: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private(set) var count = 0

  init(capacity: Int) {
    self.capacity = max(capacity, 64)
    guard let memory = unsafe malloc(self.capacity) else {
      preconditionFailure("no memory for \(self.capacity) bytes")
    }
    unsafe self.memory = unsafe memory
  }

  deinit { unsafe free(memory) }

  var isEmpty: Bool { count == 0 }

  /// All of them, until the next change.
  var elements: UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: count)
  }

  /// Lends the room behind them, at least `room` bytes; `body` returns how many it filled.
  mutating func fill(_ room: Int, _ body: (inout MutableSpan<UInt8>) -> Int) {
    demand(room)
    let start = unsafe (memory + count).assumingMemoryBound(to: UInt8.self)
    var span = unsafe MutableSpan(_unsafeStart: start, count: capacity - count)
    let filled = body(&span)
    precondition(filled >= 0 && filled <= capacity - count, "filled more than there was room for")
    count += filled
  }

  /// Writes over `size` bytes at `offset`.
  mutating func overwrite(at offset: Int, _ size: Int, _ body: (inout MutableSpan<UInt8>) -> Void) {
    precondition(offset >= 0 && size >= 0 && offset <= count - size, "overwrite what is there")
    let start = unsafe (memory + offset).assumingMemoryBound(to: UInt8.self)
    var span = unsafe MutableSpan(_unsafeStart: start, count: size)
    body(&span)
  }

  mutating func append(_ bytes: Span<UInt8>) {
    if bytes.isEmpty { return }
    demand(bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      unsafe (memory + count).copyMemory(
        from: source.baseAddress.unsafelyUnwrapped, byteCount: source.count)
    }
    count += bytes.count
  }

  mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

  mutating func append<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    let size = MemoryLayout<Number>.size
    demand(size)
    unsafe memory.storeBytes(of: number.littleEndian, toByteOffset: count, as: Number.self)
    count += size
  }

  /// Its length in 32 bits, and the text.
  mutating func append(_ text: String) {
    let bytes = Array(text.utf8)
    append(UInt32(bytes.count))
    append(bytes)
  }

  mutating func overwrite<Number: FixedWidthInteger & BitwiseCopyable>(
    _ number: Number, at offset: Int
  ) {
    precondition(
      offset >= 0 && offset <= count - MemoryLayout<Number>.size, "overwrite what is there")
    unsafe memory.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
  }

  /// Begins a record; give what it returns to `endRecord`.
  mutating func beginRecord(_ opcode: UInt8) -> Int {
    append(opcode)
    append(UInt64(0))
    return count
  }

  mutating func endRecord(_ start: Int) { endRecord(start, length: count - start) }

  mutating func endRecord(_ start: Int, length: Int) { overwrite(UInt64(length), at: start - 8) }

  mutating func removeAll() { count = 0 }

  /// Makes room for so many bytes more; false where there is not enough memory, as lengths in a file
  /// may ask for.
  mutating func reserve(_ room: Int) -> Bool {
    guard capacity - count < room else { return true }
    let larger = max(capacity * 2, count + room)
    guard let moved = unsafe realloc(memory, larger) else { return false }
    unsafe memory = unsafe moved
    capacity = larger
    return true
  }

  /// The same for what we make ourselves: a chunk has a size that was planned.
  mutating func demand(_ room: Int) {
    guard reserve(room) else { preconditionFailure("no memory for \(count + room) bytes") }
  }
}

extension MCAPBytes {
  /// The record of a message with so many bytes of data, up to those.
  mutating func append(_ message: MCAPMessage, dataCount: Int) {
    append(MCAPOpcode.message)
    append(UInt64(MCAPFormat.messageHeaderSize + dataCount))
    append(message.channel)
    append(message.sequence)
    append(message.logTime)
    append(message.publishTime)
  }
}
