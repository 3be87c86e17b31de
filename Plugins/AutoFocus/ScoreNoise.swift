/// The noise of scores while the lens stands still, from the differences of neighbours in time: J. von
/// Neumann et al., "The Mean Square Successive Difference", Ann. Math. Statist. 12(2), 1941. Pure.
struct ScoreNoise: Sendable {
  private var last: Double?
  private var squares = 0.0
  /// Pairs of neighbours that were compared.
  private(set) var count = 0.0

  /// Takes the score of the next frame; `nil` where it has none.
  mutating func see(_ score: Double?) {
    if let score, let last {
      squares += (score - last) * (score - last)
      count += 1
    }
    last = score
  }

  /// The lens goes on: the next score is not to be compared with the last.
  mutating func moves() {
    last = nil
  }

  /// Standard deviation of a score; 0 where none could be compared.
  var deviation: Double { count > 0 ? (squares / count / 2).squareRoot() : 0 }
}
