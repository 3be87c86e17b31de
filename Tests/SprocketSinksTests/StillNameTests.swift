import SprocketCodecs
import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSinks

@Suite struct StillNameTests {
  private func name(
    _ path: String, number: UInt64 = 7, seconds: Double = 48.123, source: String = "",
    isPartial: Bool = false
  ) throws -> String {
    let naming = try StillName(path: path).of(source)
    var record = FrameRecord()
    record.number = number
    record.captured = Timestamp(nanoseconds: Int64(seconds * 1e9), clock: .media)
    var text = ASCIIText(capacity: naming.mostBytes)
    naming.write(StillMark(record), isPartial: isPartial, into: &text)
    expectAtMost(text.bytes.count, naming.mostBytes)
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test func aFolderHasItsOldNames() throws {
    try expectEqual(name("shots"), "still-00000007.jpg")
    try expectEqual(name("shots", isPartial: true), "still-00000007.partial.jpg")
    try expectEqual(StillName(path: "a/b").folder, "a/b")
    try expectFalse(StillName(path: "a/b").isPattern)
  }

  @Test func placesAreFilledIn() throws {
    try expectEqual(name("a/x-{n}.png"), "x-00000007.png")
    try expectEqual(name("{time}_{n}.dng", seconds: 3723.5), "010203-500_00000007.dng")
    try expectEqual(name("{name} {n}.TIF", source: "/dev/C270: HD"), "C270--HD 00000007.TIF")
    try expectEqual(name("{n}.jpeg", number: .max), "18446744073709551615.jpeg")
    try expectEqual(name("{n}.jpg", isPartial: true), "00000007.partial.jpg")
  }

  @Test(arguments: [
    ("a/{n}.jpg", "a", StillFormat.jpeg), ("/{n}.PNG", "/", .png), ("{n}.tiff", ".", .tiff),
    ("x/y/{time}.dng", "x/y", .dng),
  ])
  func theEndingSaysWhatTheyAre(path: String, folder: String, format: StillFormat) throws {
    let naming = try StillName(path: path)
    expectEqual(naming.folder, folder)
    expectEqual(naming.format, format)
    expectTrue(naming.isPattern)
  }

  @Test(arguments: [
    "x.jpg", "{name}.png", "{n}", "{n}.gif", "{x}.jpg", "{n.jpg", "{n}/{n}.jpg", "{n}{.jpg",
  ])
  func whatCannotBeNamedIsRefused(path: String) {
    #expect(throws: RunError.self) { try StillName(path: path) }
  }
}
