import SprocketCore
import SprocketMCAP
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

/// Dumps that tell of more than they can know.
@Suite struct ReplayBombTests {
  private func refusal(_ file: TestFile) -> RunError? {
    do throws(RunError) {
      _ = try ReplaySource(path: file.path).open()
      return nil
    } catch {
      return error
    }
  }

  @Test func manyRangesTellOfNoMoreThanTheFileCanKnow() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(0, time: 0, bytes: ReplayOddityTests.picture)
    for range in 0..<2000 {
      let first = 1 + range * 1_000_000
      dump.add(
        "range",
        #"{"fate":"overrun","epoch":0,"first_number":\#(first),"first_sequence":\#(first),"#
          + #""frames":1000000}"#)
    }
    let file = try dump.file()
    let source = ReplaySource(path: file.path)
    let description = try source.open()
    defer { source.close() }
    try expectLess(#require(description.frameCount), 2_000_000)
    expectEqual(description.note?.contains("left out"), true)
    var frames = 0
    while case .frame = try source.next(timeout: 0), frames < 1_000_000 {
      source.discard()
      frames += 1
    }
    // 100,000 and an eighth of the file's bytes.
    expectTrue((100_000..<200_000).contains(frames))
  }

  @Test func jumpsLoseNoMoreThanTheFileCanKnow() throws {
    func dump(step: Int) throws -> TestFile {
      var dump = TestDump()
      dump.session()
      for number in 0..<50 {
        dump.frame(number * step, time: number, bytes: ReplayOddityTests.picture)
      }
      return try dump.file()
    }
    expectNil(refusal(try dump(step: 1000)))
    // A jump that is longer begins an epoch, and nothing is lost.
    expectNil(refusal(try dump(step: 40_000)))
    let error = try #require(refusal(try dump(step: 32_768)))
    expectEqual(error.code, .usage)
    expectTrue(error.description.contains("than a file of its size"))
  }

  @Test func eventsOfAFrameAreThoseThatItHasRoomFor() throws {
    var dump = TestDump()
    dump.session()
    let events = [String](repeating: #"{"kind":"replugged"}"#, count: 1000)
    dump.frame(
      0, time: 0, bytes: ReplayOddityTests.picture,
      more: #","events":[\#(events.joined(separator: ","))]"#)
    dump.frame(
      1, time: 1, bytes: ReplayOddityTests.picture, more: #","events":[{"kind":"replugged"}]"#)
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.events.count), [EventQueue.capacity, 1])
  }

  @Test func aReplayEndsWhenItIsInterrupted() throws {
    var dump = TestDump()
    dump.session()
    for number in 0..<3 { dump.frame(number, time: number, bytes: ReplayOddityTests.picture) }
    let file = try dump.file()
    let early = ReplaySource(path: file.path)
    early.interrupt()
    do {
      _ = try early.open()
      Issue.record("it opens")
    } catch { expectEqual(error.code, .interrupted) }
    let source = ReplaySource(path: file.path)
    _ = try source.open()
    guard case .frame = try source.next(timeout: 0) else {
      Issue.record("there is a frame")
      return
    }
    source.discard()
    source.interrupt()
    guard case .end = try source.next(timeout: 0) else {
      Issue.record("it goes on")
      return
    }
    source.close()
  }
}
