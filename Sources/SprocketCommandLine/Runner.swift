internal import Sprocket

/// Runs an engine to its end: shows progress, and turns signals into a stop.
struct Runner {
  let engine: Engine
  let voice: Voice
  let frameLimit: UInt64?

  /// Between two looks at signals and progress.
  static let tick = Duration.milliseconds(50)

  /// `signals` were blocked before the source was opened: threads of libraries must not get them.
  func run(_ signals: inout StopSignals) {
    engine.start()
    var ticks = 0
    var notice: String?
    while !engine.wait(for: Self.tick) {
      while signals.take() {
        engine.stop()
        voice.tellStopping()
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
