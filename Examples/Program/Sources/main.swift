import Sprocket
import SprocketStages
import Synchronization

/// Finds the sharpest frame of ten seconds of a shaking scene, and records the scene held still.
func run() throws {
  var settings = SceneSettings()
  settings.pace = .fast
  settings.shake = 8
  settings.focusStep = 0.3
  settings.focusAt = 5

  // Called for each frame, on a thread of its own.
  let sharpest = Mutex((number: UInt64(0), score: -Double.infinity))
  let judge = ClosureSink("judge") { frame in
    guard let focus = frame.report(FocusReport.self) else { return }
    sharpest.withLock { best in
      if focus.score > best.score { best = (frame.record.number, focus.score) }
    }
  }

  let engine = try Engine(
    source: try SceneSource(settings),
    stages: [
      .focus { $0.window = 0.5 },
      .stabilize {
        $0.mode = .cinematic
        $0.crop = 0.08
      },
    ],
    sinks: [judge, MovieSink(path: "steady.mov", overwrite: true)],
    options: RunOptions(frameLimit: 300))
  try engine.start()
  while !engine.wait(for: .seconds(1)) {
    print("\(engine.progress.produced) frames so far")
  }

  let summary = engine.summary
  for error in summary.errors { throw error }
  for stage in summary.stages {
    print("\(stage.name): \(Int(stage.duration.p50)) us per frame")
  }
  for sink in summary.sinks {
    print("\(sink.name): \(sink.counts[.delivered]) of \(summary.ledger.produced) frames")
  }
  let best = sharpest.withLock { $0 }
  print("the sharpest frame is \(best.number)")
}

do {
  try run()
} catch {
  print("program: \(error)")
}
