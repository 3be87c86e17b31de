import Crop
import SprocketTesting
import TestExpectations
import Testing

private func cropped(_ frame: TestFrame, _ crop: Crop) throws -> StageUnderTest<Crop>.Shown {
  var stage = try StageUnderTest(crop, for: frame)
  return stage.process(frame)
}

private func crop(_ choose: (inout Crop.Settings) -> Void) -> Crop {
  var crop = Crop()
  choose(&crop.settings)
  return crop
}

/// The samples of each plane whose pixels lie in the rectangle, one by one. `x` and `y` lie on the grid.
private func slowCrop(_ frame: TestFrame, x: Int, y: Int, width: Int, height: Int) -> [[UInt8]] {
  let pixels = frame.format.pixelFormat
  return frame.planes.indices.map { plane in
    let size = pixels.plane(plane, width: frame.format.width, height: frame.format.height)
    let target = pixels.plane(plane, width: width, height: height)
    let bytes = pixels.isDeep ? 2 : 1
    let across = plane == 0 ? 1 : pixels.subsampling?.horizontalFactor ?? 1
    let down = plane == 0 ? 1 : pixels.subsampling?.verticalFactor ?? 1
    var result: [UInt8] = []
    for row in 0..<target.rows {
      for byte in 0..<target.bytesPerRow {
        result.append(
          frame.planes[plane][(row + y / down) * size.bytesPerRow + byte + x / across * bytes])
      }
    }
    return result
  }
}

@Suite struct CropTests {
  @Test(arguments: [(4, 2, 9, 7), (0, 0, 33, 21), (8, 4, 1, 1), (12, 20, 21, 1), (32, 0, 1, 21)])
  func copiesTheSamplesOfTheRectangleAndAllocatesNothing(
    _ area: (x: Int, y: Int, width: Int, height: Int)
  ) throws {
    let (x, y, width, height) = area
    let difference = try StageUnderTest.firstDifference(
      of: crop { $0.pixels = PixelArea(x: x, y: y, width: width, height: height) },
      formats: TestFrame.formats, sizes: [(33, 21)]
    ) { shown in
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
      guard (picture.format.width, picture.format.height) == (width, height) else {
        return "\(picture.format.width)x\(picture.format.height)"
      }
      return picture.difference(
        from: slowCrop(seen, x: x, y: y, width: width, height: height))
    }
    expectNil(difference)
  }

  @Test func keepsTheWholePictureByDefault() throws {
    let difference = try StageUnderTest.firstDifference(of: Crop()) { shown in
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      return picture.difference(from: seen.planes)
    }
    expectNil(difference)
  }

  @Test func fractionsAreRoundedToPixels() throws {
    let frame = TestFrame(.grey, width: 10, height: 8, .random)
    let shown = try cropped(
      frame, crop { $0.region = Region(x: 0.2, y: 0.5, width: 0.5, height: 0.25) })
    let picture = try #require(shown.picture)
    expectNil(picture.difference(from: slowCrop(frame, x: 2, y: 4, width: 5, height: 2)))
  }

  /// 16:9 of 64x64 is 64x36, with 14 rows above; of pixels twice as wide, 64x72 does not fit: 57x64.
  @Test func anAspectIsTheLargestInTheMiddle() throws {
    var frame = TestFrame(.grey, width: 64, height: 64, .random)
    let asked = crop { $0.aspect = Aspect(16, 9) }
    let wide = try #require(cropped(frame, asked).picture)
    #expect((wide.format.width, wide.format.height) == (64, 36))
    expectNil(wide.difference(from: slowCrop(frame, x: 0, y: 14, width: 64, height: 36)))
    frame.format.presentation.pixelAspect = PixelAspect(2, 1)
    let oblong = try #require(cropped(frame, asked).picture)
    #expect((oblong.format.width, oblong.format.height) == (57, 64))
    expectEqual(oblong.format.presentation, frame.format.presentation)
  }

  @Test func theCornerFallsOnWholeChromaAndOneField() throws {
    var frame = TestFrame(.i420, width: 32, height: 32, .random)
    let asked = crop { $0.pixels = PixelArea(x: 7, y: 7, width: 5, height: 3) }
    var stage = try StageUnderTest(asked, for: frame)
    let shown = stage.process(frame)
    expectNil(shown.picture?.difference(from: slowCrop(frame, x: 6, y: 6, width: 5, height: 3)))
    expectEqual(stage.stage.notes.first?.contains("begins at 6/6"), true)
    frame.format.presentation.fieldOrder = .topFirst
    try expectNil(
      cropped(frame, asked).picture?.difference(
        from: slowCrop(frame, x: 6, y: 4, width: 5, height: 3)))
  }

  @Test func saysWhereItsPointsLieInTheSensorsPicture() throws {
    var frame = TestFrame(.i420, width: 32, height: 32, .random)
    frame.sensorMap = frame.sensorMap.followed(by: Projection(scaleX: 2, scaleY: 3, shiftX: 1))
    let shown = try cropped(frame, crop { $0.pixels = PixelArea(x: 6, y: 4, width: 8, height: 8) })
    let map = try #require(shown.picture).sensorMap
    let point = map.sensorPoint(1, 2, through: nil)
    expectEqual(point.x, 15)
    expectEqual(point.y, 18)
    let report = try #require(shown.report)
    for index in 0..<9 {
      expectEqual(report.undistortedFromPicture[index], map.undistortedFromPicture.values[index])
      expectEqual(report.sensorFromDistorted[index], Projection.identity.values[index])
    }
  }

  @Test func refusesWhatDoesNotLieInThePicture() throws {
    let frame = TestFrame(.grey, width: 10, height: 8, .random)
    #expect {
      try cropped(frame, crop { $0.pixels = PixelArea(x: 3, y: 0, width: 8, height: 8) })
    } throws: {
      "\($0)" == "cuts 3/0/8/8 out of 10x8 pixels; give a rectangle that lies within them"
    }
    #expect {
      try cropped(
        frame,
        crop {
          $0.pixels = PixelArea(x: 0, y: 0, width: 8, height: 8)
          $0.region = Region(x: 0, y: 0, width: 0.5, height: 1)
        })
    } throws: {
      "\($0)" == "has both a region and pixels; give one of them"
    }
  }

  @Test(arguments: [
    "", "1/2/3", "0/0/0/4", "-1/0/4/4", "0/0/4/99999999999", "a/b/c/d", "0/0/4/4/4",
  ])
  func pixelsAreFourWholeNumbers(_ text: String) {
    expectNil(PixelArea(settingText: text))
  }

  @Test(arguments: ["", "16", "16:0", "16:9:1", "1.5:1", "-1:1", "1000000:1"])
  func anAspectIsTwoWholeNumbers(_ text: String) {
    expectNil(Aspect(settingText: text))
  }

  @Test func settingsAreSpelledAsTheyAreRead() {
    for text in ["all", "1/2/3/4"] { expectEqual(PixelArea(settingText: text)?.settingText, text) }
    for text in ["any", "16:9"] { expectEqual(Aspect(settingText: text)?.settingText, text) }
  }

  @Test func workersDoNotChangeIt() throws {
    let pictures = (0..<20).map { TestFrame(.i420, width: 34, height: 18, .random, seed: $0 + 1) }
    let stage = StageChoice.crop { $0.aspect = Aspect(1, 1) }
    try expectNil(TestRun.firstDifference(through: [stage]) { TestCamera(pictures) })
  }
}
