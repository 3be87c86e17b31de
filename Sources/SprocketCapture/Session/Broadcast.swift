internal import Sprocket

/// Sends values to any number of streams. A reader that is slow misses the oldest ones.
final class Broadcast<Value: Sendable>: Sendable {
  private struct State {
    var next = 0
    var readers: [Int: AsyncStream<Value>.Continuation] = [:]
    var isOver = false
  }

  /// Values that a reader may be behind. Larger: slower readers miss none.
  private static var kept: Int { 256 }

  private let state = Locked(State())

  /// From now on; ends with the broadcast, or when its reader leaves.
  func stream() -> AsyncStream<Value> {
    let (stream, reader) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(Self.kept))
    let number = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.next += 1
      state.readers[state.next] = reader
      return state.next
    }
    guard let number else {
      reader.finish()
      return stream
    }
    reader.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.readers.removeValue(forKey: number) }
    }
    return stream
  }

  func send(_ value: Value) {
    let readers = state.withLock { Array($0.readers.values) }
    for reader in readers { reader.yield(value) }
  }

  func finish() {
    let readers = state.withLock { state in
      defer { (state.readers, state.isOver) = ([:], true) }
      return Array(state.readers.values)
    }
    for reader in readers { reader.finish() }
  }

  deinit { finish() }
}
