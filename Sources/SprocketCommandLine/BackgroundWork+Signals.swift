internal import Sprocket

/// The work did not end within its time limit. Its thread may still be running.
struct Abandoned: Error {}

extension BackgroundWork {
  /// Waits for the end of the work, for at most `limit`, and checks for signals meanwhile. For each
  /// signal `onSignal` is called; it returns the longest time to wait from then on, or `nil` to
  /// change nothing. Throws the error of the work, or `Abandoned` when the time is over.
  func value(
    _ signals: inout StopSignals, limit: Duration? = nil, onSignal: () -> Duration?
  ) throws -> Value {
    var left = limit
    var isDone = false
    repeat {
      let step = left.map { min($0, Runner.tick) } ?? Runner.tick
      isDone = wait(for: step)
      if let rest = left { left = rest - step }
      while signals.take() {
        if let limit = onSignal() { left = min(left ?? limit, limit) }
      }
    } while !isDone && left ?? Runner.tick > .zero
    guard let result = take() else { throw Abandoned() }
    return try result.get()
  }
}
