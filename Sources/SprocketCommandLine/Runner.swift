internal import Sprocket

/// Runs an engine to its end: shows progress, and turns signals into a stop.
struct Runner {
  let engine: Engine
  let voice: Voice
  let frameLimit: UInt64?

  /// Time between two checks of signals and progress.
  static let tick = Duration.milliseconds(50)

  /// Ticks from the second request to stop until the program exits without waiting for the run (18
  /// s). It is longer than the engine's own limits together: 2 s for the source's call, 4 to drain,
  /// 2 to close the source, 4 to finish the sinks, and 4 to seal them. It is for calls without such
  /// a limit, such as those on a file system that hangs while a movie sink begins another file.
  static let longestEnd = 360

  /// Returns the number of signals that came. `signals` must be blocked before the source is
  /// opened, so that no thread of a library receives them.
  func run(_ signals: inout StopSignals) throws(RunError) -> Int {
    try engine.start()
    var ticks = 0
    var notice: String?
    var stops = 0
    var ticksSinceSecondStop = 0
    while !engine.wait(for: Self.tick) {
      while signals.take() {
        engine.stop()
        stops += 1
        if stops == 1 { voice.tellStopping() }
      }
      if stops > 1 { ticksSinceSecondStop += 1 }
      if ticksSinceSecondStop > Self.longestEnd {
        tellError("the run did not come to an end; look at which disk or device it waits for")
        leaveAtOnce(1)
      }
      ticks += 1
      if notice == nil, let told = engine.notice {
        notice = told
        voice.tell(notice: told)
      }
      if voice.wantsProgress(ticks: ticks) {
        voice.tell(progress: engine.progress, limit: frameLimit)
      }
    }
    return stops
  }
}
