import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import Undistort

private func calibration(_ text: String) throws(CalibrationError) -> Calibration {
  try Calibration(Array(text.utf8))
}

private func sentence(_ text: String) -> String {
  do throws(CalibrationError) {
    _ = try calibration(text).lens(.auto, alpha: -1, width: 320, height: 240)
    return "none"
  } catch { return error.description }
}

@Suite struct CalibrationTests {
  @Test(arguments: CalibrationTexts.all)
  func readsWhatOpenCVAndROSWrite(_ text: String) throws {
    let found = try calibration(text)
    #expect((found.width, found.height) == (320, 240))
    expectEqual(found.camera, Lens.Camera(focalX: 300, focalY: 310, centerX: 160.5, centerY: 119))
    expectEqual(found.coefficients, [-0.3, 0.1, 0.001, -0.002, 0.02])
    expectFalse(found.isFisheye)
  }

  @Test func placesCoefficientsAsOpenCVOrdersThem() throws {
    let text = CalibrationTexts.yaml((1...14).map { Double($0) / 1000 })
    let lens = try calibration(text).lens(.auto, alpha: -1, width: 320, height: 240)
    let d = lens.distortion
    expectEqual([d.k1, d.k2, d.p1, d.p2, d.k3], [0.001, 0.002, 0.003, 0.004, 0.005])
    expectEqual([d.k4, d.k5, d.k6], [0.006, 0.007, 0.008])
    expectEqual(
      [d.s1, d.s2, d.s3, d.s4, d.tauX, d.tauY], [0.009, 0.01, 0.011, 0.012, 0.013, 0.014])
    expectEqual(lens.model, .pinhole)
    expectEqual(lens.undistorted, lens.camera)
  }

  @Test(arguments: ["fisheye_model: 1\n", "distortion_model: equidistant\n"])
  func knowsAFisheyeByTheFile(_ line: String) throws {
    let text = CalibrationTexts.yaml(CalibrationTexts.fisheye, more: line)
    let lens = try calibration(text).lens(.auto, alpha: -1, width: 320, height: 240)
    expectEqual(lens.model, .fisheye)
    expectEqual([lens.distortion.k3, lens.distortion.k4], [0.003, -0.001])
    let asked = try calibration(text).lens(.pinhole, alpha: -1, width: 320, height: 240)
    expectEqual(asked.model, .pinhole)
    expectEqual(asked.distortion.p1, 0.003)
  }

  /// The middle of the first pixel is half a pixel from the edge, at any size.
  @Test func scalesWithThePicture() throws {
    let found = try calibration(CalibrationTexts.yaml())
    let lens = try found.lens(.auto, alpha: -1, width: 640, height: 480)
    expectEqual(lens.camera, Lens.Camera(focalX: 600, focalY: 620, centerX: 321.5, centerY: 238.5))
    // 107 is 320 / 3, rounded.
    #expect(throws: Never.self) { try found.lens(.auto, alpha: -1, width: 107, height: 80) }
  }

  @Test(arguments: [(320, 180), (240, 320), (160, 240), (320, 243)])
  func refusesAnotherAspect(_ width: Int, _ height: Int) throws {
    let found = try calibration(CalibrationTexts.yaml())
    #expect {
      try found.lens(.auto, alpha: -1, width: width, height: height)
    } throws: {
      "\($0)".contains("another aspect")
    }
  }

  @Test(arguments: [
    ("", "it is not a text"), ("\u{0}\u{1}", "it is not a text"),
    ("a: 1\n", "it has no image_width"),
    ("image_width: 0\n", "its image_width is `0`"), ("image_width: x\n", "its image_width is `x`"),
    ("image_width: 1e9\n", "its image_width is `1e9`"),
    ("image_width: 320\n", "it has no image_height"),
    ("image_width: 320\nimage_height: 240\n", "it has no camera_matrix"),
    (
      "image_width: 320\nimage_height: 240\ncamera_matrix: 5\n", "it has no distortion_coefficients"
    ),
    (CalibrationTexts.yaml([1, 2]), "it has 2 distortion_coefficients"),
    (CalibrationTexts.yaml([.nan, 0, 0, 0]), "distortion_coefficients has `nan`"),
    (CalibrationTexts.yaml([.infinity, 0, 0, 0]), "distortion_coefficients has `inf`"),
    (CalibrationTexts.yaml(Array(repeating: 1, count: 65)), "more than 64 numbers"),
    (CalibrationTexts.yaml(more: "distortion_model: odd\n"), "its distortion_model is `odd`"),
    (CalibrationTexts.yaml(more: "fisheye_model: 1\n"), "and a fisheye has 4"),
    (CalibrationTexts.short.replacing("300", with: "-300"), "its camera_matrix is not"),
    (
      CalibrationTexts.short.replacing("160.5", with: "160.5,7"), "its camera_matrix has 10 numbers"
    ),
    (CalibrationTexts.short.replacing("[300,0", with: "[300,2"), "its camera_matrix has a skew"),
    (CalibrationTexts.short.replacing("310", with: "31o"), "camera_matrix has `31o`"),
  ])
  func saysInOneSentenceWhatIsWrong(_ text: String, _ beginning: String) {
    let found = sentence(text)
    expectTrue(found.contains(beginning))
    expectFalse(found.contains("\n"))
    expectLess(found.count, 200)
  }

  /// Bytes are changed, removed and doubled, and parts of texts put together.
  @Test func noMutationStopsTheProgram() {
    var random = TestRandom(seed: 7)
    let texts = CalibrationTexts.all.map { Array($0.utf8) }
    var accepted = 0
    for _ in 0..<4000 {
      var bytes = texts.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place..<min(place + 20, bytes.count))
        case 2: bytes.insert(contentsOf: bytes[place..<min(place + 30, bytes.count)], at: place)
        case 3:
          bytes[place] =
            Array("0123456789[]{}<>/:,-.e\n \"#".utf8).randomElement(using: &random) ?? 0
        default:
          let other = texts.randomElement(using: &random) ?? []
          bytes.replaceSubrange(place..., with: other[min(place, other.count)...])
        }
      }
      do throws(CalibrationError) {
        let found = try Calibration(bytes)
        accepted += 1
        for alpha in [-1, 0, 0.5, 1] {
          let lens = try found.lens(.auto, alpha: alpha, width: found.width, height: found.height)
          _ = lens.distort(0, 0)
        }
      } catch { expectFalse(error.description.isEmpty) }
    }
    // Else the mutations reach no further than the first key.
    expectGreater(accepted, 100)
  }

  @Test func aPathThatIsNoFileIsASentence() throws {
    let scratch = try Scratch()
    #expect {
      try CalibrationFile.read(scratch.path("none.yml"))
    } throws: {
      "\($0)".hasPrefix("No such file or directory")
    }
    #expect(throws: CalibrationError.notAFile) { try CalibrationFile.read(scratch.path("")) }
    let long = try scratch.write(
      "long.yml", Array(repeating: 32, count: CalibrationFile.longest + 1))
    #expect(throws: CalibrationError.tooLong) { try CalibrationFile.read(long) }
    #expect(throws: CalibrationError.notAFile) { try CalibrationFile.read("/dev/zero") }
  }
}
