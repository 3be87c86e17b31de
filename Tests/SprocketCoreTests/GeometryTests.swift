import SprocketCore
import TestExpectations
import Testing

@Suite struct GeometryTests {
  private func near(_ one: (x: Double, y: Double), _ x: Double, _ y: Double) -> Bool {
    abs(one.x - x) < 1e-9 && abs(one.y - y) < 1e-9
  }

  @Test func theFirstPixelOfAHalfSizedPictureLiesBetweenTwo() {
    let map = Projection(pixelsAcross: 2, down: 4)
    expectTrue(near(map.apply(0, 0), 0.5, 1.5))
    expectTrue(near(map.apply(-0.5, -0.5), -0.5, -0.5))
  }

  @Test func aProductTakesTheRightFactorFirst() {
    let product = Projection(scaleX: 2, scaleY: 3) * Projection(shiftX: 1, shiftY: 10)
    expectTrue(near(product.apply(5, 5), 12, 45))
  }

  @Test func theInverseLeadsBack() throws {
    let map = Projection([1.1, 0.2, 30, -0.1, 0.9, -4, 0.001, -0.002, 1])
    let back = try #require(map.inverse)
    let there = map.apply(12, 34)
    expectTrue(near(back.apply(there.x, there.y), 12, 34))
    expectNil(Projection(scaleX: 0).inverse)
    expectNil(Projection(scaleX: .nan).inverse)
  }

  /// Worked out by hand: x = 0.5, y = 0.25 on the plane, r2 = 0.3125.
  @Test func aPinholeBendsByItsPolynomials() {
    let camera = Lens.Camera(focalX: 100, focalY: 200, centerX: 10, centerY: 20)
    var distortion = Lens.Distortion()
    (distortion.k1, distortion.k2, distortion.k3) = (0.1, 0.2, 0.3)
    (distortion.k4, distortion.k5, distortion.k6) = (0.04, 0.05, 0.06)
    (distortion.p1, distortion.p2) = (0.01, 0.02)
    (distortion.s1, distortion.s2, distortion.s3, distortion.s4) = (0.07, 0.08, 0.09, 0.11)
    let lens = Lens(model: .pinhole, camera: camera, undistorted: camera, distortion: distortion)
    let (r2, r4, r6) = (0.3125, 0.09765625, 0.030517578125)
    let radial = (1 + 0.1 * r2 + 0.2 * r4 + 0.3 * r6) / (1 + 0.04 * r2 + 0.05 * r4 + 0.06 * r6)
    let prismX = 0.07 * r2 + 0.08 * r4
    let prismY = 0.09 * r2 + 0.11 * r4
    let x = 0.5 * radial + 2 * 0.01 * 0.125 + 0.02 * (0.3125 + 0.5) + prismX
    let y = 0.25 * radial + 0.01 * (0.3125 + 0.125) + 2 * 0.02 * 0.125 + prismY
    expectTrue(near(lens.distort(60, 70), 100 * x + 10, 200 * y + 20))
    expectTrue(near(lens.distort(10, 20), 10, 20))
  }

  /// tan(45 degrees) is 1, so theta is pi / 4.
  @Test func aFisheyeBendsByTheAngle() {
    let camera = Lens.Camera(focalX: 100, focalY: 100, centerX: 0, centerY: 0)
    var distortion = Lens.Distortion()
    distortion.k1 = 0.1
    let lens = Lens(model: .fisheye, camera: camera, undistorted: camera, distortion: distortion)
    let theta = Double.pi / 4
    expectTrue(near(lens.distort(100, 0), 100 * theta * (1 + 0.1 * theta * theta), 0))
    expectTrue(near(lens.distort(0, 0), 0, 0))
  }

  @Test func aMapGoesThroughTheLensBetweenItsMatrices() {
    let camera = Lens.Camera(focalX: 1, focalY: 1, centerX: 0, centerY: 0)
    var distortion = Lens.Distortion()
    distortion.k1 = 1
    let lens = Lens(model: .pinhole, camera: camera, undistorted: camera, distortion: distortion)
    let map = SensorMap().followed(by: Projection(scaleX: 10)).followedByLens()
      .followed(by: Projection(shiftX: 1))
    // 1 + 1 is 2; 2 (1 + 4) is 10; 10 times 10.
    expectTrue(near(map.sensorPoint(1, 0, through: lens), 100, 0))
  }

  @Test(arguments: [
    (PixelFormat.i420, 2, 2, 0.5, 0.5), (.yuv422p, 2, 1, 0.5, 0), (.yuv440p, 1, 2, 0, 0.5),
    (.yuv411p, 4, 1, 1.5, 0), (.yuv444p, 1, 1, 0, 0),
  ])
  func chromaLiesAmidstItsPixels(
    _ pixels: PixelFormat, _ columns: Int, _ rows: Int, _ left: Double, _ top: Double
  ) {
    let format = FrameFormat(
      pixelFormat: pixels, width: 9, height: 9, color: .jpeg, rate: .unknown)
    let (luma, chroma) = (format.sampleGrid(plane: 0), format.sampleGrid(plane: 1))
    #expect((luma.columns, luma.rows, luma.left, luma.top) == (1, 1, 0, 0))
    #expect((chroma.columns, chroma.rows, chroma.left, chroma.top) == (columns, rows, left, top))
  }
}
