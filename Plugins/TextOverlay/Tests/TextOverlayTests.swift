import SprocketTesting
import TestExpectations
import Testing

@testable import TextOverlay

private func stage(_ text: OutputName, _ choose: (inout TextOverlay.Settings) -> Void = { _ in })
  -> TextOverlay
{
  var stage = TextOverlay()
  stage.settings.text = text
  stage.settings.size = 1
  stage.settings.place = .topLeft
  choose(&stage.settings)
  return stage
}

/// What a stage makes of a picture.
private func made(_ stage: TextOverlay, of frame: TestFrame) throws -> [[UInt8]] {
  var tested = try StageUnderTest(stage, for: frame)
  return try #require(tested.process(frame).picture).planes
}

/// Rows of text: `#` for 255, `.` for 0, `?` for all else.
private func drawing(_ plane: [UInt8], width: Int) -> [String] {
  stride(from: 0, to: plane.count, by: width).map { start in
    String(plane[start..<start + width].map { $0 == 255 ? "#" : $0 == 0 ? "." : "?" })
  }
}

private func grey(_ width: Int, _ height: Int, _ level: UInt8 = 100) -> TestFrame {
  TestFrame(width: width, height: height, luma: [UInt8](repeating: level, count: width * height))
}

@Test func lettersStandInTheirBox() throws {
  let picture = try made(stage("Ag") { $0.opacity = 1 }, of: grey(15, 13))
  // The margin is 2 pixels, since there are no more; the box is 13 pixels wide and 11 high.
  expectEqual(
    drawing(picture[0], width: 15),
    [
      "???????????????", "???????????????",
      "??.............", "??...#.........", "??..#.#........", "??.#...#..####.",
      "??.#...#.#...#.", "??.#####.#...#.", "??.#...#.#...#.", "??.#...#..####.",
      "??...........#.", "??........###..", "??.............",
    ])
}

@Test func whatTheFontHasNotIsAHollowBox() throws {
  let picture = try made(stage("ü") { $0.opacity = 1 }, of: grey(7, 11))
  expectEqual(
    drawing(picture[0], width: 7),
    [
      ".......", ".#####.", ".#...#.", ".#...#.", ".#...#.", ".#...#.", ".#...#.", ".#####.",
      ".......", ".......", ".......",
    ])
}

@Test func everyLetterIsAnother() {
  let glyphs = (0..<96).map { glyph in (0..<Font.height).map { Font.row($0, of: UInt8(glyph)) } }
  expectEqual(Set(glyphs).count, 96)
  expectEqual(Font.glyph(UInt8(ascii: " ")), 0)
  expectEqual(glyphs[0], [UInt8](repeating: 0, count: Font.height))
  expectEqual(glyphs[Int(Font.glyph(UInt8(ascii: "L")))].prefix(7), [16, 16, 16, 16, 16, 16, 31])
}

@Test func sizesAreWholeMultiples() throws {
  let small = try made(stage("4:2"), of: grey(40, 30))[0]
  let large = try made(stage("4:2") { $0.size = 3 }, of: grey(120, 90))[0]
  expectEqual(
    large,
    (0..<90 * 120).map { at in small[at / 120 / 3 * 40 + at % 120 / 3] })
}

@Test func theBoxIsMixedAndLettersAreNot() throws {
  let half = try made(stage("I"), of: grey(7, 11, 101))[0]
  // 101 and black in equal parts.
  expectEqual(Set(half), [51, 255])
  let none = try made(stage("I") { $0.opacity = 0 }, of: grey(7, 11, 101))[0]
  expectEqual(Set(none), [101, 255])
}

@Test func coloursAreThoseOfTheMatrix() {
  let red = TextColor(255, 0, 0)
  // JFIF: 0.299, -0.168736 and 0.5 of 255, with 128 in the middle.
  expectEqual((0..<3).map { red.sample(plane: $0, of: .jpeg, bits: 8) }, [76, 85, 255])
  let hd = Color(range: .limited, matrix: .bt709)
  // ITU-R BT.709 of 100 % bars: red is 63, 102, 240.
  expectEqual((0..<3).map { red.sample(plane: $0, of: hd, bits: 8) }, [63, 102, 240])
  expectEqual((0..<3).map { red.sample(plane: $0, of: hd, bits: 10) }, [250, 409, 960])
  expectEqual((0..<3).map { TextColor.white.sample(plane: $0, of: hd, bits: 8) }, [235, 128, 128])
  expectEqual((0..<3).map { TextColor.black.sample(plane: $0, of: hd, bits: 8) }, [16, 128, 128])
}

@Test func coloursAreSpelledAsNamesOrNumbers() throws {
  expectEqual(TextColor(settingText: "255/128/0"), TextColor(255, 128, 0))
  expectEqual(TextColor(settingText: "0/0/10")?.settingText, "0/0/10")
  expectEqual(TextColor(settingText: "255/255/255")?.settingText, "white")
  for wrong in ["", "pink", "1/2", "1/2/3/4", "256/0/0", "+1/2/3", "01/2/3", "1//3", "1/2/x"] {
    expectNil(TextColor(settingText: wrong))
  }
}

@Test func nothingChangesOutsideOfTheBoxInAnyFormat() throws {
  let difference = try StageUnderTest.firstDifference(of: stage("x1") { $0.place = .bottomRight }) {
    shown in
    guard let picture = shown.picture, let seen = shown.seen else { return "no picture" }
    guard shown.allocations == 0 else { return "\(shown.allocations) allocations" }
    let format = picture.format.pixelFormat
    for (index, (new, old)) in zip(picture.planes, seen.planes).enumerated() {
      let size = format.plane(index, width: picture.format.width, height: picture.format.height)
      // The box has 13 by 11 pixels, is rounded up to samples of chroma, and its margin is 4.
      let bytes = (format.isDeep ? 2 : 1) * 21
      for y in 0..<size.rows {
        let row = y * size.bytesPerRow
        let end = max(0, size.bytesPerRow - bytes)
        let isAbove = y < size.rows - 17
        let kept = isAbove ? row..<row + size.bytesPerRow : row..<row + end
        if new[kept] != old[kept] { return "plane \(index), row \(y) changed" }
      }
    }
    let most = (1 << format.bitsPerSample) - 1
    for plane in picture.planes where format.isDeep {
      for at in stride(from: 0, to: plane.count, by: 2)
      where Int(plane[at]) + 256 * Int(plane[at + 1]) > most { return "a sample above \(most)" }
    }
    return nil
  }
  expectNil(difference)
}

@Test func chromaIsMixedByWhatLettersCover() throws {
  // One dot of a point, 2 by 2 pixels of 4:2:0, and none in the next sample.
  let frame = TestFrame(
    .i420, width: 8, height: 12,
    planes: [
      [UInt8](repeating: 0, count: 96), [UInt8](repeating: 128, count: 24),
      [UInt8](repeating: 128, count: 24),
    ])
  let planes = try made(
    stage("|") { ($0.color, $0.opacity) = (TextColor(255, 0, 0), 0) }, of: frame)
  // The bar is the column 3 of the box, which begins at 0: half of the samples in column 1.
  expectEqual(planes[2][2 * 4 + 1], 192)
  expectEqual(planes[2][2 * 4], 128)
  expectEqual(planes[0][5 * 8 + 3], 76)
}

@Test func placesAreFilledForEachFrame() throws {
  var line = TextLine("{frame}|{time}|{date}{zone}", inUTC: true)
  var record = FrameRecord()
  record.number = 120
  record.captured = Timestamp(nanoseconds: 3_723_004_999_999, clock: .media)
  line.write(record)
  expectEqual(text(line), "120|01:02:03.004|")
  record.captured.clock = .monotonic
  line.write(record)
  let shown = text(line)
  expectNotNil(shown.wholeMatch(of: /120\|\d\d:\d\d:\d\d\.\d\d\d\|20\d\d-\d\d-\d\dUTC/))
}

@Test func aPlaceWithoutAnythingToSayTakesItsSpaceAlong() {
  var line = TextLine("{date} {time} {zone}", inUTC: false)
  var record = FrameRecord()
  record.captured = Timestamp(nanoseconds: -5, clock: .recorded)
  line.write(record)
  expectEqual(text(line), "00:00:00.000")
  line = TextLine("{date} {zone} {time} at {frame}.", inUTC: false)
  line.write(record)
  expectEqual(text(line), "00:00:00.000 at 0.")
}

@Test func numbersHaveAllTheirDigits() {
  var line = TextLine("{frame}")
  var record = FrameRecord()
  for number in [0, 9, 10, 99, 100, 12_345_678_901, UInt64.max] {
    record.number = number
    line.write(record)
    expectEqual(text(line), "\(number)")
  }
}

private func text(_ line: TextLine) -> String {
  String(decoding: line.glyphs.prefix(line.count).map { $0 + 32 }, as: UTF8.self)
}

@Test func aTextThatIsTooWideIsCutAndSaid() throws {
  let frame = grey(20, 20)
  var tested = try StageUnderTest(stage("four words are more"), for: frame)
  expectEmpty(tested.stage.notes)
  _ = tested.process(frame)
  expectEqual(tested.stage.notes.count, 1)
}

@Test func longLinesEndWhereTheirMemoryDoes() throws {
  let frame = grey(64, 16)
  var tested = try StageUnderTest(
    stage(OutputName(literal: String(repeating: "x", count: 5000))), for: frame)
  expectEqual(tested.process(frame).verdict, .keep)
}

@Test func workersDoNotChangeIt() throws {
  let pictures = (0..<20).map { TestFrame(.i420, width: 90, height: 40, .random, seed: $0 + 1) }
  try expectNil(
    TestRun.firstDifference(through: [.overlay { $0.text = "{frame} {time}" }]) {
      TestCamera(pictures)
    })
}
