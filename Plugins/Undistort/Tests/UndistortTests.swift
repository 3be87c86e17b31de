import Glibc
import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import Undistort

/// A stage with the calibration of a text.
private struct Bench {
  let scratch: Scratch
  let path: String

  init(_ text: String) throws {
    scratch = try Scratch()
    path = try scratch.write("camera.yml", Array(text.utf8))
  }

  func stage(alpha: Double = -1) -> Undistort {
    var stage = Undistort()
    (stage.settings.calibration, stage.settings.alpha) = (InputName(path), alpha)
    return stage
  }
}

/// Samples of a plane, and black beyond it, by bilinear interpolation in double precision.
private struct SlowPlane {
  let samples: [Double]
  let width: Int
  let height: Int
  let black: Double

  init(_ frame: TestFrame, _ plane: Int) {
    let pixels = frame.format.pixelFormat
    let size = pixels.plane(plane, width: frame.format.width, height: frame.format.height)
    let bytes = frame.planes[plane].map(Double.init)
    (width, height) = (size.bytesPerRow / (pixels.isDeep ? 2 : 1), size.rows)
    samples =
      pixels.isDeep
      ? (0..<bytes.count / 2).map { index -> Double in
        bytes[2 * index] + 256 * bytes[2 * index + 1]
      } : bytes
    let scale = Double(1 << (pixels.bitsPerSample - 8))
    black = plane > 0 ? 128 * scale : frame.format.color.range == .full ? 0 : 16 * scale
  }

  func sample(_ x: Double, _ y: Double) -> Double {
    let (left, top) = (x.rounded(.down), y.rounded(.down))
    func at(_ column: Double, _ row: Double) -> Double {
      guard (0..<Double(width)).contains(column), (0..<Double(height)).contains(row) else {
        return black
      }
      return samples[Int(row) * width + Int(column)]
    }
    let upper = at(left, top) * (1 - x + left) + at(left + 1, top) * (x - left)
    let lower = at(left, top + 1) * (1 - x + left) + at(left + 1, top + 1) * (x - left)
    return upper * (1 - y + top) + lower * (y - top)
  }
}

/// The greatest distance from the slow twin, in levels.
private func distance(_ picture: TestFrame, from seen: TestFrame, _ lens: Lens) -> Double {
  let pixels = picture.format.pixelFormat
  var most = 0.0
  for plane in picture.planes.indices {
    let (source, result) = (SlowPlane(seen, plane), SlowPlane(picture, plane))
    let chroma = plane == 0 ? nil : pixels.subsampling
    let (across, down) = (
      Double(chroma?.horizontalFactor ?? 1), Double(chroma?.verticalFactor ?? 1)
    )
    for y in 0..<result.height {
      for x in 0..<result.width {
        let from = lens.distort(
          (Double(x) + 0.5) * across - 0.5, (Double(y) + 0.5) * down - 0.5)
        let exact = source.sample(
          (from.x + 0.5) / across - 0.5, (from.y + 0.5) / down - 0.5)
        most = max(most, abs(result.samples[y * result.width + x] - exact))
      }
    }
  }
  return most
}

@Suite struct UndistortTests {
  /// Half a level is rounding. A place is off by a 2048th of a sample at most on each axis, which is two
  /// 2048ths of the range at most.
  @Test(arguments: [
    CalibrationTexts.yaml(), CalibrationTexts.yaml([0.4, -0.1, 0.01, 0.02]),
    CalibrationTexts.yaml([-0.2, 0.1, 0, 0, 0.1, 0.2, 0.1, 0, 0.01, 0, -0.01, 0, 0.05, -0.03]),
    CalibrationTexts.yaml(CalibrationTexts.fisheye, more: "fisheye_model: 1\n"),
  ])
  func equalsItsSlowTwinInEveryFormatAndAllocatesNothing(_ text: String) throws {
    let bench = try Bench(text)
    for color in [Color.jpeg, .video] {
      let difference = try StageUnderTest.firstDifference(
        of: bench.stage(), formats: TestFrame.formats.filter(\.isPlanar),
        sizes: [(4, 3), (36, 27), (33, 25)], color: color
      ) { shown in
        guard let picture = shown.picture, let seen = shown.seen, let lens = picture.format.lens
        else { return "no picture" }
        guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
        let range = Double((1 << picture.format.pixelFormat.bitsPerSample) - 1)
        let found = distance(picture, from: seen, lens)
        return found <= 0.5 + range / 1024 ? nil : "\(found) levels"
      }
      expectNil(difference)
    }
  }

  @Test func aLensWithoutDistortionLeavesThePictureAsItIs() throws {
    let bench = try Bench(CalibrationTexts.yaml([0, 0, 0, 0]))
    let difference = try StageUnderTest.firstDifference(
      of: bench.stage(), sizes: [(4, 3), (36, 27), (33, 25)]
    ) { shown in
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      return picture.difference(from: seen.planes)
    }
    expectNil(difference)
  }

  @Test func reportsMatricesAndLens() throws {
    let bench = try Bench(CalibrationTexts.yaml())
    var frame = TestFrame(.grey, width: 160, height: 120, .random)
    frame.sensorMap = frame.sensorMap.followed(by: Projection(pixelsAcross: 4, down: 4))
    var stage = try StageUnderTest(bench.stage(), for: frame)
    let shown = stage.process(frame)
    let (report, picture) = (try #require(shown.report), try #require(shown.picture))
    let lens = try #require(picture.format.lens)
    expectEqual(report.distortion, lens.distortion)
    expectEqual(report.model, .pinhole)
    expectTrue(report.cameraMatrix[0] == 150 && report.cameraMatrix[4] == 155)
    expectTrue(report.newCameraMatrix[2] == 80 && report.cameraMatrix[8] == 1)
    expectTrue(report.sensorFromDistorted[0] == 4 && report.sensorFromDistorted[2] == 1.5)
    expectTrue(report.undistortedFromPicture[0] == 1 && report.undistortedFromPicture[2] == 0)
    // The optical centre is not moved, but by the tangential terms, which are 0 there.
    let center = picture.sensorMap.sensorPoint(
      lens.camera.centerX, lens.camera.centerY, through: lens)
    expectLess(abs(center.x - (4 * 80 + 1.5)), 1e-9)
    expectLess(abs(center.y - (4 * 59.25 + 1.5)), 1e-9)
    expectEmpty(stage.stage.notes)
  }

  @Test func saysThatACutPictureIsNotThatOfTheCalibration() throws {
    let bench = try Bench(CalibrationTexts.yaml())
    var frame = TestFrame(.grey, width: 160, height: 120, .random)
    frame.sensorMap = frame.sensorMap.followed(by: Projection(shiftX: 80, shiftY: 60))
    var stage = try StageUnderTest(bench.stage(), for: frame)
    _ = stage.process(frame)
    expectEqual(stage.stage.notes.first?.contains("put undistort first"), true)
  }

  /// A white picture stays white where no border is to be seen, and gets black corners where all of its
  /// pixels are kept.
  @Test(arguments: [CalibrationTexts.yaml(), CalibrationTexts.yaml([0.3, 0.05, 0, 0])])
  func alphaChoosesBetweenBordersAndLostPixels(_ text: String) throws {
    let bench = try Bench(text)
    let frame = TestFrame(.grey, width: 320, height: 240, .full)
    func black(_ alpha: Double) throws -> Int {
      var stage = try StageUnderTest(bench.stage(alpha: alpha), for: frame)
      return try #require(stage.process(frame).picture).planes[0].count { $0 < 128 }
    }
    try expectEqual(black(0), 0)
    try expectGreater(black(1), 500)
  }

  @Test func refusesASecondLensAndAMissingFile() throws {
    let bench = try Bench(CalibrationTexts.yaml())
    var frame = TestFrame(.grey, width: 320, height: 240, .ramp)
    #expect {
      try StageUnderTest(Undistort(), for: frame)
    } throws: {
      "\($0)".hasPrefix("needs a calibration file")
    }
    var stage = Undistort()
    stage.settings.calibration = InputName(bench.scratch.path("none.yml"))
    #expect {
      try StageUnderTest(stage, for: frame)
    } throws: {
      "\($0)".hasPrefix("cannot use \(stage.settings.calibration.path): No such file")
    }
    frame.format.lens = try Calibration(Array(CalibrationTexts.xml.utf8))
      .lens(.auto, alpha: -1, width: 320, height: 240)
    #expect {
      try StageUnderTest(bench.stage(), for: frame)
    } throws: {
      "\($0)".hasPrefix("removes the distortion of a lens, and a stage before it has done so")
    }
  }

  @Test func workersDoNotChangeIt() throws {
    let bench = try Bench(CalibrationTexts.yaml())
    let pictures = (0..<20).map { TestFrame(.i420, width: 40, height: 30, .random, seed: $0 + 1) }
    let stage = StageChoice.undistort { $0.calibration = InputName(bench.path) }
    try expectNil(TestRun.firstDifference(through: [stage]) { TestCamera(pictures) })
  }
}
