import SprocketTesting
import TestExpectations
import Testing

@testable import MotionDetector

/// A test scene of 160x120 pixels. The stage compares it at 80x60 samples of 2x2 pixels.
private struct Scene {
  static let (width, height) = (160, 120)
  var random = TestRandom(seed: 5)
  /// Standard deviation of the noise of a pixel, in levels.
  var noise = 4.0
  /// A box: its left and upper edge and its side in pixels.
  var box: (x: Int, y: Int, side: Int)?
  var boxLevel = 220.0
  /// Level of an object that covers the whole picture, if there is one.
  var cover: Double?
  /// Factor on all levels.
  var light = 1.0
  /// Shows the second of two scenes.
  var other = false
  /// Share of samples (2x2 pixels) that a raindrop makes 80 levels brighter.
  var rain = 0.0
  var time: Int64 = 0

  mutating func frame() -> TestFrame {
    var luma = [UInt8](repeating: 0, count: Self.width * Self.height)
    let drops = Set(
      (0..<80 * 60).filter { _ in Double.random(in: 0..<1, using: &random) < rain })
    for y in 0..<Self.height {
      for x in 0..<Self.width {
        var level = Double(40 + 100 * (other ? Self.width - x : x) / Self.width + 40 * (y / 15 % 2))
        if let box, (box.x..<box.x + box.side).contains(x), (box.y..<box.y + box.side).contains(y) {
          level = boxLevel
        }
        if !drops.isEmpty, drops.contains(y / 2 * 80 + x / 2) { level += 80 }
        if let cover { level = cover }
        // The sum of two uniform numbers has a triangular distribution; its standard deviation is 1/sqrt(6)
        // of half its range.
        let bits = random.next()
        let spread = Double(bits & 0xFFFF) / 65535 + Double(bits >> 16 & 0xFFFF) / 65535 - 1
        level = level * light + spread * noise * 6.0.squareRoot()
        luma[y * Self.width + x] = UInt8(min(max(level.rounded(), 0), 255))
      }
    }
    var frame = TestFrame(width: Self.width, height: Self.height, luma: luma)
    frame.record.captured = Timestamp(nanoseconds: time, clock: .monotonic)
    time += 33_333_333
    return frame
  }
}

/// Processes `count` frames and returns the reports.
private func reports(
  _ count: Int, _ stage: inout StageUnderTest<MotionDetector>, _ scene: inout Scene,
  _ change: (Int, inout Scene) -> Void = { _, _ in }
) -> [MotionDetection] {
  (0..<count).map { number in
    change(number, &scene)
    return stage.report(on: scene.frame())
  }
}

private func detector(
  _ scene: Scene = Scene(), _ change: (inout MotionDetector.Settings) -> Void = { _ in }
) throws -> StageUnderTest<MotionDetector> {
  var detector = MotionDetector()
  change(&detector.settings)
  var first = scene
  return try StageUnderTest(detector, for: first.frame())
}

@Test func nothingMovesInNoise() throws {
  var (stage, scene) = (try detector(), Scene())
  for report in reports(40, &stage, &scene) {
    expectEqual(report.score, 0)
    expectEqual(report.regions, 0)
    expectAtMost(report.light.magnitude, 1)
    expectFalse(report.sceneChanged)
    expectFalse(report.subjectAreaChanged)
    expectFalse(report.isDark)
    expectEqual(report.frozenSeconds, 0)
  }
}

@Test func aThingThatMovesIsFoundWhereItIs() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let found = reports(10, &stage, &scene) { number, scene in
    scene.box = (40 + 4 * number, 60, 20)
  }
  for (number, report) in found.enumerated() {
    // 20x20 of 160x120 pixels are a share of 1/48. The position before adds to it.
    expectGreater(report.score, 0.9 / 48)
    expectLess(report.score, 2.0 / 48)
    expectAtLeast(report.regions, 1)
    expectAtMost(report.regions, 2)
    let left = Double(40 + 4 * number) / 160
    expectAtMost(report.x, left)
    expectAtLeast(report.x + report.width, left + 0.125)
    expectLess((report.y - 0.5).magnitude, 0.02)
    expectLess((report.height - 20.0 / 120).magnitude, 0.03)
    expectGreater(report.grid[8] + report.grid[9] + report.grid[10] + report.grid[11], 0)
    expectTrue(report.grid[0] == 0 && report.grid[15] == 0 && !report.sceneChanged)
    // The cells are of equal size, so that their mean is that of the picture.
    let mean = (0..<16).reduce(0) { $0 + report.grid[$1] } / 16
    expectLess((mean - report.score).magnitude, 1e-9)
  }
}

@Test func aChangeOfLightIsNoMotion() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let brighter = reports(20, &stage, &scene) { _, scene in scene.light = 1.25 }
  expectTrue(brighter.allSatisfy { $0.score < 0.02 && !$0.sceneChanged })
  expectTrue(brighter[0].light > 15 && brighter[0].light < 45)
}

@Test func aLampIsLearnedAtOnce() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let lit = reports(20, &stage, &scene) { _, scene in scene.light = 1.8 }
  expectGreater(lit[0].light, 25)
  expectTrue(lit.allSatisfy { $0.score == 0 && !$0.sceneChanged })
  expectTrue(lit.count { $0.subjectAreaChanged } == 1 && lit[19].light.magnitude < 2)
}

@Test func rainIsNoMotion() throws {
  var (stage, scene) = (try detector(), Scene())
  scene.rain = 0.01
  let found = reports(60, &stage, &scene)
  expectTrue(found.dropFirst(20).allSatisfy { $0.score < 0.002 })
}

@Test func anotherSceneIsToldOnce() throws {
  var (stage, scene) = (try detector(), Scene())
  let found = reports(80, &stage, &scene) { number, scene in scene.other = number >= 40 }
  expectEqual(found.indices.filter { found[$0].sceneChanged }, [40])
  expectTrue(found.dropFirst(42).allSatisfy { $0.score == 0 })
  // 15 frames are half a second.
  expectEqual(found.indices.filter { found[$0].subjectAreaChanged }, [55])
}

@Test func aPasserByIsNoChangeOfTheSubjectArea() throws {
  var (stage, scene) = (try detector(), Scene())
  let found = reports(70, &stage, &scene) { number, scene in
    scene.box = (30..<40).contains(number) ? (40, 20, 80) : nil
  }
  expectTrue(found.allSatisfy { !$0.subjectAreaChanged })
  expectGreater(found[35].score, 0.3)
}

@Test func whatStopsBecomesBackgroundAfterThatTime() throws {
  var (stage, scene) = (try detector { $0.memory = .seconds(1) }, Scene())
  let found = reports(110, &stage, &scene) { number, scene in
    scene.box = number >= 40 ? (40, 60, 20) : nil
  }
  // 30 frames are 1 s; the box appears in frame 40. Outliers of the noise delay it by some frames.
  expectTrue(found[41..<69].allSatisfy { $0.score > 0.9 / 48 })
  expectTrue(found[90...].allSatisfy { $0.score == 0 })
}

@Test func aPauseBeforeAThingAppearsIsNoTimeThatItStood() throws {
  var (stage, scene) = (try detector { $0.memory = .seconds(5) }, Scene())
  _ = reports(40, &stage, &scene)
  scene.time += 60_000_000_000
  scene.box = (40, 60, 20)
  expectTrue(reports(60, &stage, &scene).allSatisfy { $0.score > 0.9 / 48 })
}

@Test func timesThatStandStillOrGoBackAreTaken() throws {
  var (stage, scene) = (try detector(), Scene())
  let found = reports(60, &stage, &scene) { number, scene in
    if number % 3 == 0 { scene.time -= 50_000_000 }
  }
  expectTrue(found.allSatisfy { $0.score == 0 && !$0.sceneChanged && $0.frozenSeconds == 0 })
}

@Test func onlyDifferencesAboveTheThresholdCount() throws {
  var (stage, scene) = (try detector { $0.threshold = 100 }, Scene())
  _ = reports(40, &stage, &scene)
  scene.box = (140, 60, 20)
  let faint = stage.report(on: scene.frame())
  scene.box = (0, 60, 20)
  let strong = stage.report(on: scene.frame())
  // The box has level 220; the background has 40 at column 0, and at least 127 at column 140.
  expectEqual(faint.score, 0)
  expectGreater(strong.score, 0.5 / 48)
}

@Test func aFrozenPictureIsTimed() throws {
  var (stage, scene) = (try detector(), Scene())
  let still = scene.frame()
  for number in 0..<31 {
    var frame = still
    frame.record.captured = Timestamp(nanoseconds: Int64(number) * 100_000_000, clock: .monotonic)
    let report = stage.report(on: frame)
    expectLess((report.frozenSeconds - Double(number) / 10).magnitude, 1e-9)
  }
  let moving = stage.report(on: scene.frame())
  expectEqual(moving.frozenSeconds, 0)
}

/// A cover gives all samples one level, which no change of exposure does.
@Test(arguments: [0.0, 0.02, 48]) func aCoveredLensIsAnotherScene(level: Double) throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  scene.cover = level
  let covered = reports(30, &stage, &scene)
  expectTrue(covered[0].sceneChanged && covered[0].score > 0.9 && covered[0].light == 0)
  expectTrue(covered.allSatisfy { $0.isDark == (level < 24) })
  expectTrue(covered.dropFirst(2).allSatisfy { $0.score == 0 })
  expectEqual(covered.count { $0.subjectAreaChanged }, 1)
  scene.cover = nil
  let open = stage.report(on: scene.frame())
  expectTrue(open.sceneChanged)
  expectFalse(open.isDark)
}

/// The square holds all samples of its band, and becomes brighter than brighter bands.
@Test func aDarkThingThatTurnsWhiteMoves() throws {
  var (stage, scene) = (try detector(), Scene())
  scene.box = (100, 40, 40)
  scene.boxLevel = 5
  _ = reports(40, &stage, &scene)
  scene.boxLevel = 250
  let report = stage.report(on: scene.frame())
  expectGreater(report.score, 0.9 / 12)
  expectLess(report.score, 1.1 / 12)
  expectAtMost(report.light.magnitude, 1)
}

@Test func onlyTheRegionIsWatched() throws {
  var stage = try detector { $0.region = Region(x: 0.5, y: 0.5, width: 0.5, height: 0.5) }
  var scene = Scene()
  _ = reports(40, &stage, &scene)
  scene.box = (20, 20, 20)
  let outside = stage.report(on: scene.frame())
  expectEqual(outside.score, 0)
  scene.box = (120, 80, 20)
  let report = stage.report(on: scene.frame())
  expectGreater(report.score, 3.6 / 48)
  expectLess((report.x - 0.75).magnitude, 0.02)
  expectLess((report.y - 2.0 / 3).magnitude, 0.03)
}

@Test func nothingIsAllocatedAfterTheFirstFrame() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = stage.process(scene.frame())
  scene.box = (40, 60, 20)
  let box = stage.process(scene.frame())
  expectEqual(box.allocations, 0)
  scene.other = true
  let other = stage.process(scene.frame())
  expectEqual(other.allocations, 0)
}

@Test func everySizeAndFormatIsTaken() throws {
  for format in [PixelFormat.grey, .yuyv, .nv12, .i420] {
    for (width, height) in TestFrame.sizes + [(81, 79), (161, 1), (1, 200)] {
      for region in [Region.whole, Region(x: 0.4, y: 0.4, width: 0.01, height: 0.01)] {
        func frame(_ pattern: TestPattern, _ number: Int) -> TestFrame {
          var frame = TestFrame(
            format, width: width, height: height, color: .jpeg, pattern, seed: UInt64(number + 1))
          frame.record.captured = Timestamp(
            nanoseconds: Int64(number) * 33_333_333, clock: .monotonic)
          return frame
        }
        var detector = MotionDetector()
        detector.settings.region = region
        var stage = try StageUnderTest(detector, for: frame(.zeros, 0))
        for number in 0..<40 { _ = stage.process(frame(.zeros, number)) }
        let shown = stage.process(frame(.full, 40))
        let report = try #require(shown.report)
        // A picture of one tone: a cover cannot be distinguished from a change of light.
        expectGreater(report.light, 200, "\(format) \(width)x\(height)")
        expectEqual(report.score, 0, "\(format) \(width)x\(height)")
        for number in 41..<44 {
          let shown = stage.process(frame(.random, number))
          let report = try #require(shown.report)
          expectEqual(shown.allocations, 0)
          expectTrue((0...1).contains(report.score))
          expectAtLeast(report.x, 0)
          expectAtLeast(report.y, 0)
          expectAtLeast(report.width, 0)
          expectAtLeast(report.height, 0)
          expectAtMost(report.x + report.width, 1.000001)
          expectAtMost(report.y + report.height, 1.000001)
          for cell in 0..<16 { expectTrue((0...1).contains(report.grid[cell])) }
        }
      }
    }
  }
}

/// Compares regions and shares with a slow implementation.
@Test func areasEqualTheirSlowTwin() {
  var random = TestRandom(seed: 9)
  for (width, height) in [(1, 1), (1, 7), (7, 1), (5, 4), (33, 17)] {
    for density in [0.1, 0.4, 0.8] {
      let differs = (0..<width * height).map { _ -> UInt8 in
        Double.random(in: 0..<1, using: &random) < density ? 1 : 0
      }
      var area = ChangedArea(width: width, height: height)
      area.find(differs)
      func near(_ a: Int, _ b: Int) -> Bool {
        abs(a % width - b % width) <= 1 && abs(a / width - b / width) <= 1
      }
      let moving = differs.indices.filter { index in
        differs[index] == 1
          && differs.indices.filter { near(index, $0) && differs[$0] == 1 }.count
            >= min(3, differs.indices.count { near(index, $0) })
      }
      expectEqual(area.changed.indices.filter { area.changed[$0] != 0 }, moving)
      var regions: [Set<Int>] = []
      for index in moving {
        let touching = regions.filter { $0.contains { near($0, index) } }
        regions.removeAll { touching.contains($0) }
        regions.append(touching.reduce(into: [index]) { $0.formUnion($1) })
      }
      expectEqual(Int(area.regions), regions.count)
      let most = regions.map(\.count).max() ?? 0
      let boxes = regions.filter { $0.count == most }.map { region in
        let (columns, rows) = (region.map { $0 % width }, region.map { $0 / width })
        return [columns.min(), columns.max(), rows.min(), rows.max()]
      }
      let box = area.largest
      let found = [
        box.columns.lowerBound, box.columns.upperBound - 1, box.rows.lowerBound,
        box.rows.upperBound - 1,
      ]
      expectTrue(boxes.isEmpty ? box.columns.isEmpty : boxes.contains(found))
      expectEqual(area.share, Double(moving.count) / Double(width * height))
    }
  }
}
