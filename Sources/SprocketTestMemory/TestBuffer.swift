/// Memory of exactly the size asked for, so that AddressSanitizer sees a step beyond it.
@safe
package final class TestBuffer {
  package let memory: UnsafeMutableBufferPointer<UInt8>

  /// A copy of `bytes`.
  package init(_ bytes: [UInt8]) {
    unsafe memory = .allocate(capacity: bytes.count)
    _ = unsafe memory.initialize(from: bytes)
  }

  /// `count` bytes of `value`.
  package convenience init(repeating value: UInt8 = 0xEE, count: Int) {
    self.init([UInt8](repeating: value, count: count))
  }

  deinit { unsafe memory.deallocate() }

  /// A copy of its contents.
  package var bytes: [UInt8] { unsafe Array(memory) }
}
