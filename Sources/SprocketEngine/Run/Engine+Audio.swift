internal import SprocketCore

// The sound of a run.
extension Engine {
  /// Begins the sound. Sound that cannot begin is an error of the run, and the pictures go on.
  func startAudio() {
    for engine in audio {
      do throws(RunError) { try engine.start() } catch { shared.fail(error) }
    }
  }

  /// Ends the sound when no sink needs it any more. A source that does not return is left behind.
  func endAudio() {
    for engine in audio { engine.stop() }
    let limit =
      shared.isFlushing ? EpochThreads.graceNanoseconds : options.drainLimit.nanosecondCount
    let end = deadline(in: limit)
    for engine in audio {
      guard !engine.wait(for: .nanoseconds(max(end - monotonicNow(), 0))) else { continue }
      shared.fail(
        RunError(
          .failed,
          "the sound of \(engine.description.name) did not come to an end; look at what it waits for"
        ))
    }
  }
}
