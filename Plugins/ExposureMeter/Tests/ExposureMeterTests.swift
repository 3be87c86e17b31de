import Glibc
import SprocketTesting
import TestExpectations
import Testing

@testable import ExposureMeter

func isClose(_ value: Double, _ expected: Double) -> Bool {
  abs(value - expected) <= 1e-12 * max(abs(expected), 1)
}

private func report(_ frame: TestFrame) throws -> ExposureReport {
  var stage = try StageUnderTest(ExposureMeter(), for: frame)
  return stage.report(on: frame)
}

/// `(7x + 13y + xy) mod 256`, 37 by 23 pixels.
private func sample(_ transfer: Color.Transfer) -> TestFrame {
  let luma = (0..<37 * 23).map { index -> UInt8 in
    let (x, y) = (index % 37, index / 37)
    return UInt8((7 * x + 13 * y + x * y) % 256)
  }
  return TestFrame(
    width: 37, height: 23, color: Color(range: .full, transfer: transfer), luma: luma)
}

@Test func agreesWithNumPy() throws {
  // numpy: p.mean(), (p >= 254).sum(), (p <= 1).sum(), np.bincount(p.ravel()).
  let report = try report(sample(.srgb))
  expectTrue(isClose(report.mean, 127.0705052878966))
  expectEqual(report.clipped, 5.0 / 851)
  expectEqual(report.crushed, 4.0 / 851)
  let levels = [0, 1, 100, 254, 255]
  expectEqual(levels.map { report.histogram[$0] }, [1, 3, 2, 2, 3])
}

@Test(arguments: [
  // numpy: l = np.log2(L(p)); .75 * l[6:17, 9:28].mean() + .25 * the rest's mean.
  (Color.Transfer.srgb, -2.8768404856419365), (.bt709, -2.447238353580235),
  (.unspecified, -2.447238353580235), (.gamma22, -3.09816587259923),
  (.linear, -1.4082572148178318),
])
func weighsTheCentreAsNumPyDoes(_ transfer: Color.Transfer, expected: Double) throws {
  expectTrue(isClose(try report(sample(transfer)).logLuminance, expected))
}

@Test(arguments: TestPattern.allCases)
func equalsItsSlowTwin(_ pattern: TestPattern) throws {
  let sizes = [
    (1, 1), (2, 2), (3, 3), (1, 9), (9, 1), (4, 4), (15, 4), (16, 16), (17, 5), (101, 7),
  ]
  for (width, height) in sizes {
    let luma = pattern.bytes(width * height, seed: 11)
    let report = try report(TestFrame(width: width, height: height, luma: luma))
    for level in 0..<256 {
      expectEqual(Int(report.histogram[level]), luma.count { $0 == level })
    }
    let sum = luma.reduce(0) { $0 + Int($1) }
    expectEqual(report.mean, Double(sum) / Double(luma.count))
  }
}

@Test func aWhitePictureIsAtFullScaleAndAGreyOneBelow() throws {
  let white = try report(TestFrame(width: 8, height: 8, luma: .init(repeating: 255, count: 64)))
  expectEqual(white.logLuminance, 0)
  expectTrue(isClose(white.offset, -log2(0.18)))
  expectEqual(white.clipped, 1)
  expectEqual(white.crushed, 0)
  // sRGB level 188 is 0.5029 of full light: log2 is -0.99.
  let grey = try report(TestFrame(width: 8, height: 8, luma: .init(repeating: 188, count: 64)))
  expectLess(abs(grey.logLuminance + 0.99), 0.005)
}

@Test func blackIsFinite() throws {
  // Level 1/2 of sRGB: log2(0.5 / 255 / 12.92).
  let black = try report(TestFrame(width: 8, height: 8, luma: .init(repeating: 0, count: 64)))
  expectTrue(isClose(black.logLuminance, log2(0.5 / 255 / 12.92)))
  expectEqual(black.crushed, 1)
}

@Test func theMiddleCarriesThreeQuarters() throws {
  // Linear light: white in the middle 4x4 of 8x8, level 51 = 1/5 around it:
  // 0.75 * 0 + 0.25 * log2(1/5).
  let luma = (0..<64).map { index -> UInt8 in
    (2..<6).contains(index % 8) && (2..<6).contains(index / 8) ? 255 : 51
  }
  let color = Color(range: .full, transfer: .linear)
  let report = try report(TestFrame(width: 8, height: 8, color: color, luma: luma))
  expectTrue(isClose(report.logLuminance, 0.25 * log2(0.2)))
}

@Test func readsFullLumaAndWritesNothing() throws {
  let stage = try StageUnderTest(ExposureMeter(), for: sample(.srgb))
  expectEqual(stage.parts, .luma(.full))
  expectNil(stage.writing)
}
