internal import Sprocket

/// What the inputs of a writer share: from when to when pictures and sound are taken, and which of the inputs
/// have finished.
///
/// The engine ends its sound with its pictures. So these end in the engine when all audio inputs have
/// finished, too, and not when the video input has.
final class WriterTimeline: Sendable {
  private struct State {
    var start: Int64?
    /// That of `endSession`, and that of the last picture once the video input has finished.
    var end: Int64?
    var picturesEnd: Int64?
    var pictures: PushSource?
    /// Audio inputs that have not finished.
    var sounds = 0
    var latePictures: UInt64 = 0
  }

  private let state = Locked(State())

  /// When the session began, nanoseconds; `nil` before.
  var start: Int64? { state.withLock(\.start) }
  /// The time from which nothing is taken; `nil` while that is not known.
  var end: Int64? { state.withLock { $0.end ?? $0.picturesEnd } }
  /// Pictures that came at the end or later.
  var latePictures: UInt64 { state.withLock(\.latePictures) }

  func open(_ pictures: PushSource, sounds: Int) {
    state.withLock { ($0.pictures, $0.sounds) = (pictures, sounds) }
  }

  func begin(at time: Int64) { state.withLock { $0.start = time } }

  /// Longest time (nanoseconds) from the last picture to the end, 23 hours: tracks of more than 2^32 samples
  /// have no index. Larger: a time of another clock is taken for an end.
  private static let longestEnd: Int64 = 82_800_000_000_000

  /// The session ends at `time`. `pictures`: when the first and the last one are shown.
  func end(at time: Int64, pictures: (first: Int64, last: Int64)?) throws(CaptureError) {
    try state.withLock { (state) throws(CaptureError) in
      if let end = state.end {
        throw CaptureError(
          .settingsRefused, "the session was ended at \(end) ns before; endSession is called once")
      }
      if let start = state.start, time <= start {
        throw CaptureError(
          .settingsRefused,
          "the session cannot end at \(time) ns, since it started at \(start) ns; end it later")
      }
      if let pictures, time <= pictures.first {
        throw CaptureError(
          .settingsRefused,
          "the session cannot end at \(time) ns, since its first picture is shown at \(pictures.first) ns; "
            + "end it later")
      }
      let latest = max(pictures?.last ?? .min, state.start ?? .min).clampedSum(Self.longestEnd)
      guard time <= latest else {
        throw CaptureError(
          .settingsRefused,
          "the session cannot end at \(time) ns, more than 23 hours behind what was appended; give a time of "
            + "the pictures' clock")
      }
      state.end = time
    }
  }

  func countLatePicture() { state.withLock { $0.latePictures += 1 } }

  /// The video input has finished; its last picture ends at `end`, `nil` if there was none.
  func finishPictures(at end: Int64?) {
    state.withLock { $0.picturesEnd = end ?? $0.start ?? .min }
    endIfFinished()
  }

  /// An audio input has finished.
  func finishSound() {
    state.withLock { $0.sounds -= 1 }
    endIfFinished()
  }

  private func endIfFinished() {
    let pictures = state.withLock { state in
      state.picturesEnd != nil && state.sounds <= 0 ? state.pictures : nil
    }
    pictures?.finish()
  }
}
