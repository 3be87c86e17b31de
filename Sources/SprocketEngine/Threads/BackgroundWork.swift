public import SprocketCore

/// Runs work that may take long or get stuck on a thread of its own. The waiting thread can check for signals
/// meanwhile, and can abandon the work.
///
/// Unchecked: `body` and `result` are the thread's until `wait` has returned true.
public final class BackgroundWork<Value>: @unchecked Sendable {
  private var body: (() throws -> Value)?
  private var result: Result<Value, any Error>?
  private let thread: JobThread

  /// Starts `body`. The kernel shows the first 15 bytes of `name`. Throws where no thread can be had.
  public init(_ name: String, _ body: @escaping () throws -> Value) throws(RunError) {
    self.body = body
    thread = try JobThread(name)
    thread.perform { self.run() }
  }

  private func run() {
    // Taken out of the property, so that its captures are released when it has run and do not outlive the
    // result.
    guard let body = body.take() else { return }
    result = Result { try body() }
  }

  /// True once `body` has returned; waits for `limit` at most.
  public func wait(for limit: Duration) -> Bool {
    thread.wait(until: deadline(in: limit.nanosecondCount))
  }

  /// What `body` returned or threw; `nil` before `wait` has returned true, and once it was taken.
  public func take() -> Result<Value, any Error>? { thread.isIdle ? result.take() : nil }
}
