/// Measures a control's delay from the picture: the frames from the answer to a write until a picture shows
/// the new value. Pure: time is the frames' running numbers.
///
/// A driver answers when it has taken a value, and that answer belongs to the first frame captured
/// afterwards. Most sensors show the value one to four frames later, and no driver says when. So one change
/// is watched, frame by frame, until the picture shows it.
///
///     var watch = DelayWatch(from: answer.number, lastFrame: before)
///     switch watch.see(share: seen / change, at: record.number) { ... }
///
/// The constants were found by trial on the simulated sensor of the tests (gammas of 1.8 to 2.6, delays of 1
/// to 4 frames, noise, lost frames).
public struct DelayWatch: Sendable {
  /// Part of a change that the picture must show to have answered it, 0 to 1. Larger: dark or clipped
  /// scenes count as unanswered more often.
  public static let answer = 0.4
  /// Part of a change that marks the first frame of its answer, 0 to 1. Larger: the delay may be found a
  /// frame too long; smaller: noise may end it too early.
  public static let sign = 0.15
  /// Frames to wait for an answer: twice the longest delay of common sensors. Larger: a picture that does
  /// not answer is noticed later.
  public static let patience: UInt64 = 8

  /// What has been measured so far.
  public enum Result: Sendable, Hashable {
    case waiting
    /// The picture shows the change, with a delay in this range of frames: a single one, unless frames were
    /// lost around the answer or the change.
    case shown(ClosedRange<Int>)
    /// The pictures could be compared, and did not change.
    case unanswered
    /// The pictures could not be compared: they are too dark, clipped, or of different scenes.
    case incomparable
  }

  /// The frame of the answer.
  public let start: UInt64
  /// The frame that may have been the first after the driver took the value: `start`, or one that was lost
  /// before it.
  private let earliest: UInt64
  private var last: UInt64
  /// The first frame that showed something of the change, and the first that may have.
  private var first: (number: UInt64, after: UInt64)?

  /// `start` is the frame of the answer to the write, `lastFrame` the one that was seen before it.
  public init(from start: UInt64, lastFrame: UInt64) {
    self.start = start
    earliest = min(start, lastFrame &+ 1)
    last = max(lastFrame, start &- 1)
  }

  /// Takes the part of the change that a frame shows, 0 for none and 1 for all; `nil` if it cannot be
  /// compared with the frame before the change.
  public mutating func see(share: Double?, at number: UInt64) -> Result {
    guard number >= start else { return .waiting }
    let after = last &+ 1
    last = number
    let waited = number - start
    guard let share else { return waited >= Self.patience ? .incomparable : .waiting }
    // In the dark an answer may seem smaller than it is; the first sign of it is when it came.
    if share >= Self.sign, first == nil { first = (number, after) }
    if share >= Self.answer {
      let first = first ?? (number, after)
      let least = min(first.after, first.number) - start
      let most = first.number - earliest
      return .shown(Int(clamping: least)...Int(clamping: most))
    }
    // A single frame of noise was no sign.
    if share < Self.sign { first = nil }
    return waited >= Self.patience ? .unanswered : .waiting
  }
}
