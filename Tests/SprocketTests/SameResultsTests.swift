import Sprocket
import SprocketStages
import TestExpectations
import TestSupport
import Testing

extension Plugin {
  /// Controllers last, for they read what others report. What makes pictures of mosaics comes first, and only
  /// if there are some.
  static func inOrder(_ plugins: [Plugin], format: PixelFormat) -> [Plugin] {
    let debayers = plugins.filter { $0.name == "debayer" }
    let others = plugins.filter { $0.name != "debayer" && !$0.isController }
    return (format.isBayer ? debayers : []) + others + plugins.filter(\.isController)
  }

  private var isController: Bool { name.hasPrefix("auto") || name == "bracket" }
}

@Suite struct SameResultsTests {
  /// Settings of stages that do nothing without. The last size is that of the calibration.
  private func values(_ scratch: Scratch) throws -> [String: [String: String]] {
    let calibration = """
      image_width: 96
      image_height: 80
      camera_matrix: {rows: 3, cols: 3, data: [90, 0, 48, 0, 90, 40, 0, 0, 1]}
      distortion_coefficients: {rows: 1, cols: 4, data: [-0.2, 0.05, 0, 0]}
      """
    return [
      "crop": ["region": "0.05/0.1/0.9/0.85"], "resize": ["size": "96x80", "mode": "letterbox"],
      "rotate": ["turn": "180"],
      "undistort": ["calibration": try scratch.write("camera.yml", Array(calibration.utf8))],
    ]
  }

  /// The run's digest over a scene with faults, all stages in the chain.
  private func digest(
    _ format: PixelFormat, workers: Int, wait: WaitStrategy
  ) throws -> String {
    var settings = SceneSettings()
    settings.width = 96
    settings.height = 80
    settings.pace = .fast
    settings.seed = 7
    settings.format = format
    settings.faults.drop = 0.1
    settings.faults.corrupt = 0.1
    settings.faults.formatChange = 0.02
    let sink = ChecksumSink()
    let scratch = try Scratch()
    let values = try values(scratch)
    let options = RunOptions(workers: workers, wait: wait, frameLimit: 150)
    let engine = try Engine(
      source: try SceneSource(settings),
      stages: Plugin.inOrder(builtinStages, format: format).map {
        try StageChoice($0, values[$0.name] ?? [:])
      },
      sinks: [sink], options: options)
    try engine.start()
    expectTrue(engine.wait(for: longestWait))
    expectTrue(engine.summary.ledger.isBalanced)
    expectEqual(engine.summary.ledger.produced, 150)
    return sink.runDigest
  }

  @Test(arguments: [PixelFormat.mjpeg, .bayerGBRG10P])
  func areThereWhateverTheWorkersAndTheWaiting(format: PixelFormat) throws {
    let first = try digest(format, workers: 1, wait: .park)
    for workers in [2, 4, 8] {
      try expectEqual(digest(format, workers: workers, wait: .park), first, "\(workers) workers")
    }
    for wait in WaitStrategy.allCases where wait != .park {
      try expectEqual(digest(format, workers: 4, wait: wait), first, "\(wait)")
    }
  }
}
