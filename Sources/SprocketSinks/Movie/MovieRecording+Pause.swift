internal import SprocketCore
internal import SprocketLibAV

// Pauses: time that the movie does not have.
extension MovieRecording {
  /// The movie's time stops where its last picture ends, and so does its sound, until the next picture comes.
  /// Returns when that is, nanoseconds on the pictures' clock; `nil` before the first picture.
  func pause(before next: Timestamp?) throws(RunError) -> Int64? {
    guard muxer != nil, pausedAt == nil else { return nil }
    let end = commonEnd(before: next)
    try endSound(before: next)
    pausedAt = end
    // A pause may last: what there is is safe.
    do throws(MuxerError) { try muxer?.flush() } catch { throw fail(error) }
    try noteDurable()
    return end
  }

  /// The first picture behind a pause, captured at `time`: the movie goes on where its time stopped.
  func goOn(at time: Int64) {
    guard let stopped = pausedAt else { return }
    let pause = time.clampedDifference(stopped)
    (pausedAt, end, startsAnew) = (nil, nil, false)
    clock.leaveOut(pause)
    for track in tracks { track.leaveOut(pause, before: time) }
  }
}
