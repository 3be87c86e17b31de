public import Synchronization

/// A value that one thread at a time may use.
///
/// It is the standard library's `Mutex` with one more atomic, which tells ThreadSanitizer of the lock. The
/// sanitizer does not see the lock itself, since the standard library is not built for it, and would report
/// each use of the value as a race.
///
/// Cost: that of `Mutex`, and two moves on x86-64. It is public for this cost alone: Swift 6.3 does not
/// specialise a generic function of `package` access in other modules, and each call of the generic one looks
/// up the types' metadata, which costs 1,300 instructions.
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>
  @usableFromInline let order = Atomic<UInt8>(0)

  @inlinable
  public init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Waits for the lock, and gives the value to `body`.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result
  ) throws(E) -> sending Result {
    try mutex.withLock { (value) throws(E) in
      _ = order.load(ordering: .acquiring)
      defer { order.store(0, ordering: .releasing) }
      return try body(&value)
    }
  }

  /// The same without waiting: `nil` if another thread has the lock.
  @inlinable
  public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result
  ) throws(E) -> sending Result? {
    try mutex.withLockIfAvailable { (value) throws(E) in
      _ = order.load(ordering: .acquiring)
      defer { order.store(0, ordering: .releasing) }
      return try body(&value)
    }
  }
}
