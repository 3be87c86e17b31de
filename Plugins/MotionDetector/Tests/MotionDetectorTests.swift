import SprocketTesting
import Testing

@testable import MotionDetector

/// A scene of 160x120, which is compared at 80x60 samples of 2x2 pixels, and things in it.
private struct Scene {
  static let (width, height) = (160, 120)
  var random = TestRandom(seed: 5)
  /// Standard deviation of the noise of a pixel, in levels.
  var noise = 4.0
  /// A bright box: its place and size in pixels.
  var box: (x: Int, y: Int, side: Int)?
  /// Factor on the light.
  var light = 1.0
  /// Which of two scenes.
  var other = false
  /// Share of the samples of 2x2 pixels that a drop makes 80 levels brighter.
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
          level = 220
        }
        if !drops.isEmpty, drops.contains(y / 2 * 80 + x / 2) { level += 80 }
        // Two uniform numbers have a triangular sum, whose deviation is sqrt(1/6) of the range.
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

/// Shows frames to one stage, and returns its reports.
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
  _ scene: Scene = Scene(), _ change: (inout MotionDetector) -> Void = { _ in }
) throws -> StageUnderTest<MotionDetector> {
  var detector = MotionDetector()
  change(&detector)
  var first = scene
  return try StageUnderTest(detector, for: first.frame())
}

@Test func nothingMovesInNoise() throws {
  var (stage, scene) = (try detector(), Scene())
  for report in reports(40, &stage, &scene) {
    #expect(report.score == 0 && report.regions == 0 && report.light.magnitude <= 1)
    #expect(!report.sceneChanged && !report.subjectAreaChanged && !report.isDark)
    #expect(report.frozenSeconds == 0)
  }
}

@Test func aThingThatMovesIsFoundWhereItIs() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let found = reports(10, &stage, &scene) { number, scene in
    scene.box = (40 + 4 * number, 60, 20)
  }
  for (number, report) in found.enumerated() {
    // 20x20 of 160x120 pixels: a share of 1/48, more by the traces that the box leaves.
    #expect(report.score > 0.9 / 48 && report.score < 2.0 / 48)
    #expect(report.regions >= 1 && report.regions <= 2)
    let left = Double(40 + 4 * number) / 160
    #expect(report.x <= left && report.x + report.width >= left + 0.125)
    #expect((report.y - 0.5).magnitude < 0.02 && (report.height - 20.0 / 120).magnitude < 0.03)
    #expect(report.grid[8] + report.grid[9] + report.grid[10] + report.grid[11] > 0)
    #expect(report.grid[0] == 0 && report.grid[15] == 0 && !report.sceneChanged)
  }
}

@Test func aChangeOfLightIsNoMotion() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let brighter = reports(20, &stage, &scene) { _, scene in scene.light = 1.25 }
  #expect(brighter.allSatisfy { $0.score < 0.02 && !$0.sceneChanged })
  #expect(brighter[0].light > 15 && brighter[0].light < 45)
}

@Test func aLampIsLearnedAtOnce() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = reports(40, &stage, &scene)
  let lit = reports(20, &stage, &scene) { _, scene in scene.light = 1.8 }
  #expect(lit[0].light > 25 && lit.allSatisfy { $0.score == 0 && !$0.sceneChanged })
  #expect(lit.count { $0.subjectAreaChanged } == 1 && lit[19].light.magnitude < 2)
}

@Test func rainIsNoMotion() throws {
  var (stage, scene) = (try detector(), Scene())
  scene.rain = 0.01
  let found = reports(60, &stage, &scene)
  #expect(found.dropFirst(20).allSatisfy { $0.score < 0.002 })
}

@Test func anotherSceneIsToldOnce() throws {
  var (stage, scene) = (try detector(), Scene())
  let found = reports(80, &stage, &scene) { number, scene in scene.other = number >= 40 }
  #expect(found.indices.filter { found[$0].sceneChanged } == [40])
  #expect(found.dropFirst(42).allSatisfy { $0.score == 0 })
  // Half a second of 30 frames/s later.
  #expect(found.indices.filter { found[$0].subjectAreaChanged } == [55])
}

@Test func aPasserByIsNoChangeOfTheSubjectArea() throws {
  var (stage, scene) = (try detector(), Scene())
  let found = reports(70, &stage, &scene) { number, scene in
    scene.box = (30..<40).contains(number) ? (40, 20, 80) : nil
  }
  #expect(found.allSatisfy { !$0.subjectAreaChanged })
  #expect(found[35].score > 0.3)
}

@Test func whatStopsBecomesBackground() throws {
  var (stage, scene) = (try detector { $0.memory = .milliseconds(200) }, Scene())
  let found = reports(140, &stage, &scene) { number, scene in
    scene.box = number >= 40 ? (40, 60, 20) : nil
  }
  #expect(found[41].score > 0.9 / 48 && found[139].score == 0)
}

@Test func aFrozenPictureIsTimed() throws {
  var (stage, scene) = (try detector(), Scene())
  let still = scene.frame()
  for number in 0..<31 {
    var frame = still
    frame.record.captured = Timestamp(nanoseconds: Int64(number) * 100_000_000, clock: .monotonic)
    let report = stage.report(on: frame)
    #expect((report.frozenSeconds - Double(number) / 10).magnitude < 1e-9)
  }
  let moving = stage.report(on: scene.frame())
  #expect(moving.frozenSeconds == 0)
}

@Test func aCoveredLensIsDark() throws {
  var (stage, scene) = (try detector(), Scene(noise: 3, light: 0.02))
  let covered = reports(3, &stage, &scene)
  #expect(covered.allSatisfy { $0.isDark })
  scene.light = 1
  let open = stage.report(on: scene.frame())
  #expect(!open.isDark)
}

@Test func onlyTheRegionIsWatched() throws {
  var stage = try detector { $0.region = Region(x: 0.5, y: 0.5, width: 0.5, height: 0.5) }
  var scene = Scene()
  _ = reports(40, &stage, &scene)
  scene.box = (20, 20, 20)
  let outside = stage.report(on: scene.frame())
  #expect(outside.score == 0)
  scene.box = (120, 80, 20)
  let report = stage.report(on: scene.frame())
  #expect(report.score > 3.6 / 48 && (report.x - 0.75).magnitude < 0.02)
  #expect((report.y - 2.0 / 3).magnitude < 0.03)
}

@Test func nothingIsAllocatedAfterTheFirstFrame() throws {
  var (stage, scene) = (try detector(), Scene())
  _ = stage.process(scene.frame())
  scene.box = (40, 60, 20)
  let box = stage.process(scene.frame())
  #expect(box.allocations == 0)
  scene.other = true
  let other = stage.process(scene.frame())
  #expect(other.allocations == 0)
}

@Test func everySizeAndFormatIsTaken() throws {
  let difference = try StageUnderTest.firstDifference(of: MotionDetector()) { shown in
    shown.report?.score == 0 && shown.allocations == 0 ? nil : "a first frame that moves"
  }
  #expect(difference == nil)
}

/// Regions and shares, against a search that looks at one sample after the other.
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
          && differs.indices.filter { near(index, $0) }.reduce(0) { $0 + Int(differs[$1]) } >= 3
      }
      #expect(area.changed.indices.filter { area.changed[$0] == 1 } == moving)
      var regions: [Set<Int>] = []
      for index in moving {
        let touching = regions.filter { $0.contains { near($0, index) } }
        regions.removeAll { touching.contains($0) }
        regions.append(touching.reduce(into: [index]) { $0.formUnion($1) })
      }
      #expect(Int(area.regions) == regions.count)
      #expect(area.share == Double(moving.count) / Double(width * height))
    }
  }
}
