import SprocketTesting
import TestExpectations
import TestSupport
import Testing

@testable import Debayer

private let mosaics = PixelFormat.allCases.filter(\.isBayer)

/// Rows and columns that a mosaic's edges, odd ends and groups of packed pixels meet in.
private let sizes = [(2, 2), (3, 3), (2, 9), (9, 2), (4, 5), (5, 4), (17, 5), (34, 6), (101, 4)]

/// The sums of a frame's luma, whole and halved.
private struct LumaSum: Stage {
  static let plugin = Plugin("lumasum", "the sums of luma", LumaSum.self)
  static let order = Order.any

  struct Report: FrameReport, Equatable {
    var full: Int64 = 0
    var half: Int64 = 0

    static let fields: [ReportField<Self>] = [
      ReportField("full", \.full), ReportField("half", \.half),
    ]
  }

  private var writer: ReportWriter<Report>?

  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads([.luma(.full), .luma(.half)])
    writer = setup.report(Report.self)
    return setup.format
  }

  mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer else { return .keep }
    let report = Report(full: sum(frame.luma()), half: sum(frame.luma(.half)))
    frame.write(report, writer)
    return .keep
  }

  private func sum(_ plane: borrowing Plane) -> Int64 {
    var sum: Int64 = 0
    for y in 0..<plane.rows {
      let row = plane[row: y]
      for x in row.indices { sum += Int64(row[x]) }
    }
    return sum
  }
}

extension TestFrame {
  /// The samples of a plane.
  fileprivate func samples(_ plane: Int) -> [Int] {
    guard format.image?.isDeep == true else { return planes[plane].map { Int($0) } }
    return stride(from: 0, to: planes[plane].count, by: 2).map {
      Int(planes[plane][$0]) + 256 * Int(planes[plane][$0 + 1])
    }
  }

  /// The first sample that is not one of `exact`, rounded; those in the middle of two may be either.
  fileprivate func difference(fromExact exact: [[Double]], tolerance: Double) -> String? {
    for plane in 0..<3 {
      for (index, (mine, wanted)) in zip(samples(plane), exact[plane]).enumerated()
      where abs(Double(mine) - wanted) > 0.5 + tolerance {
        return "plane \(plane), sample \(index): \(mine) and not \(wanted)"
      }
    }
    return nil
  }
}

@Suite struct DebayerTests {
  @Test(arguments: mosaics, [Debayer.Method.bilinear, .malvar])
  func equalsItsSlowTwinAndAllocatesNothing(format: PixelFormat, method: Debayer.Method) throws {
    for depth in [Debayer.Depth.eight, .source] {
      var stage = Debayer()
      (stage.settings.method, stage.settings.depth) = (method, depth)
      let bits = depth == .source ? format.bitsPerSample : 8
      let twin = SlowDebayer(method: method, bits: bits)
      for (width, height) in sizes {
        for pattern in TestPattern.allCases {
          let frame = TestFrame(format, width: width, height: height, pattern)
          // The first call on a format allocates in Swift's run-time library; a stage's first one must not.
          var first = try StageUnderTest(stage, for: frame)
          _ = first.process(frame)
          var tested = try StageUnderTest(stage, for: frame)
          let shown = tested.process(frame)
          let picture = try #require(shown.picture)
          // 24 bits of a `Float`, over sums of a dozen samples.
          let tolerance = Double(1 << bits) * 1e-6
          let difference = picture.difference(
            fromExact: twin.planes(frame), tolerance: tolerance)
          expectNil(difference, "\(width)x\(height), \(pattern), \(depth)")
          expectEqual(shown.allocations, 0)
          expectEqual(shown.verdict, .keep)
          expectEqual(picture.format.pixelFormat, tested.writtenFormat.image)
        }
      }
    }
  }

  /// Every sample, at 8 bits, is the sensor's own where no colour changes: 200, 100 and 50 of 255.
  @Test(arguments: [
    (PixelFormat.bayerRGGB, [200, 100, 100, 50]), (.bayerGRBG, [100, 200, 50, 100]),
    (.bayerGBRG, [100, 50, 200, 100]), (.bayerBGGR, [50, 100, 100, 200]),
  ])
  func flatColourStaysFlat(format: PixelFormat, mosaic: [UInt8]) throws {
    let bytes: [UInt8] = (0..<35).map { index in
      let (x, y) = (index % 7, index / 7)
      return mosaic[y % 2 * 2 + x % 2]
    }
    let frame = TestFrame(format, width: 7, height: 5, planes: [bytes])
    for method in Debayer.Method.allCases {
      var stage = Debayer()
      stage.settings.method = method
      var tested = try StageUnderTest(stage, for: frame)
      let planes = try #require(tested.process(frame).picture).planes
      // JFIF: Y = 124.2, Cb = 128 + (50 - 124.2) / 1.772 = 86.1, Cr = 128 + (200 - 124.2) / 1.402 = 182.1.
      expectEqual(planes.map(Set.init), [[124], [86], [182]])
    }
  }

  @Test func declaresFullRangeAndJPEGsMatrixAndKeepsTheSensorsTransfer() throws {
    let linear = Color(range: .limited, matrix: .bt709, transfer: .linear)
    for (format, image) in [
      (PixelFormat.bayerRGGB, PixelFormat.yuv444p), (.bayerGRBG10, .yuv444p10),
      (.bayerGBRG12P, .yuv444p12), (.bayerBGGR16, .yuv444p16),
    ] {
      let frame = TestFrame(format, width: 8, height: 8, color: linear, .random)
      let eight = try StageUnderTest(Debayer(), for: frame)
      expectEqual(eight.writtenFormat.image, .yuv444p)
      expectEqual(eight.writing, .firstImage)
      expectEqual(eight.writtenFormat.pixelFormat, format)
      expectEqual(eight.parts, .encoded)
      expectEqual(eight.writtenFormat.color, Color(range: .full, matrix: .bt601, transfer: .linear))
      var stage = Debayer()
      stage.settings.depth = .source
      try expectEqual(StageUnderTest(stage, for: frame).writtenFormat.image, image)
    }
  }

  @Test func blackAndWhiteBalanceAreThoseOfTheSlowTwinAlsoWhenTheyChange() throws {
    let frame = TestFrame(.bayerGRBG10P, width: 34, height: 9, .random)
    var stage = Debayer()
    (stage.settings.black, stage.settings.red, stage.settings.blue) = (64.0 / 1023, 1.9, 0.7)
    let twin = SlowDebayer(red: 1.9, blue: 0.7, black: 64.0 / 1023).planes(frame)
    var tested = try StageUnderTest(stage, for: frame)
    try expectNil(
      #require(tested.process(frame).picture).difference(fromExact: twin, tolerance: 1e-3))
    tested = try StageUnderTest(Debayer(), for: frame)
    let plain = SlowDebayer().planes(frame)
    try expectNil(
      #require(tested.process(frame).picture).difference(fromExact: plain, tolerance: 1e-3))
    let allocations = tested.change { ($0.black, $0.red, $0.blue) = (64.0 / 1023, 1.9, 0.7) }
    expectEqual(allocations, 0)
    try expectNil(
      #require(tested.process(frame).picture).difference(fromExact: twin, tolerance: 1e-3))
  }

  /// Black is 0, and full scale white, wherever black lies.
  @Test func blackToFullScaleBecomesAllOfThePicturesRange() throws {
    for (level, luma) in [(UInt16(256), UInt8(0)), (100, 0), (4095, 255), (2176, 128)] {
      let word = [UInt8(truncatingIfNeeded: level), UInt8(level >> 8)]
      let frame = TestFrame(
        .bayerRGGB12, width: 4, height: 4, planes: [(0..<16).flatMap { _ in word }])
      var stage = Debayer()
      stage.settings.black = 256.0 / 4095
      var tested = try StageUnderTest(stage, for: frame)
      let planes = try #require(tested.process(frame).picture).planes
      expectEqual(planes.map(Set.init), [[luma], [128], [128]])
    }
  }

  @Test(arguments: [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1)])
  func refusesWhatHasNotAllColours(width: Int, height: Int) {
    let frame = TestFrame(.bayerRGGB, width: width, height: height, .random)
    let error = #expect(throws: StageError.self) { try StageUnderTest(Debayer(), for: frame) }
    expectEqual(error?.description.contains("2x2 pixels or more"), true)
    expectEqual(error?.settings, [.size])
  }

  @Test func refusesWhatIsNoMosaic() {
    for format in TestFrame.formats {
      let frame = TestFrame(format, width: 8, height: 8, .random)
      let error = #expect(throws: StageError.self) { try StageUnderTest(Debayer(), for: frame) }
      expectEqual(error?.description.contains("leave it out"), true)
    }
  }

  @Test func workersDoNotChangeIt() throws {
    let pictures = (0..<20).map {
      TestFrame(.bayerGBRG10P, width: 34, height: 18, .random, seed: $0 + 1)
    }
    try expectNil(
      TestRun.firstDifference(
        through: [.debayer { $0.depth = .source }, StageChoice(LumaSum.plugin)]
      ) { TestCamera(pictures) })
  }

  /// What a chain makes of a mosaic is what it makes of the picture: luma is derived behind the stage.
  @Test func stagesBehindItReadThePictureAndItsLuma() throws {
    let mosaic = TestFrame(.bayerBGGR, width: 32, height: 24, .random)
    var tested = try StageUnderTest(Debayer(), for: mosaic)
    let picture = try #require(tested.process(mosaic).picture)
    let made = try TestRun(
      of: TestCamera([.picture(mosaic)]), through: [.debayer(), StageChoice(LumaSum.plugin)])
    let shown = try TestRun(
      of: TestCamera([
        .picture(TestFrame(.yuv444p, width: 32, height: 24, planes: picture.planes))
      ]),
      through: [StageChoice(LumaSum.plugin)])
    expectEqual(made.reports(LumaSum.Report.self), shown.reports(LumaSum.Report.self))
    expectEqual(made.frames[0].picture?.planes, picture.planes)
  }

  @Test func otherStagesSayThatItIsMissing() {
    let mosaic = TestFrame(.bayerRGGB10, width: 32, height: 24, .random)
    let error = #expect(throws: RunError.self) {
      try TestRun(of: TestCamera([.picture(mosaic)]), through: [StageChoice(LumaSum.plugin)])
    }
    expectEqual(error?.description.contains("put the stage debayer"), true)
    expectEqual(error?.settings, [.stage, .format])
  }
}
