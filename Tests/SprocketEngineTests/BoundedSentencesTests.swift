import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct BoundedSentencesTests {
  @Test func aFloodOfOneKindHidesNoOther() {
    var sentences = BoundedSentences<String>()
    for number in 0..<100_000 { sentences.add("file \(number) is lost", "file \(number) is lost") }
    sentences.add("the disk is full", "the disk is full")
    sentences.add("the disk is full", "the disk is full")
    let all = sentences.all { "\($1) more like \($0)" }
    expectEqual(all.count, 12)
    expectEqual(Array(all.prefix(2)), ["file 0 is lost", "file 1 is lost"])
    expectEqual(
      Array(all.suffix(2)), ["the disk is full", "99990 more like file 0 is lost"])
  }

  @Test func theKindsAreBounded() {
    var sentences = BoundedSentences<String>()
    for number in 0..<10_000 {
      let word = String(repeating: "x", count: number)
      sentences.add(word, word)
    }
    expectEqual(sentences.all { first, _ in first }.count, 100)
  }
}
