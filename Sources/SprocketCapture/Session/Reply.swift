internal import Sprocket

/// One answer for one caller that waits. The first answer counts. The wait also ends at its limit, and when
/// the task is cancelled.
final class Reply<Value: Sendable>: Sendable {
  typealias Answer = Result<Value, CaptureError>

  private struct State: Sendable {
    var answer: Answer?
    var reader: CheckedContinuation<Answer, Never>?
  }

  private let state = Locked(State())

  func answer(_ answer: Answer) {
    let reader = state.withLock { state -> CheckedContinuation<Answer, Never>? in
      guard state.answer == nil else { return nil }
      state.answer = answer
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: answer)
  }

  /// For one caller. Throws `late` at the limit.
  nonisolated(nonsending) func value(
    within limit: Duration, orThrow late: CaptureError
  ) async throws(CaptureError) -> Value {
    try await answer(within: limit, or: late).get()
  }

  /// For one caller: the answer, or `late` at the limit. Callers on one actor do not go on in the order of
  /// their answers: Swift resumes each on a thread of the global executor, which hands it to its actor.
  nonisolated(nonsending) func answer(within limit: Duration, or late: CaptureError) async -> Answer
  {
    let timer = Task {
      do { try await Task.sleep(for: limit) } catch { return }
      self.answer(.failure(late))
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { reader in
        let known = state.withLock { state in
          if state.answer == nil { state.reader = reader }
          return state.answer
        }
        if let known { reader.resume(returning: known) }
      }
    } onCancel: {
      self.answer(.failure(CaptureError(.cancelled, "the task was cancelled while it waited")))
    }
  }
}

/// Callers that take turns, first come, first served.
final class Turns: Sendable {
  private struct State: Sendable {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  func take() async {
    await withCheckedContinuation { caller in
      let isFree = state.withLock { state in
        defer { state.isTaken = true }
        if state.isTaken { state.waiting.append(caller) }
        return !state.isTaken
      }
      if isFree { caller.resume() }
    }
  }

  func end() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isTaken = false
      return nil
    }
    next?.resume()
  }
}

extension Engine {
  /// Waits for the end, for `limit` at most, also in a task that is cancelled. Blocks no thread.
  func hasEnded(within limit: Duration) async -> Bool {
    let end = deadline(in: limit.nanosecondCount)
    while !wait(for: .zero) {
      guard monotonicNow() < end else { return false }
      // A task of its own is not cancelled with the caller's.
      await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
    }
    return true
  }
}
