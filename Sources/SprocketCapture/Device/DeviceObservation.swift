public import Sprocket

/// The open streams of a camera's settings.
final class DeviceObservers: Sendable {
  private struct State {
    var next = 0
    var observers: [Int: @Sendable (ControlState) -> Void] = [:]
  }

  private let state = Locked(State())

  func add(_ observer: @escaping @Sendable (ControlState) -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.observers[state.next] = observer
      return state.next
    }
  }

  var isEmpty: Bool { state.withLock(\.observers.isEmpty) }

  func remove(_ number: Int) { state.withLock { _ = $0.observers.removeValue(forKey: number) } }

  /// Costs a lock where nobody follows.
  func tell(_ inForce: ControlState) {
    let observers = state.withLock { state in
      state.observers.isEmpty ? [] : Array(state.observers.values)
    }
    for observer in observers { observer(inForce) }
  }
}

extension CaptureDevice {
  /// A setting that the camera's frames were taken with, whenever it changes, whoever changed it.
  ///
  /// The first value is that of the next frame. The stream ends when its reader leaves the loop or is
  /// cancelled, and goes on over a session's stop and start.
  ///
  ///     for await gain in camera.values(of: \.gain) { print(gain) }
  ///
  /// A reader that is slow misses the oldest of 64 values.
  public func values<Value: Equatable & Sendable>(
    of path: any KeyPath<ControlState, Value> & Sendable
  ) -> AsyncStream<Value> {
    let (stream, reader) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(64))
    let last = LastValue<Value>()
    let number = observers.add { inForce in
      let value = inForce[keyPath: path]
      if last.isNew(value) { reader.yield(value) }
    }
    state.withLock(\.run)?.needFrames()
    let observers = observers
    reader.onTermination = { _ in observers.remove(number) }
    return stream
  }
}

/// The value that was told last.
private final class LastValue<Value: Equatable & Sendable>: Sendable {
  private let value = Locked<Value?>(nil)

  func isNew(_ new: Value) -> Bool {
    value.withLock { value in
      defer { value = new }
      // What is not known is no number, and differs from itself.
      if let value, value != value, new != new { return false }
      return value != new
    }
  }
}
