import SprocketTesting
import TestExpectations
import Testing

@testable import Codes

/// What the stage finds in a picture.
private func report(
  _ picture: CodePicture, _ change: (inout Codes.Settings) -> Void = { _ in }
) throws -> CodesReport {
  var codes = Codes()
  change(&codes.settings)
  let frame = picture.frame()
  var stage = try StageUnderTest(codes, for: frame)
  return stage.report(on: frame)
}

/// The greatest distance of a corner from where it ought to be, in pixels.
private func error(_ code: FoundCode, _ place: CodePicture.Place, _ modules: CodeModules) -> Double
{
  let truth = place.corners(of: modules)
  return (0..<4).map {
    let (x, y) = (
      code.corners[2 * $0] - truth[2 * $0], code.corners[2 * $0 + 1] - truth[2 * $0 + 1]
    )
    return (x * x + y * y).squareRoot()
  }.max() ?? .infinity
}

extension CodeType {
  /// How many modules before the end of a code the library says that it has read it.
  fileprivate var endModules: Double {
    switch self {
    case .code128: 3
    case .upce, .databar, .databarExpanded: 2
    case .code93: 1
    default: 0
    }
  }
}

private let word = CodeModules(rows: CodeVectors.word)

@Suite struct CodesTests {
  @Test(arguments: [0.0, 30, 45, 90, 137, 180, 270])
  func aTurnedCodeIsReadAndItsCornersAreExact(degrees: Double) throws {
    var picture = CodePicture(width: 320, height: 240)
    let place = CodePicture.Place(x: 170.3, y: 110.8, module: 5.3, degrees: degrees)
    picture.draw(word, place)
    let report = try report(picture)
    expectEqual(report.count, 1)
    expectEqual(report.omitted, 0)
    let code = report.codes[0]
    expectEqual(code.type, .qr)
    expectFalse(code.isCut)
    expectEqual(report.text(of: code), "Sprocket")
    expectLess(error(code, place, word), 2, "\(report.found)")
  }

  @Test(arguments: CodeVectors.bars, [0.0, 90, 180, 270])
  func barsOfEveryKindAreRead(
    _ vector: (type: CodeType, text: String, modules: String), _ degrees: Double
  ) throws {
    var picture = CodePicture(width: 440, height: 440)
    let modules = CodeModules(bars: vector.modules, height: 30)
    let place = CodePicture.Place(x: 220.2, y: 218.7, module: 2, degrees: degrees)
    picture.draw(modules, place)
    let report = try report(picture) { $0.types = CodeTypes([vector.type]) }
    try #require(report.count == 1)
    let code = report.codes[0]
    expectEqual(code.type, vector.type)
    expectEqual(report.text(of: code), vector.text)
    expectLess(error(code, place, modules), 2 + 2 * vector.type.endModules, "\(code)")
  }

  @Test(arguments: [-30.0, -12, 3, 20, 30, 60, 120, 155, 210])
  func theRectangleOfTurnedBarsIsExact(degrees: Double) throws {
    var picture = CodePicture(width: 480, height: 480)
    let modules = CodeModules(bars: CodeVectors.bars[0].modules, height: 90)
    let place = CodePicture.Place(x: 240.4, y: 239.1, module: 2.5, degrees: degrees)
    picture.draw(modules, place)
    let report = try report(picture) { $0.types = CodeTypes([.ean13]) }
    try #require(report.count == 1)
    let code = report.codes[0]
    expectEqual(report.text(of: code), CodeVectors.bars[0].text)
    expectGreater(code.quality, 10)
    expectLess(error(code, place, modules), 2, "\(code)")
  }

  @Test func smallAndBlurredAndNoisyCodesAreRead() throws {
    var small = CodePicture(width: 160, height: 120)
    small.draw(word, .init(x: 80.4, y: 60.3, module: 2, degrees: 8))
    try expectEqual(report(small).count, 1)
    var blurred = CodePicture(width: 320, height: 240)
    blurred.draw(word, .init(x: 160, y: 120, module: 6, degrees: 15))
    blurred.blur(3)
    try expectEqual(report(blurred).count, 1)
    var noisy = CodePicture(width: 320, height: 240)
    noisy.draw(word, .init(x: 160, y: 120, module: 5, degrees: 15))
    noisy.addNoise(30, seed: 4)
    try expectEqual(report(noisy).count, 1)
  }

  @Test func payloadsAreBytesWhateverTheyAre() throws {
    var picture = CodePicture(width: 700, height: 240)
    picture.draw(CodeModules(rows: CodeVectors.zeros), .init(x: 120, y: 120, module: 5))
    picture.draw(CodeModules(rows: CodeVectors.words), .init(x: 400, y: 120, module: 5))
    let report = try report(picture)
    let payloads = report.found.map { report.payload(of: $0) }
    expectTrue(payloads.contains([0x61, 0, 0x62, 0xFF, 0]))
    expectTrue(payloads.contains(Array("Grüße, 世界".utf8)))
    expectEqual(report.found.compactMap { report.text(of: $0) }, ["Grüße, 世界"])
  }

  @Test func theLargestCodeIsReadWholeAndWhatHasNoRoomIsCut() throws {
    let large = CodeModules(hexadecimal: CodeVectors.large, side: 177)
    let payload = (0..<2900).map { index -> UInt8 in
      let number = 7 * index + index / 251
      return UInt8(number % 256)
    }
    var picture = CodePicture(width: 1300, height: 620)
    picture.draw(large, .init(x: 310, y: 310, module: 3))
    picture.draw(large, .init(x: 950, y: 310, module: 3))
    let report = try report(picture)
    try #require(report.count == 2)
    let (first, second) = (report.codes[0], report.codes[1])
    expectFalse(first.isCut)
    expectEqual(report.payload(of: first), payload)
    expectTrue(second.isCut)
    expectEqual(second.byteCount, 2900)
    let rest = CodesReport.payloadCapacity - 2900
    expectEqual(report.payload(of: second), Array(payload.prefix(rest)))
  }

  @Test func severalAreReportedUpToTheLimit() throws {
    var picture = CodePicture(width: 800, height: 600)
    var places: [CodePicture.Place] = []
    for index in 0..<6 {
      let place = CodePicture.Place(
        x: 130 + Double(index % 3) * 260, y: 150 + Double(index / 3) * 300, module: 5,
        degrees: Double(index) * 17)
      picture.draw(word, place)
      places.append(place)
    }
    let all = try report(picture)
    expectEqual(all.count, 6)
    for place in places {
      expectTrue(all.found.contains { error($0, place, word) < 2 })
    }
    let few = try report(picture) { $0.limit = 4 }
    expectEqual(few.count, 4)
    expectEqual(few.omitted, 2)
  }

  @Test func onlyTheChosenTypesAreFound() throws {
    var picture = CodePicture(width: 640, height: 240)
    picture.draw(word, .init(x: 120, y: 120, module: 5))
    picture.draw(
      CodeModules(bars: CodeVectors.bars[0].modules, height: 50), .init(x: 440, y: 120, module: 2))
    try expectEqual(report(picture).count, 2)
    try expectEqual(report(picture) { $0.types = CodeTypes([.qr]) }.found.map(\.type), [.qr])
    try expectEqual(report(picture) { $0.types = CodeTypes([.ean13]) }.found.map(\.type), [.ean13])
    try expectEqual(report(picture) { $0.types = CodeTypes([.upca, .code128]) }.count, 0)
  }

  @Test(arguments: Codes.Scale.allCases)
  func cornersOfAReducedPictureAreThoseOfTheFull(scale: Codes.Scale) throws {
    var picture = CodePicture(width: 800, height: 800)
    let place = CodePicture.Place(x: 402.6, y: 396.2, module: 28, degrees: 10)
    picture.draw(word, place)
    let report = try report(picture) { $0.scale = scale }
    try #require(report.count == 1)
    // The library's corners are whole pixels of the reduced picture.
    expectLess(error(report.codes[0], place, word), 1.5 * Double(scale.luma.divisor) + 0.5)
  }
}

@Suite struct CodesReportTests {
  @Test func textIsCutBetweenTwoCharacters() {
    var report = CodesReport()
    let filling = [UInt8](repeating: 0x2E, count: CodesReport.payloadCapacity - 4)
    report.add(FoundCode(), payload: filling.span)
    report.add(FoundCode(), payload: Array("aüü".utf8).span)
    report.add(FoundCode(), payload: Array("ü".utf8).span)
    report.add(FoundCode(), payload: [0x80, 0x80, 0x80].span)
    let codes = report.found
    expectEqual(codes.map(\.isCut), [false, true, true, true])
    expectEqual(codes.map(\.byteCount), [UInt32(filling.count), 5, 2, 3])
    expectEqual(report.text(of: codes[1]), "aü")
    expectEmpty(report.payload(of: codes[2]))
    expectEqual(report.payload(of: codes[3]), [0x80])
  }

  @Test func codesBeyondTheCapacityAreCounted() {
    var report = CodesReport()
    for index in 0..<20 { report.add(FoundCode(), payload: [UInt8(index)].span) }
    expectEqual(report.count, 16)
    expectEqual(report.omitted, 4)
    expectEqual(report.found.map { report.payload(of: $0) }, (0..<16).map { [UInt8($0)] })
  }
}

@Suite struct DamagedCodesTests {
  @Test func damagedCodesAndNoiseStopNothing() throws {
    var random = TestRandom(seed: 18)
    let codes =
      [word, CodeModules(rows: CodeVectors.zeros), CodeModules(rows: CodeVectors.words)]
      + CodeVectors.bars.map { CodeModules(bars: $0.modules, height: 30) }
    var all = Codes()
    all.settings.types = CodeTypes(Set(CodeType.allCases))
    var stage = try StageUnderTest(all, for: CodePicture(width: 200, height: 160).frame())
    for number in 0..<120 {
      var picture = CodePicture(width: 200, height: 160)
      for _ in 0..<random.next() % 3 {
        let place = CodePicture.Place(
          x: Double(random.next() % 200), y: Double(random.next() % 160),
          module: 1 + Double(random.next() % 40) / 10, degrees: Double(random.next() % 360))
        picture.draw(codes[Int(random.next() % UInt64(codes.count))], place)
      }
      for _ in 0..<random.next() % 8 {
        let (left, top) = (Int(random.next() % 200), Int(random.next() % 160))
        let mask = UInt8(truncatingIfNeeded: random.next())
        for y in top..<min(160, top + 20) {
          for x in left..<min(200, left + 30) { picture.luma[y * 200 + x] ^= mask }
        }
      }
      picture.addNoise(Int(random.next() % 60), seed: random.next())
      let report = stage.report(on: picture.frame(at: Int64(number)))
      expectTrue(report.found.allSatisfy { report.payload(of: $0).count <= $0.byteCount })
    }
  }
}

@Suite struct CadenceTests {
  private func frames(_ milliseconds: [Int64]) -> [TestFrame] {
    let picture = CodePicture(width: 64, height: 48)
    return milliseconds.map { picture.frame(at: $0 * 1_000_000) }
  }

  /// Which of the frames are looked at, each with the one before.
  private func looked(_ interval: Duration, _ milliseconds: [Int64]) throws -> [Bool] {
    let frames = frames(milliseconds)
    var codes = Codes()
    codes.settings.interval = interval
    var stage = try StageUnderTest(codes, for: frames[0])
    return frames.indices.map {
      let earlier = $0 == 0 ? [] : [frames[$0 - 1]]
      return stage.process(frames[$0], earlier: earlier).report != nil
    }
  }

  @Test func theFirstFrameOfEachIntervalIsLookedAt() throws {
    let times: [Int64] = [-40, -10, 30, 60, 99, 100, 133, 310, 420]
    let expected = [true, false, true, false, false, true, false, true, true]
    try expectEqual(looked(.milliseconds(100), times), expected)
    try expectEqual(looked(.zero, times), times.map { _ in true })
  }

  @Test func nothingIsAllocatedWithoutACode() throws {
    let picture = CodePicture(width: 320, height: 240)
    var stage = try StageUnderTest(Codes(), for: picture.frame())
    _ = stage.process(picture.frame())
    expectEqual(stage.process(picture.frame(at: 1)).allocations, 0)
    let skipped = stage.process(picture.frame(at: 2), earlier: [picture.frame(at: 1)])
    expectNil(skipped.report)
    expectEqual(skipped.allocations, 0)
  }
}

@Suite struct CodeTypesTests {
  @Test func listsAreParsedAndSpelled() {
    expectEqual(CodeTypes(settingText: "ean13/qr")?.types, [.qr, .ean13])
    expectEqual(CodeTypes([.ean13, .qr]).settingText, "qr/ean13")
    expectEqual(CodeTypes(settingText: "all")?.types.count, CodeType.allCases.count)
    expectEqual(CodeTypes(Set(CodeType.allCases)).settingText, "all")
    for bad in ["", "qr/", "/qr", "pdf417", "QR", "qr,ean8"] {
      expectNil(CodeTypes(settingText: bad), "\(bad)")
    }
  }

  @Test func theTypesOfTheLibraryAndOursAreOne() {
    for type in CodeType.allCases { expectEqual(CodeType(type.symbology), type) }
  }
}
