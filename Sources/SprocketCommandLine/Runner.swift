internal import Sprocket

/// Runs an engine to its end: shows progress, and turns signals into a stop.
struct Runner {
  let engine: Engine
  let voice: Voice
  let frameLimit: UInt64?

  /// Between two looks at signals and progress.
  static let tick = Duration.milliseconds(50)

  /// In ticks, 18 s: how long a run that is to end at once may take for it. The engine has limits of its
  /// own: 2 s for the source's call, 4 for the drain, 2 to close the source, 4 to finish the sinks, and 4
  /// to seal them. This is for what has none, such as a file system that hangs while a movie goes on in
  /// another file.
  static let longestEnd = 360

  /// `signals` were blocked before the source was opened: threads of libraries must not get them. Returns
  /// how many came.
  func run(_ signals: inout StopSignals) -> Int {
    engine.start()
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
      if ticks % 10 == 0, let told = engine.progress.notice, notice == nil {
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
