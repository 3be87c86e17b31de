import SprocketTesting
import TestExpectations
import Testing

@testable import Resize

private func resize(_ choose: (inout Resize.Settings) -> Void) -> Resize {
  var resize = Resize()
  choose(&resize.settings)
  return resize
}

private func resized(_ frame: TestFrame, _ resize: Resize) throws -> TestFrame {
  var stage = try StageUnderTest(resize, for: frame)
  return try #require(stage.process(frame).picture)
}

@Suite struct ResizeTests {
  static let targets = [(1, 1), (2, 3), (7, 5), (16, 16), (33, 20), (50, 3)]

  /// Half a level is rounding; a hundredth more is the float's.
  @Test(arguments: ResamplingFilter.allCases, targets)
  func equalsItsSlowTwinInEveryFormatAndSizeAndAllocatesNothing(
    _ filter: ResamplingFilter, _ size: (width: Int, height: Int)
  ) throws {
    let stage = resize {
      $0.size = TargetSize(width: size.width, height: size.height)
      $0.mode = .stretch
      $0.filter = filter
    }
    let difference = try StageUnderTest.firstDifference(
      of: stage, sizes: [(1, 1), (3, 3), (1, 9), (17, 5), (31, 16)]
    ) { shown in
      guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
      guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
      let across = Double(seen.format.width) / Double(size.width)
      let down = Double(seen.format.height) / Double(size.height)
      let exact = SlowResize.planes(
        seen, width: size.width, height: size.height, filter,
        across: { ($0 + 0.5) * across - 0.5 }, down: { ($0 + 0.5) * down - 0.5 })
      let found = picture.distance(from: exact)
      return found.most <= 0.51 ? nil : "mean \(found.mean), most \(found.most) levels"
    }
    expectNil(difference)
  }

  @Test(arguments: TestFrame.formats)
  func leavesAPictureOfItsSizeAsItIs(_ format: PixelFormat) throws {
    for filter in ResamplingFilter.allCases {
      for (width, height) in TestFrame.sizes {
        let frame = TestFrame(format, width: width, height: height, .random)
        for mode in Resize.Mode.allCases {
          let stage = resize {
            $0.size = TargetSize(width: width, height: height)
            ($0.filter, $0.mode) = (filter, mode)
          }
          var tested = try StageUnderTest(stage, for: frame)
          let shown = tested.process(frame)
          expectEqual(shown.picture?.planes, shown.seen?.planes)
        }
      }
    }
  }

  /// A ramp of luma and chroma that rises with the pixels goes on doing so: chroma stays beside its luma.
  @Test(arguments: [PixelFormat.yuv420p16, .yuv422p16, .yuv444p16], [40, 128])
  func chromaStaysBesideItsLuma(_ format: PixelFormat, width: Int) throws {
    let (step, source) = (400.0, 64)
    let planes = (0..<3).map { plane in
      let size = format.plane(plane, width: source, height: 8)
      let factor = plane == 0 ? 1 : Double(format.subsampling?.horizontalFactor ?? 1)
      let row = (0..<size.bytesPerRow / 2).flatMap { index in
        let level = UInt16(step * ((Double(index) + 0.5) * factor))
        return [UInt8(level & 255), UInt8(level >> 8)]
      }
      return Array(repeatElement(row, count: size.rows).joined())
    }
    let frame = TestFrame(format, width: source, height: 8, planes: planes)
    let picture = try resized(
      frame,
      resize {
        ($0.size, $0.mode) = (TargetSize(width: width, height: 8), .stretch)
        $0.filter = .bilinear
      })
    for plane in 0..<3 {
      let size = format.plane(plane, width: width, height: 8)
      let factor = plane == 0 ? 1 : Double(format.subsampling?.horizontalFactor ?? 1)
      let levels = SlowResize.samples(picture.planes[plane], isDeep: true)
      for index in 2..<size.bytesPerRow / 2 - 2 {
        let pixel = (Double(index) + 0.5) * factor * Double(source) / Double(width)
        expectAtMost(abs(levels[index] - step * pixel), 1)
      }
    }
  }

  @Test(arguments: [
    ("320x240", Resize.Mode.fit, 320, 180), ("320x", .fit, 320, 180), ("x240", .fit, 427, 240),
    ("320x240", .fill, 320, 240), ("320x240", .stretch, 320, 240),
    ("320x240", .letterbox, 320, 240),
    ("100x3000", .fit, 100, 56), ("1x1", .fit, 1, 1), ("x1", .fit, 2, 1),
  ])
  func hasTheSizeOfItsMode(_ size: String, _ mode: Resize.Mode, _ width: Int, _ height: Int) throws
  {
    let frame = TestFrame(.i420, width: 640, height: 360, .ramp)
    let size = try #require(TargetSize(settingText: size))
    let picture = try resized(frame, resize { ($0.size, $0.mode) = (size, mode) })
    #expect((picture.format.width, picture.format.height) == (width, height))
  }

  /// 64x36 into 64x64: 14 rows of grey above and below.
  @Test(arguments: [PixelFormat.i420, .yuv444p, .yuv420p10])
  func letterboxPadsWithGrey(_ format: PixelFormat) throws {
    let frame = TestFrame(format, width: 64, height: 36, .random)
    let picture = try resized(
      frame, resize { ($0.size, $0.mode) = (TargetSize(width: 64, height: 64), .letterbox) })
    for plane in 0..<3 {
      let levels = SlowResize.samples(picture.planes[plane], isDeep: format.isDeep)
      let seen = SlowResize.samples(frame.planes[plane], isDeep: format.isDeep)
      let width = format.plane(plane, width: 64, height: 64).bytesPerRow / (format.isDeep ? 2 : 1)
      let top = 14 / (plane == 0 ? 1 : format.subsampling?.verticalFactor ?? 1)
      // 114 / 255 of 1023 is 457.3.
      let grey: Double = plane == 0 ? (format.isDeep ? 457 : 114) : (format.isDeep ? 512 : 128)
      let bars = Array(levels[..<(top * width)]) + Array(levels[(top * width + seen.count)...])
      expectTrue(bars.allSatisfy { $0 == grey })
      expectEqual(Array(levels[(top * width)..<(top * width + seen.count)]), seen)
    }
    var limited = frame
    limited.format.color = .video
    let other = try resized(
      limited, resize { ($0.size, $0.mode) = (TargetSize(width: 64, height: 64), .letterbox) })
    // 16 + 219 * 114 / 255 is 113.9.
    expectEqual(
      SlowResize.samples(other.planes[0], isDeep: format.isDeep)[0], (format.isDeep ? 456 : 114))
  }

  /// 64x36 covers 36x36 at its own scale, 14 columns cut off on either side.
  @Test func fillCutsWhatIsBeyond() throws {
    let frame = TestFrame(.i420, width: 64, height: 36, .random)
    let picture = try resized(
      frame, resize { ($0.size, $0.mode) = (TargetSize(width: 36, height: 36), .fill) })
    for plane in 0..<3 {
      let (old, new, x) = plane == 0 ? (64, 36, 14) : (32, 18, 7)
      for y in 0..<picture.planes[plane].count / new {
        expectEqual(
          Array(picture.planes[plane][y * new..<(y + 1) * new]),
          Array(frame.planes[plane][y * old + x..<y * old + x + new]))
      }
    }
    #expect(picture.sensorMap.sensorPoint(0, 0, through: nil) == (14, 0))
  }

  @Test(arguments: Resize.Mode.allCases)
  func mapsCornersOntoCorners(_ mode: Resize.Mode) throws {
    let frame = TestFrame(.i420, width: 101, height: 57, .ramp)
    let picture = try resized(
      frame, resize { ($0.size, $0.mode) = (TargetSize(width: 64, height: 64), mode) })
    // The picture's height within the target: 64 * 57 / 101 is 36.1, and 14 rows are above it.
    let (top, bottom) =
      mode == .letterbox ? (13.5, 49.5) : (-0.5, Double(picture.format.height) - 0.5)
    let first = picture.sensorMap.sensorPoint(-0.5, top, through: nil)
    let last = picture.sensorMap.sensorPoint(
      Double(picture.format.width) - 0.5, bottom, through: nil)
    // `fill` shows 57 of 101 columns, 22 cut off on either side.
    let (left, right) = mode == .fill ? (21.5, 78.5) : (-0.5, 100.5)
    expectLess(abs(first.x - left), 1e-9)
    expectLess(abs(first.y + 0.5), 1e-9)
    expectLess(abs(last.x - right), 1e-9)
    expectLess(abs(last.y - 56.5), 1e-9)
  }

  @Test func stretchTellsTheShapeOfPixels() throws {
    func aspect(_ old: PixelAspect, _ mode: Resize.Mode, width: Int, height: Int) throws
      -> PixelAspect
    {
      var frame = TestFrame(.grey, width: 64, height: 36, .ramp)
      frame.format.presentation.pixelAspect = old
      let size = TargetSize(width: width, height: height)
      return try resized(frame, resize { ($0.size, $0.mode) = (size, mode) })
        .format.presentation.pixelAspect
    }
    try expectEqual(aspect(.unknown, .stretch, width: 32, height: 18), .unknown)
    try expectEqual(aspect(.unknown, .stretch, width: 36, height: 36), PixelAspect(16, 9))
    try expectEqual(aspect(PixelAspect(4, 3), .stretch, width: 64, height: 27), .square)
    try expectEqual(aspect(PixelAspect(4, 3), .letterbox, width: 36, height: 36), PixelAspect(4, 3))
  }

  @Test func fieldsThatAreMixedAreNotCalledFields() throws {
    var frame = TestFrame(.i420, width: 64, height: 36, .ramp)
    frame.format.presentation.fieldOrder = .topFirst
    var stage = try StageUnderTest(resize { $0.size = TargetSize(width: 32) }, for: frame)
    expectEqual(stage.process(frame).picture?.format.presentation.fieldOrder, .unknown)
    expectEqual(stage.stage.notes.count, 1)
    let narrower = resize { ($0.size, $0.mode) = (TargetSize(width: 32, height: 36), .stretch) }
    try expectEqual(resized(frame, narrower).format.presentation.fieldOrder, .topFirst)
  }

  /// Compares each filter and mode with sums over all samples, where the region changes between frames.
  @Test(arguments: ResamplingFilter.allCases, [PixelFormat.i420, .yuv422p10])
  func anotherRegionZoomsAndKeepsTheSize(
    _ filter: ResamplingFilter, _ pixels: PixelFormat
  ) throws {
    let frame = TestFrame(pixels, width: 40, height: 24, .random)
    let stage = resize { ($0.size, $0.filter) = (TargetSize(width: 30, height: 18), filter) }
    var tested = try StageUnderTest(stage, for: frame)
    let whole = try #require(tested.process(frame).picture)
    for region in [
      Region(x: 0.25, y: 0.5, width: 0.5, height: 0.5),
      Region(x: 0.31, y: 0.07, width: 0.23, height: 0.23), .whole,
    ] {
      expectEqual(tested.change { $0.region = region }, 0)
      let shown = tested.process(frame)
      let picture = try #require(shown.picture)
      expectEqual(shown.allocations, 0)
      expectEqual([picture.format.width, picture.format.height], [30, 18])
      let (across, down) = (40 * region.width / 30, 24 * region.height / 18)
      let exact = SlowResize.planes(
        frame, width: 30, height: 18, filter,
        across: { ($0 + 0.5) * across - 0.5 + 40 * region.x },
        down: { ($0 + 0.5) * down - 0.5 + 24 * region.y })
      expectAtMost(picture.distance(from: exact).most, 0.51)
      let point = picture.sensorMap.sensorPoint(0, 0, through: nil)
      expectLess(abs(point.x - (0.5 * across - 0.5 + 40 * region.x)), 1e-9)
      if region == .whole { expectEqual(picture.planes, whole.planes) }
    }
    // A stage that is configured with that region makes the same picture.
    var fixed = stage
    fixed.settings.region = Region(x: 0.25, y: 0.5, width: 0.5, height: 0.5)
    _ = tested.change { $0.region = fixed.settings.region }
    try expectEqual(
      resized(frame, fixed).planes, tested.process(frame).picture?.planes)
  }

  @Test func aRegionOfAnotherAspectGetsBarsAndNoSizeIsThePicturesOwn() throws {
    let frame = TestFrame(.i420, width: 40, height: 24, .random)
    let half = Region(x: 0, y: 0, width: 0.5, height: 1)
    let barred = try resized(frame, resize { ($0.region, $0.pad) = (half, 7) })
    expectEqual([barred.format.width, barred.format.height], [40, 24])
    expectEqual(barred.planes[0][0], 7)
    expectEqual(barred.planes[0][20], frame.planes[0][10])
    let filled = try resized(frame, resize { ($0.region, $0.mode) = (half, .fill) })
    expectUnequal(filled.planes[0][0], 7)
    // Pictures that stay as they are, because nothing was asked for, say that a region is not shown.
    var kept = try StageUnderTest(resize { $0.hold = true }, for: frame)
    _ = kept.change { $0.region = half }
    expectEqual(kept.process(frame).picture?.planes ?? frame.planes, frame.planes)
    expectEqual(kept.stage.notes.count, 1)
  }

  @Test func needsASize() {
    #expect {
      try resized(TestFrame(.grey, width: 8, height: 8, .ramp), Resize())
    } throws: {
      "\($0)" == "needs a size, such as size=640x640 or size=640x"
    }
  }

  @Test(arguments: ["", "x", "0x0", "0x5", "-1x5", "5", "5x5x5", "1.5x2", "32769x1"])
  func aSizeHasOneSideOrTwo(_ text: String) {
    expectNil(TargetSize(settingText: text))
  }

  @Test(arguments: ["none", "640x480", "640x", "x480"])
  func aSizeIsSpelledAsItIsRead(_ text: String) {
    expectEqual(TargetSize(settingText: text)?.settingText, text)
  }

  @Test func workersDoNotChangeIt() throws {
    let pictures = (0..<20).map { TestFrame(.i420, width: 34, height: 18, .random, seed: $0 + 1) }
    let stage = StageChoice.resize { $0.size = TargetSize(width: 21) }
    try expectNil(TestRun.firstDifference(through: [stage]) { TestCamera(pictures) })
  }
}
