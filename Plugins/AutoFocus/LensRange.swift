/// The positions that a lens can be sent to, as fractions of its way: 0 nearest to 1 furthest.
struct LensRange: Sendable, Hashable {
  /// The share of the way that one step of its control makes; 0 where any position is allowed.
  var grid = 0.0
  /// Steps are counted from 1 and not from 0, as those of `V4L2_CID_FOCUS_ABSOLUTE`, whose least value
  /// is the furthest. It matters where they do not divide the way.
  var countsFromFar = false

  /// The nearest position that the lens can be sent to.
  func snapped(_ position: Double) -> Double {
    let inside = min(max(position, 0), 1)
    guard grid > 0 else { return inside }
    let last = (1 / grid + 1e-9).rounded(.down)
    let steps = min(((countsFromFar ? 1 - inside : inside) / grid).rounded(), last)
    // Once more into 0 to 1: a hundred steps of 0.01 are more.
    return min(max(countsFromFar ? 1 - steps * grid : steps * grid, 0), 1)
  }

  /// The nearest whole number of steps to `distance`, one at least.
  func whole(_ distance: Double) -> Double {
    grid > 0 ? max((distance / grid).rounded(), 1) * grid : distance
  }
}
