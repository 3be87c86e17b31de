import Foundation
import SprocketCore
import TestExpectations
import Testing

@testable import SprocketSinks

struct MovieNamesTests {
  /// The numbers of `count` files of a pattern, and how often it was asked whether a name is there.
  private func take(_ count: Int, beside there: Range<Int>) throws -> (numbers: [Int], asked: Int) {
    let names = MovieNames()
    var asked = 0
    let numbers = try (1...count).map { index in
      let name = try names.take("/nowhere/take-{n}.mov", index, isMadeUp: true, replaces: false) {
        path in
        asked += 1
        return there.contains { path == "/nowhere/take-\($0).mov" }
      }
      name.keep()
      return name.number
    }
    return (numbers, asked)
  }

  @Test func theNumberOfTheNextFileCostsTheSameWhateverIsThere() throws {
    let few = try take(10, beside: 1..<5)
    expectEqual(few.numbers, Array(5..<15))
    let many = try take(10, beside: 1..<20_000)
    expectEqual(many.numbers, Array(20_000..<20_010))
    // Only the first file's number is searched for.
    expectTrue(many.asked - few.asked < 40)
  }

  @Test func aNameThatFailedIsFreeAgain() throws {
    let names = MovieNames()
    func take() throws(RunError) -> MovieName {
      try names.take("/nowhere/a.mov", 1, isMadeUp: false, replaces: true) { _ in false }
    }
    let held = try take()
    #expect(throws: RunError.self) { try take() }
    expectEqual(held.number, 1)
    _ = consume held
    let again = try take()
    again.keep()
    _ = consume again
    #expect(throws: RunError.self) { try take() }
  }

  @Test func aFileOfThisRunIsKnownByItsTimeWhereItsNameIsForgotten() throws {
    let folder = NSTemporaryDirectory() + "names-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let names = MovieNames()
    func take(_ path: String) throws(RunError) -> MovieName {
      try names.take(OutputName(literal: path), 1, isMadeUp: false, replaces: true) { _ in true }
    }
    try Data([1]).write(to: URL(fileURLWithPath: folder + "/0.mov"))
    for number in 0...1024 { try take(folder + "/\(number).mov").keep() }
    #expect(throws: RunError.self) { try take(folder + "/0.mov") }
    // A file of before the run is replaced.
    expectEqual(try take("/etc/passwd").path, "/etc/passwd")
  }

  @Test func namesOfAYearTakeBoundedMemory() throws {
    let names = MovieNames()
    for number in 1...500_000 {
      let name = try names.take("/nowhere/{n}.mov", number, isMadeUp: true, replaces: false) { _ in
        false
      }
      name.keep()
    }
    expectEqual(names.counts, [0, 1024, 1])
  }
}
