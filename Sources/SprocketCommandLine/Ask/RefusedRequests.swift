internal import Sprocket

/// Errors of requests that a run makes by itself, from a script or a condition. Tells the first ten of each
/// kind at once. For the run's end it keeps the first error of each of ten kinds, with the number of the
/// others.
final class RefusedRequests: Sendable {
  private struct Kind {
    let first: RunError
    var count = 1
  }

  /// Most kinds that are kept, and most errors of a kind that are told at once. A larger value repeats more
  /// sentences that are alike.
  private static let most = 10

  private let voice: Voice
  private let kinds = Locked<[String: Kind]>([:])

  init(_ voice: Voice) { self.voice = voice }

  var errors: [RunError] {
    kinds.withLock { kinds in
      kinds.sorted { $0.key < $1.key }.map { _, kind in
        guard kind.count > 1 else { return kind.first }
        return RunError(
          kind.first.code, "\(kind.first.description) (and \(kind.count - 1) more of this kind)",
          kind.first.settings)
      }
    }
  }

  /// Errors of one kind have one `kind`; where none is given, one sentence.
  func add(_ error: RunError, like kind: String? = nil) {
    let kind = kind ?? error.description
    let isTold = kinds.withLock { kinds in
      if let count = kinds[kind]?.count {
        kinds[kind]?.count = count + 1
        return count < Self.most
      }
      guard kinds.count < Self.most else { return false }
      kinds[kind] = Kind(first: error)
      return true
    }
    if isTold { voice.tell(refusal: error) }
  }
}
