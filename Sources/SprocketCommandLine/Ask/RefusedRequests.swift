internal import Sprocket

/// Errors of requests that a run makes by itself, from a script or a condition. Tells each one at once, and
/// keeps the first ten different ones for the run's end.
final class RefusedRequests: Sendable {
  private static let most = 10

  private let voice: Voice
  private let kept = Locked<[RunError]>([])

  init(_ voice: Voice) { self.voice = voice }

  var errors: [RunError] { kept.withLock { $0 } }

  func add(_ error: RunError) {
    voice.tell(refusal: error)
    kept.withLock { kept in
      let isKnown = kept.contains { $0.description == error.description }
      if !isKnown, kept.count < Self.most { kept.append(error) }
    }
  }
}
