/// Memory of exactly the size asked for, so that AddressSanitizer sees a step beyond it.
@safe
public final class TestBuffer {
  public let memory: UnsafeMutableBufferPointer<UInt8>

  /// A copy of `bytes`.
  public init(_ bytes: [UInt8]) {
    unsafe memory = .allocate(capacity: bytes.count)
    _ = unsafe memory.initialize(from: bytes)
  }

  /// `count` bytes of `value`.
  public convenience init(repeating value: UInt8 = 0xEE, count: Int) {
    self.init([UInt8](repeating: value, count: count))
  }

  deinit { unsafe memory.deallocate() }

  /// A copy of its contents.
  public var bytes: [UInt8] { unsafe Array(memory) }
}
