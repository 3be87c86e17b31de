import Sprocket
import SprocketStages
import TestSupport
import Testing

@testable import AutoFocus

/// Notes what `focus` says of each frame, and where the lens is.
private struct Teller: Stage {
  static let order = Order.sequence
  static let plugin = Plugin("teller", "tells what focus says", Teller.self)
  private var focus: ReportReader<FocusReport>?
  private(set) var notes: [String] = []

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    focus = try setup.reader(FocusReport.self, from: "focus")
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    if let focus, let report = frame.read(focus) {
      let lens = frame.record.inForce.lensPosition
      notes.append("\(report.score) \(report.contrast) \(lens)")
    }
    return .keep
  }
}

/// A real lens's sweep, 66 pictures 2 mm apart, sharpest at Z-48 to Z-50; black from Z-108.
@Suite(.enabled(if: TestData.isPresent, "\(TestData.absent)")) struct FocusSweepTests {
  /// Index of the picture with the highest score.
  private func peak(_ looks: [SceneLook]) -> Int {
    looks.indices.max { looks[$0].score ?? 0 < looks[$1].score ?? 0 } ?? 0
  }

  private func run(_ camera: SweepCamera, _ stages: [StageChoice], frames: UInt64) throws
    -> [String]
  {
    let engine = try Engine(
      source: camera, stages: stages, sinks: [NullSink()], options: RunOptions(frameLimit: frames))
    try engine.start()
    #expect(engine.wait(for: .seconds(120)))
    #expect(engine.summary.errors.isEmpty)
    return engine.summary.notes
  }

  private func stage(_ name: String, _ values: [String: String] = [:]) throws -> StageChoice {
    StageChoice(try #require(builtinStages.first { $0.name == name }), values: values)
  }

  /// What the control makes of each picture, by the stage `focus`.
  private func looks() throws -> [SceneLook] {
    let camera = try SweepCamera(lens: 0, isSlideShow: true)
    let told = try run(
      camera, [stage("focus"), StageChoice(Teller.plugin)],
      frames: UInt64(camera.pictures.count))
    return told.map { line in
      let numbers = line.split(separator: " ").map { Double($0) ?? .nan }
      var report = FocusReport()
      (report.score, report.contrast) = (numbers[0], numbers[1])
      return SceneLook(report, luma: nil)
    }
  }

  @Test func theSearchEndsWithinAStepOfThePeakFromEveryStart() throws {
    let looks = try looks()
    try #require(looks.count == 66)
    let peak = peak(looks)
    #expect([-52, -50, -48].contains(SweepCamera.heights[peak]))
    // Black pictures have nothing to be measured.
    #expect(looks.suffix(2).allSatisfy { $0.score == nil })
    let lens = LensRange(grid: 1 / 65)
    for start in looks.indices {
      var search = FocusSearch()
      search.begin(at: Double(start) / 65, of: lens)
      while search.phase == .coarse || search.phase == .fine {
        search.see(looks[Int((search.target * 65).rounded())].score)
      }
      let found = Int((search.target * 65).rounded())
      #expect(search.phase == .found && abs(found - peak) <= 1, "\(start): \(found)")
      #expect(search.looks.count <= 25, "\(start): \(search.looks.count) looks")
    }
  }

  /// The whole loop: pictures in, writes out.
  @Test(arguments: [0, 20, 65]) func theStageFindsThePeak(start: Int) throws {
    let told = try run(
      SweepCamera(lens: start),
      [
        stage("focus"),
        stage("autofocus", ["mode": "auto", "speed": "0", "settle": "0"]),
        StageChoice(Teller.plugin),
      ], frames: 100)
    let last = try #require(told.last?.split(separator: " ").last.flatMap { Double($0) })
    let height = SweepCamera.heights[Int((last * 65).rounded())]
    #expect((-52 ... -46).contains(height), "from \(start): Z\(height)")
  }

  @Test(arguments: [0, 5]) func aLensThatIsRefusedEndsTheLoopAndNotTheRun(patience: Int) throws {
    let told = try run(
      SweepCamera(lens: 3, patience: patience),
      [stage("focus"), stage("autofocus")], frames: 60)
    #expect(told == ["autofocus ended: the camera refuses to move the lens"])
  }

  @Test func aLensThatVanishesEndsTheLoopAndNotTheRun() throws {
    let told = try run(
      SweepCamera(lens: 3, losesLensAt: 30), [stage("focus"), stage("autofocus")], frames: 60)
    #expect(told == ["autofocus ended: the camera has come back without a control of its lens"])
    // From the start, it is an error that says what is missing.
    let blind = try SweepCamera(lens: 3, losesLensAt: 0)
    _ = try blind.next(timeout: 0)
    let error = #expect(throws: RunError.self) {
      try run(blind, [stage("focus"), stage("autofocus")], frames: 1)
    }
    #expect(error?.code == .usage)
  }
}
