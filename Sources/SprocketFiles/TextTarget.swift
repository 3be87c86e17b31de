package import SprocketCore

/// Where text is put together, byte by byte: a file's buffer, or memory.
package protocol TextTarget: ~Copyable {
  var buffer: UnsafeMutableRawPointer { get }
  var used: Int { get }
  /// Makes room for `count` bytes at `buffer + used`.
  mutating func reserve(_ count: Int) throws(RunError)
  /// Counts bytes that were put behind `used` after `reserve`.
  mutating func advance(_ count: Int)
  mutating func append(_ bytes: Span<UInt8>) throws(RunError)
}

extension FileWriter: TextTarget {}

/// Text in memory, which is kept when the text is removed: growing apart, nothing is allocated.
@safe
package struct TextBuffer: ~Copyable, TextTarget {
  package private(set) var buffer: UnsafeMutableRawPointer
  package private(set) var used = 0
  private var capacity = 4096

  package init() { unsafe buffer = .allocate(byteCount: 4096, alignment: 64) }

  deinit { unsafe buffer.deallocate() }

  /// What was appended, until the next change.
  package var elements: UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(start: buffer.assumingMemoryBound(to: UInt8.self), count: used)
  }

  /// Calls `body` with what was appended.
  package func withBytes<Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    try unsafe body(Span(_unsafeElements: elements))
  }

  package mutating func removeAll() { used = 0 }

  package mutating func reserve(_ count: Int) {
    guard capacity - used < count else { return }
    let larger = max(capacity * 2, used + count)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
    unsafe moved.copyMemory(from: buffer, byteCount: used)
    unsafe buffer.deallocate()
    unsafe buffer = moved
    capacity = larger
  }

  package mutating func advance(_ count: Int) {
    precondition(count >= 0 && count <= capacity - used, "reserve before writing")
    used += count
  }

  package mutating func append(_ bytes: Span<UInt8>) {
    if bytes.isEmpty { return }
    reserve(bytes.count)
    unsafe bytes.withUnsafeBytes { source in
      unsafe (buffer + used).copyMemory(
        from: source.baseAddress.unsafelyUnwrapped, byteCount: source.count)
    }
    used += bytes.count
  }
}
