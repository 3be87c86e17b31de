/// Decides whether a frame passes.
///
/// Time is divided into periods of equal length, counted from the zero of the frames' clock. The first frame
/// in each period passes, repeat or not. The two stages of the plug-in keep one of these each, and agree:
/// what is the first frame of a period does not depend on which frames were dropped before.
struct RepeatPolicy: Sendable, Hashable {
  /// Length of a period in nanoseconds, above 0.
  var period: Int64 {
    didSet { if period != oldValue { forget() } }
  }
  /// Period of the latest frame.
  private var latest: Int64?

  init(period: Int64) { self.period = period }

  /// The next frame passes.
  mutating func forget() { latest = nil }

  /// `captured` in nanoseconds.
  mutating func passes(captured: Int64, isRepeat: Bool) -> Bool {
    // Rounded down below zero, too.
    let (quotient, rest) = captured.quotientAndRemainder(dividingBy: period)
    let number = rest < 0 ? quotient - 1 : quotient
    defer { latest = number }
    return !isRepeat || number != latest
  }
}
