internal import Sprocket

/// It did not end within the time that a signal left it; its thread may still be at work.
struct Abandoned: Error {}

extension BackgroundWork {
  /// Waits for the end, at most `limit`, and looks at signals meanwhile: for each one `onSignal` says how
  /// long to wait from then on, `nil` for as long as it takes. Throws what the work threw, or `Abandoned`.
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
