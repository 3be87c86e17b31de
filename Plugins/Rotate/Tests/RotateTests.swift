import Rotate
import SprocketTesting
import TestExpectations
import Testing

private func rotate(
  _ turn: Rotate.Turn = .none, _ mirror: Rotate.Mirror = .none, upright: Bool = false
) -> Rotate {
  var rotate = Rotate()
  (rotate.settings.turn, rotate.settings.mirror, rotate.settings.upright) = (turn, mirror, upright)
  return rotate
}

private func rotated(_ frame: TestFrame, _ rotate: Rotate) throws -> TestFrame {
  var stage = try StageUnderTest(rotate, for: frame)
  guard stage.writing == nil else { return try #require(stage.process(frame).picture) }
  // What lies as it shall is left as it is.
  var same = frame
  same.format = stage.writtenFormat
  return same
}

private func slow(_ plane: SlowPlane, _ turn: Rotate.Turn, _ mirror: Rotate.Mirror) -> SlowPlane {
  let turned = plane.turned(Rotate.Turn.allCases.firstIndex(of: turn) ?? 0)
  switch mirror {
  case .none: return turned
  case .horizontal: return turned.mirrored
  case .vertical: return turned.flipped
  }
}

/// Formats that a quarter turn leaves as they are.
private let square = TestFrame.formats.filter {
  [.yuv420, .yuv444, .gray].contains($0.imageFormat?.subsampling)
}

@Suite struct RotateTests {
  @Test(arguments: Rotate.Turn.allCases, Rotate.Mirror.allCases)
  func movesEachSampleToItsPlaceAndAllocatesNothing(
    _ turn: Rotate.Turn, _ mirror: Rotate.Mirror
  ) throws {
    guard (turn, mirror) != (.none, .none) else { return }
    // Swift makes what it knows of types when they are first used, which allocates.
    _ = try rotated(TestFrame(.nv12, width: 32, height: 16, .random), rotate(turn, mirror))
    let isOnItsSide = turn == .quarter || turn == .threeQuarters
    let difference = try StageUnderTest.firstDifference(
      of: rotate(turn, mirror), formats: isOnItsSide ? square : TestFrame.formats,
      sizes: TestFrame.sizes + [(64, 65), (129, 70)]
    ) { shown in
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
      let expected = seen.slowPlanes.map { slow($0, turn, mirror) }
      return picture.slowPlanes == expected ? nil : "another picture"
    }
    expectNil(difference)
  }

  @Test(arguments: [(PixelFormat.yuv422p, PixelFormat.yuv440p), (.yuv440p, .yuv422p)])
  func chromaOnItsSideHasTheOtherFormat(_ old: PixelFormat, _ new: PixelFormat) throws {
    for (width, height) in TestFrame.sizes {
      let frame = TestFrame(old, width: width, height: height, .random)
      let picture = try rotated(frame, rotate(.quarter))
      expectEqual(picture.format.image, new)
      expectEqual(picture.slowPlanes, frame.slowPlanes.map(\.quarterTurned))
    }
  }

  @Test(arguments: [PixelFormat.yuv411p, .yuv422p10, .yuv422p16])
  func refusesChromaThatNoFormatHas(_ format: PixelFormat) throws {
    let frame = TestFrame(format, width: 16, height: 8, .random)
    #expect {
      try rotated(frame, rotate(.quarter))
    } throws: {
      "\($0)".contains("no format has such chroma")
    }
    #expect(throws: Never.self) { try rotated(frame, rotate(.half, .vertical)) }
  }

  @Test func nothingIsWrittenToAPictureThatLiesAsItShall() throws {
    let frame = TestFrame(.i420, width: 18, height: 10, .random)
    for stage in [rotate(), rotate(upright: true)] {
      try expectTrue(StageUnderTest(stage, for: frame).writing == nil)
    }
    try expectTrue(StageUnderTest(rotate(.half), for: frame).writing != nil)
  }

  @Test(arguments: Orientation.allCases)
  func uprightIsAsAViewerShowsIt(_ orientation: Orientation) throws {
    var frame = TestFrame(.i420, width: 18, height: 10, .random)
    frame.format.presentation.orientation = orientation
    let upright = try rotated(frame, rotate(upright: true))
    expectEqual(upright.slowPlanes, frame.slowPlanes.map { $0.shown(orientation) })
    expectEqual(upright.format.presentation.orientation, .upright)
    let turned = try rotated(frame, rotate(.quarter, .horizontal, upright: true))
    expectEqual(
      turned.slowPlanes, frame.slowPlanes.map { $0.shown(orientation).quarterTurned.mirrored })
    expectEqual(turned.format.presentation.orientation, .upright)
  }

  @Test(arguments: Orientation.allCases, Rotate.Turn.allCases)
  func aPictureIsShownTurnedAsAsked(_ orientation: Orientation, _ turn: Rotate.Turn) throws {
    var frame = TestFrame(.grey, width: 5, height: 3, .random)
    frame.format.presentation.orientation = orientation
    for mirror in Rotate.Mirror.allCases {
      let picture = try rotated(frame, rotate(turn, mirror))
      let before = frame.slowPlanes[0].shown(orientation)
      let after = picture.slowPlanes[0].shown(picture.format.presentation.orientation)
      expectEqual(after, slow(before, turn, mirror))
    }
  }

  @Test func pixelsAndFieldsTurnWithThePicture() throws {
    var frame = TestFrame(.grey, width: 6, height: 4, .random)
    frame.format.presentation.pixelAspect = PixelAspect(16, 11)
    try expectEqual(
      rotated(frame, rotate(.quarter)).format.presentation.pixelAspect, PixelAspect(11, 16))
    try expectEqual(
      rotated(frame, rotate(.half)).format.presentation.pixelAspect, PixelAspect(16, 11))
    frame.format.presentation.fieldOrder = .topFirst
    try expectEqual(rotated(frame, rotate(.half)).format.presentation.fieldOrder, .bottomFirst)
    try expectEqual(
      rotated(frame, rotate(.none, .horizontal)).format.presentation.fieldOrder, .topFirst)
    #expect {
      try rotated(frame, rotate(.quarter))
    } throws: {
      "\($0)".contains("their fields would be columns")
    }
  }

  @Test(arguments: Rotate.Turn.allCases, Rotate.Mirror.allCases)
  func theMapLeadsToTheSamplesOfThePicture(_ turn: Rotate.Turn, _ mirror: Rotate.Mirror) throws {
    let frame = TestFrame(.grey, width: 7, height: 4, .ramp)
    let picture = try rotated(frame, rotate(turn, mirror))
    for y in 0..<picture.format.height {
      for x in 0..<picture.format.width {
        let point = picture.sensorMap.sensorPoint(Double(x), Double(y), through: nil)
        expectEqual(
          picture.planes[0][y * picture.format.width + x],
          frame.planes[0][Int(point.y) * 7 + Int(point.x)])
      }
    }
  }

  @Test func workersDoNotChangeIt() throws {
    let pictures = (0..<20).map { TestFrame(.i420, width: 34, height: 18, .random, seed: $0 + 1) }
    let stage = StageChoice.rotate { $0.turn = .quarter }
    try expectNil(TestRun.firstDifference(through: [stage]) { TestCamera(pictures) })
  }
}
