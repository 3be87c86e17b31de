import SprocketStages
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import AutoFocus

/// A real lens's sweep: 66 pictures at steps of 2 mm, sharpest at Z-48 to Z-50; black from Z-108.
@Suite(.enabled(if: TestData.isPresent, "\(TestData.absent)")) struct FocusSweepTests {
  /// Positions in mm, the furthest first.
  private let heights = stride(from: 20, through: -110, by: -2).map { $0 }
  private let pictures: [TestFrame]
  private let loop: [StageChoice] = [
    .focus(),
    .autoFocus {
      $0.mode = .auto
      ($0.speed, $0.settle) = (0, 0)
    },
  ]

  init() throws {
    var color = Color.jpeg
    color.transfer = .srgb
    pictures = try heights.enumerated().map { index, height in
      let digits = String(abs(height))
      let name =
        (height < 0 ? "Z-" : "Z+") + String(repeating: "0", count: 3 - digits.count) + digits
      var frame = try TestFrame(
        jpeg: TestData.bytes("focus/firepick_rep1/\(name).jpg"), color: color)
      frame.record.inForce.lensPosition = Float(index) / 65
      return frame
    }
  }

  /// A camera that shows the picture taken at its lens position. It refuses writes after the first `patience`
  /// ones. At frame `losesLensAt` it is replugged without its lens control.
  private func camera(
    lens: Int, patience: Int = .max, losesLensAt: Int = .max
  ) -> TestCamera {
    let control = ControlDescription(
      name: "lens", unit: "", minimum: 0, maximum: 65, step: 1, defaultValue: Double(lens))
    var writes = 0
    return TestCamera(controls: [control]) { _, value in
      writes += 1
      return writes > patience ? nil : value
    } steps: { number, values in
      number == losesLensAt
        ? .replug(withControls: false) : .picture(pictures[Int(values[0])])
    }
  }

  /// Index of the picture with the highest score.
  private func peak(_ looks: [SceneLook]) -> Int {
    looks.indices.max { looks[$0].score ?? 0 < looks[$1].score ?? 0 } ?? 0
  }

  /// What the control makes of each picture, by the stage `focus`.
  private func looks() throws -> [SceneLook] {
    let run = try TestRun(of: TestCamera(pictures), through: [.focus()], pictures: false)
    return run.reports(FocusReport.self).map { SceneLook($0, luma: nil) }
  }

  @Test func theSearchEndsWithinAStepOfThePeakFromEveryStart() throws {
    let looks = try looks()
    try #require(looks.count == 66)
    let peak = peak(looks)
    expectTrue([-52, -50, -48].contains(heights[peak]))
    // Black pictures have nothing to be measured.
    expectTrue(looks.suffix(2).allSatisfy { $0.score == nil })
    let lens = LensRange(grid: 1 / 65)
    for start in looks.indices {
      var search = FocusSearch()
      search.begin(at: Double(start) / 65, of: lens)
      while search.phase == .coarse || search.phase == .fine {
        search.see(looks[Int((search.target * 65).rounded())].score)
      }
      let found = Int((search.target * 65).rounded())
      expectEqual(search.phase, .found, "\(start): \(found)")
      expectAtMost(abs(found - peak), 1, "\(start): \(found)")
      expectAtMost(search.looks.count, 25, "\(start): \(search.looks.count) looks")
    }
  }

  /// The whole loop: pictures in, writes out.
  @Test(arguments: [0, 20, 65]) func theStageFindsThePeak(start: Int) throws {
    let run = try TestRun(of: camera(lens: start), through: loop, frames: 100, pictures: false)
    let last = try #require(run.frames.last?.record).inForce.lensPosition
    let height = heights[Int((last * 65).rounded())]
    expectTrue((-52 ... -46).contains(height), "from \(start): Z\(height)")
  }

  @Test(arguments: [0, 5]) func aLensThatIsRefusedEndsTheLoopAndNotTheRun(patience: Int) throws {
    let run = try TestRun(
      of: camera(lens: 3, patience: patience), through: [.focus(), .autoFocus()], frames: 60,
      pictures: false)
    expectEqual(run.notes, ["autofocus ended: the camera refuses to move the lens"])
  }

  @Test func aLensThatVanishesEndsTheLoopAndNotTheRun() throws {
    let run = try TestRun(
      of: camera(lens: 3, losesLensAt: 30), through: [.focus(), .autoFocus()], frames: 60,
      pictures: false)
    expectEqual(
      run.notes, ["autofocus ended: the camera has come back without a control of its lens"])
    // From the start, it is an error that says what is missing.
    let error = #expect(throws: RunError.self) {
      try TestRun(of: TestCamera(pictures), through: [.focus(), .autoFocus()])
    }
    expectEqual(error?.code, .usage)
  }
}
