internal import Sprocket

/// Runs an engine to its end: shows progress, and turns signals into a stop.
struct Runner {
  let engine: Engine
  let voice: Voice
  let frameLimit: UInt64?

  /// Between two looks at signals and progress.
  static let tick = Duration.milliseconds(50)

  /// In ticks, 15 s: how long a run that is to end at once may take for it. Drains and sinks have limits of
  /// their own, 8 s together; this is for what has none, such as a file system that hangs while a movie
  /// goes on in another file.
  static let longestEnd = 300

  /// `signals` were blocked before the source was opened: threads of libraries must not get them.
  func run(_ signals: inout StopSignals) {
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
  }
}
