import Glibc
import SprocketTesting
import TestExpectations
import Testing

@testable import ExposureMeter

private func report(
  _ frame: TestFrame, _ mode: MeteringMode, point: Point = .center, samples: Int = 0
) throws -> ExposureReport {
  var meter = ExposureMeter()
  (meter.settings.mode, meter.settings.point, meter.settings.samples) = (mode, point, samples)
  var stage = try StageUnderTest(meter, for: frame)
  return stage.report(on: frame)
}

private let sizes = [
  (1, 1), (2, 2), (1, 9), (9, 1), (8, 8), (15, 4), (17, 9), (101, 7), (64, 48), (97, 35),
]

@Test(arguments: MeteringMode.allCases, TestPattern.allCases)
func everyModeEqualsItsSlowTwin(_ mode: MeteringMode, _ pattern: TestPattern) throws {
  for (width, height) in sizes {
    let luma = pattern.bytes(width * height, seed: 11)
    let twin = SlowMeter(luma: luma, width: width, height: height)
    for point in [Point.center, Point(x: 0, y: 1), Point(x: 0.9, y: 0.3)] {
      let found = try report(
        TestFrame(width: width, height: height, luma: luma), mode, point: point)
      expectTrue(
        isClose(found.logLuminance, twin.value(mode, point)), "\(width)x\(height) \(point)")
      expectEqual(Int(found.samples), luma.count)
    }
  }
}

/// Of 300 rows, 128 at the least: rows of the grid in the bands that each mode has.
private func bands(_ mode: MeteringMode) -> [(rows: Range<Int>, count: Int)] {
  switch mode {
  case .average, .spot, .highlights: [(0..<300, 128)]
  // 32 of 75 rows, and 64 of 150.
  case .center: [(0..<75, 32), (75..<225, 64), (225..<300, 32)]
  // Of 33 rows, 128 / 300 are 14.08; of 34, 14.5.
  case .zones:
    [0, 33, 66, 100, 133, 166, 200, 233, 266].map {
      ($0..<($0 + 34 + ($0 % 100 == 66 ? 0 : -1)), 15)
    }
  }
}

@Test(arguments: MeteringMode.allCases)
func theGridIsSampledAsTheSlowTwinDoes(_ mode: MeteringMode) throws {
  let (width, height) = (37, 300)
  let luma = TestPattern.random.bytes(width * height, seed: 5)
  let twin = SlowMeter(luma: luma, width: width, height: height, bands: bands(mode))
  let point = Point(x: 0.2, y: 0.7)
  let found = try report(
    TestFrame(width: width, height: height, luma: luma), mode, point: point, samples: 1)
  expectTrue(isClose(found.logLuminance, twin.value(mode, point)))
  expectEqual(Int(found.samples), twin.pixels.count)
  for level in 0..<256 {
    expectEqual(Int(found.histogram[level]), twin.pixels.count { $0.level == level })
  }
}

@Test(arguments: TestPattern.allCases)
func shadowAndHighlightArePercentiles(_ pattern: TestPattern) throws {
  for (width, height) in sizes {
    let luma = pattern.bytes(width * height, seed: 3)
    let twin = SlowMeter(luma: luma, width: width, height: height)
    let found = try report(TestFrame(width: width, height: height, luma: luma), .average)
    expectTrue(isClose(found.shadow, twin.percentile(0.01)), "\(width)x\(height)")
    expectTrue(isClose(found.highlight, twin.percentile(0.99)), "\(width)x\(height)")
  }
}

@Test func theGridHasAsManyPixelsAsAskedForAndNoMoreThanNeeded() {
  let sizes = [
    (1920, 1080), (1280, 720), (640, 480), (176, 144), (5312, 2988), (37, 65), (640, 200),
  ]
  for (width, height) in sizes {
    for samples in [0, 1, 1000, 262_144, 10_000_000] {
      let grid = SamplingGrid(samples: samples, width: width, height: height)
      let rows = grid.count(of: 0..<height)
      let wanted = samples == 0 ? width * height : min(samples, width * height)
      expectAtLeast(rows * width, wanted, "\(width)x\(height), \(samples)")
      expectAtMost(rows, max(wanted / width + 2, SamplingGrid.fewestRows + 1))
      expectAtLeast(rows, min(height, SamplingGrid.fewestRows))
    }
  }
  // 262,144 pixels are 136.5 rows of 1920.
  expectEqual(SamplingGrid(samples: 262_144, width: 1920, height: 1080).count(of: 0..<1080), 137)
}

@Test func theGridMeetsOddAndEvenRows() {
  // 128 of 1024 rows would be one in 8.
  let grid = SamplingGrid(samples: 1, width: 1, height: 1024)
  expectEqual(grid.count(of: 0..<1024), 129)
  let rows = (0..<129).map { grid.row($0, of: 129, in: 0..<1024) }
  expectEqual(Set(rows).count, 129)
  expectTrue((0..<8).allSatisfy { phase in rows.contains { $0 % 8 == phase } })
  // A zone of 8K: 15 of 480 rows would be one in 32, and 16 one in 30.
  let large = SamplingGrid(samples: 1, width: 7680, height: 4320)
  expectEqual(large.count(of: 480..<960), 17)
}

@Test func zonesWeighFourInTheMiddleOneAtTheEdgesNothingInTheCorners() {
  let weights = MeteringPattern(.zones, around: .center, width: 90, height: 90).weights
  expectEqual(weights.count, 81)
  expectEqual(weights[40], 1)
  for edge in [4, 36, 44, 76] { expectEqual(weights[edge], 0.25) }
  for corner in [0, 8, 72, 80] { expectEqual(weights[corner], 0) }
  // Half way to an edge; three quarters and a whole way, of which the distance is 5/4.
  expectEqual(weights[38], 0.625)
  expectEqual(weights[1], 0.0625)
}

@Test func lightThatFallsEvenlyIsMeteredWithoutError() throws {
  // From level 255 at the top to 128 at the bottom, a sixth of a level per row.
  let (width, height) = (9, 768)
  let luma = (0..<width * height).map { UInt8(255 - $0 / width / 6) }
  for mode in [MeteringMode.average, .center, .zones] {
    let frame = TestFrame(width: width, height: height, luma: luma)
    let all = try report(frame, mode)
    let some = try report(frame, mode, samples: 1)
    expectLess(some.samples, all.samples / 4)
    expectLess(abs(some.logLuminance - all.logLuminance), 0.001, "\(mode)")
  }
}

@Test func everyModeCoversThePictureOnce() {
  for mode in MeteringMode.allCases {
    for (width, height) in sizes {
      var times = [Int](repeating: 0, count: width * height)
      let pattern = MeteringPattern(mode, around: .center, width: width, height: height)
      for band in pattern.bands {
        for y in band.rows {
          for x in band.parts.flatMap(\.columns) { times[y * width + x] += 1 }
        }
      }
      expectTrue(times.allSatisfy { $0 == 1 }, "\(mode) \(width)x\(height)")
    }
  }
}

/// 32 by 32 pixels at level 51, but for 5 by 5 white ones.
private func lamp(x: Int, y: Int) -> TestFrame {
  let luma = (0..<32 * 32).map { index -> UInt8 in
    (x..<x + 5).contains(index % 32) && (y..<y + 5).contains(index / 32) ? 255 : 51
  }
  return TestFrame(width: 32, height: 32, luma: luma)
}

@Test func aSpotSeesItsPlaceAlone() throws {
  let frame = lamp(x: 22, y: 6)
  try expectEqual(report(frame, .spot, point: Point(x: 24.5 / 32, y: 8.5 / 32)).logLuminance, 0)
  let elsewhere = try report(frame, .spot, point: Point(x: 0.2, y: 0.8))
  expectTrue(isClose(elsewhere.logLuminance, log2(SlowMeter.light(51))))
  // What else is reported is the whole picture's.
  expectEqual(elsewhere.clipped, 25.0 / 1024)
}

@Test func highlightsComeFirstWhereTheyAreWeighted() throws {
  // 25 of 1024 pixels are more than 2 %: the brightest are all white, 1 of 0.8.
  let found = try report(lamp(x: 1, y: 1), .highlights)
  expectEqual(found.logLuminance, 0)
  expectTrue(isClose(found.offset, -log2(0.8)))
}

@Test func aLampInTheMiddleWeighsMoreThanOneInACorner() throws {
  for mode in [MeteringMode.center, .zones] {
    let middle = try report(lamp(x: 14, y: 14), mode).logLuminance
    let corner = try report(lamp(x: 0, y: 0), mode).logLuminance
    expectGreater(middle, corner, "\(mode)")
  }
  let average = try [lamp(x: 14, y: 14), lamp(x: 0, y: 0)].map {
    try report($0, .average).logLuminance
  }
  expectEqual(average[0], average[1])
}

@Test(arguments: [
  // Reinhard 2002: 0.18 * 4^f, where f runs from -1, the mean at the least, to 1.
  (-4.0, -8.0, 0.0, 0.18), (0, -8, 0, 0.72), (-8, -8, 0, 0.045), (-6, -8, 0, 0.09),
  (1, -8, 0, 0.72), (-3, -3, -3, 0.18),
])
func theKeyIsReinhards(_ mean: Double, _ least: Double, _ most: Double, _ key: Double) {
  expectTrue(isClose(sceneKey(mean: mean, least: least, most: most), key))
}

@Test func theTargetIsWhereGreyBelongs() throws {
  // BT.2408: 18 % grey is at 38 % of the signal in HLG and in PQ; BT.709 has it at 41 %.
  for (transfer, level) in [(Color.Transfer.hlg, 97), (.pq, 97), (.bt709, 104)] {
    let luma = [UInt8](repeating: UInt8(level), count: 64)
    let color = Color(range: .full, transfer: transfer)
    let frame = TestFrame(width: 8, height: 8, color: color, luma: luma)
    expectLess(abs(try report(frame, .average).offset), 0.1, "\(transfer)")
  }
}

@Test func fullScaleIsAsFarOffAsTheTransferFunctionHasRoomAboveTheTarget() throws {
  // Of white: 26 cd/m2 are 18 % of it in PQ, 0.38 * 0.38 / 3 are in HLG.
  for (transfer, white) in [
    (Color.Transfer.bt709, 1), (.hlg, 0.38 * 0.38 / 3 / 0.18), (.pq, 26 / 0.18 / 10_000),
  ] {
    let color = Color(range: .full, transfer: transfer)
    let luma = [UInt8](repeating: 255, count: 64)
    let frame = TestFrame(width: 8, height: 8, color: color, luma: luma)
    for (mode, target) in [(MeteringMode.average, 0.18), (.highlights, 0.8)] {
      let offset = try report(frame, mode).offset
      expectLess(abs(offset + log2(target * white)), 1e-4, "\(transfer) \(mode)")
    }
  }
}

@Test func settingsAreRefusedBeyondTheirRange() {
  let plugin = ExposureMeter.plugin
  for (name, value) in [("mode", "matrix"), ("point", "2/0"), ("target", "0"), ("samples", "-1")] {
    #expect(throws: RunError.self) { try StageChoice(plugin, [name: value]) }
  }
  #expect(throws: Never.self) {
    try StageChoice(plugin, ["mode": "spot", "point": "0.4/0.6"])
  }
}

@Test func aFrameIsNotMeteredWithTheOneBefore() throws {
  var stage = try StageUnderTest(ExposureMeter(), for: lamp(x: 14, y: 14))
  let first = stage.report(on: lamp(x: 14, y: 14))
  _ = stage.report(on: TestFrame(width: 32, height: 32, luma: .init(repeating: 0, count: 1024)))
  let again = stage.report(on: lamp(x: 14, y: 14))
  expectEqual(again.logLuminance, first.logLuminance)
  expectEqual(again.mean, first.mean)
}
