/// Decides whether a frame is too late to be worth more work.
///
/// A frame will be as old at the end as it is now plus what remains; if that exceeds the budget, it
/// is dropped. What remains can only be measured on frames that pass, so one in 16 does.
struct LatePolicy: Sendable, Hashable {
  enum Action: Sendable, Hashable {
    case keep, drop
    /// Late like those before it, but it passes, so that what remains is measured anew.
    case probe
  }

  /// Late frames that are dropped between two probes, which pass. Larger: fewer late frames pass, and a
  /// recovery is noticed later: a quarter of a second at 60 frames/s.
  static let dropsPerProbe = 15

  /// Nanoseconds from capture to the end.
  var budget: Int64
  private(set) var droppedInARow = 0

  init(budget: Int64) { self.budget = budget }

  /// `age` and `remaining` in nanoseconds; `age` is `nil` where the source's clock says nothing
  /// about it.
  mutating func decide(age: Int64?, remaining: Int64) -> Action {
    guard let age, isLate(age: age, remaining: remaining) else {
      droppedInARow = 0
      return .keep
    }
    guard droppedInARow < Self.dropsPerProbe else {
      droppedInARow = 0
      return .probe
    }
    droppedInARow += 1
    return .drop
  }

  func isLate(age: Int64, remaining: Int64) -> Bool {
    let (total, overflow) = age.addingReportingOverflow(remaining)
    return overflow || total > budget
  }
}
