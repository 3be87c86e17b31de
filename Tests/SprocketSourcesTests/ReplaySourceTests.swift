import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

@Suite struct ReplaySourceTests {
  static let picture: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

  @Test func givesBackWhatWasRecorded() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(
      0, sequence: 40, time: 1_700_000_000_123_456_789, bytes: Self.picture,
      more: #","exposure_us":0.100000001,"gain":2,"future":{"a":[1,{}]}"#)
    dump.frame(
      1, sequence: 41, time: 1_700_000_000_156_790_123, bytes: Self.picture.reversed(),
      more: #","events":[{"kind":"control_applied","control":2,"ticket":9,"value":0.5},"#
        + #"{"kind":"stalled","wait_us":2500},{"kind":"of the future"}]"#)
    let replayed = try Replayed(dump.file())
    let format = replayed.description.format
    expectEqual(format.pixelFormat, .grey)
    expectEqual(format.width, 4)
    expectEqual(format.height, 2)
    expectEqual(format.rate, FrameRate(frames: 30000, seconds: 1001))
    expectEqual(format.color, Color(range: .full, matrix: .bt709, transfer: .linear))
    expectFalse(replayed.description.isLive)
    expectNil(replayed.description.controls)
    expectEqual(replayed.description.frameCount, 2)
    expectNil(replayed.description.note)
    expectEqual(replayed.frames.map(\.arrived.sequence), [40, 41])
    expectEqual(
      replayed.frames[0].arrived.captured,
      Timestamp(nanoseconds: 1_700_000_000_123_456_789, clock: .recorded))
    expectEqual(replayed.frames[0].arrived.capturePoint, .endOfFrame)
    expectEqual(replayed.frames[0].arrived.inForce.exposureMicroseconds, 0.1)
    expectEqual(replayed.frames[0].arrived.inForce.gain, 2)
    expectTrue(replayed.frames[0].arrived.inForce.lensPosition.isNaN)
    expectEqual(replayed.frames.map(\.bytes), [Self.picture, Self.picture.reversed()])
    expectEqual(
      replayed.frames[1].events,
      [
        Event(kind: .controlApplied, control: 2, ticket: 9, value: 0.5),
        Event(kind: .stalled, value: 2.5),
      ])
    expectTrue(replayed.frames.allSatisfy { !$0.arrived.isCorrupt && !$0.arrived.isStartup })
  }

  @Test func findsDamageAgain() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(0, time: 0, bytes: Self.picture, more: #","fate":"startup""#)
    dump.frame(1, time: 10, bytes: Self.picture.dropLast())
    dump.frame(2, time: 20, bytes: Self.picture, more: #","driver_flags":64"#)
    dump.frame(3, time: 30, bytes: [])
    dump.frame(4, time: 40, bytes: Self.picture, more: #","fate":"corrupt""#)
    dump.frame(5, time: 50, bytes: Self.picture)
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.isCorrupt), [false, true, true, true, true, false])
    expectEqual(
      replayed.frames.map(\.arrived.isStartup), [true] + [false, false, false, false, false])
    expectEqual(replayed.frames.map(\.bytes.count), [8, 7, 8, 0, 8, 8])
  }

  @Test func lateAndLostFramesAreAsTheyWere() throws {
    var dump = TestDump()
    dump.session()
    for number in [0, 1, 4, 9] { dump.frame(number, time: number * 10, bytes: Self.picture) }
    dump.add(
      "range", #"{"fate":"overrun","epoch":0,"first_number":2,"first_sequence":2,"frames":2}"#)
    dump.add("fate", #"{"sequence":1,"fate":"late","number":1}"#)
    dump.add("fate", #"{"sequence":4,"fate":"rejected","number":4}"#)
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.sequence), [0, 1, 2, 3, 4, 9])
    expectEqual(replayed.frames.map(\.arrived.isOverrun), [false, false, true, true, false, false])
    expectEqual(replayed.frames.map(\.arrived.wasLate), [false, true, false, false, false, false])
    expectEqual(replayed.description.frameCount, 10)
  }

  @Test func eventsOfFramesWithoutBytesAreToldWithTheFirstOfThem() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(0, time: 0, bytes: Self.picture)
    dump.add(
      "range",
      #"{"fate":"overrun","epoch":0,"first_number":1,"first_sequence":1,"frames":2,"#
        + #""events":[{"kind":"stalled","wait_us":500}]}"#)
    dump.frame(3, time: 30, bytes: Self.picture, more: #","events":[{"kind":"replugged"}]"#)
    let replayed = try Replayed(dump.file())
    expectEqual(
      replayed.frames.map(\.events),
      [
        [], [Event(kind: .stalled, value: 0.5)], [], [Event(kind: .replugged)],
      ])
  }

  @Test func epochsBeginWhereTheyBegan() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(0, time: 0, bytes: Self.picture)
    dump.endChunk()
    dump.session(1, width: 2)
    dump.frame(1, sequence: 0, epoch: 1, time: 10, bytes: [1, 2, 3, 4])
    dump.session(2, width: 2)
    dump.frame(
      2, sequence: 0, epoch: 2, time: 20, bytes: [5, 6, 7, 8],
      more: #","events":[{"kind":"replugged"}]"#)
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.epochs.map(\.before), [1, 2])
    expectEqual(replayed.epochs.map(\.format.width), [2, 2])
    expectEqual(replayed.epochs.map(\.reason), [.formatChange, .replug])
    expectEqual(replayed.frames.map(\.bytes.count), [8, 4, 4])
  }

  @Test func aCopyInAnotherOrderIsTheSame() throws {
    var dump = TestDump()
    dump.session()
    // By time, as programs sort messages; the third was captured before the second.
    dump.frame(0, time: 10, bytes: [0] + Self.picture.dropFirst())
    dump.frame(2, time: 20, bytes: [2] + Self.picture.dropFirst())
    dump.frame(1, time: 30, bytes: [1] + Self.picture.dropFirst())
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.sequence), [0, 1, 2])
    expectEqual(replayed.frames.map { $0.bytes[0] }, [0, 1, 2])
    expectEqual(replayed.frames.map(\.arrived.captured.nanoseconds), [10, 30, 20])
  }

  @Test func aFileThatWasCutOffIsPlayedAsFarAsItIsWhole() throws {
    var dump = TestDump()
    dump.session()
    for number in 0..<3 { dump.frame(number, time: number, bytes: Self.picture) }
    dump.endChunk()
    for number in 3..<5 { dump.frame(number, time: number, bytes: Self.picture) }
    let file = try dump.file(isWhole: false)
    try expectEqual(Replayed(file).frames.count, 5)
    // The index of the last chunk, then the chunk itself, lose their ends.
    let bytes = try Scratch.bytes(file.path)
    for cut in [1, 30, 60] {
      try file.write(bytes.dropLast(cut))
      let replayed = try Replayed(file)
      expectEqual(replayed.frames.count, (cut == 60 ? 3 : 5))
      expectEqual(replayed.description.note?.contains("was cut off"), true)
      expectEqual(replayed.description.note?.contains("last 2 frames"), (cut == 60))
    }
  }

  @Test func liveFramesComeWhenTheyCame() throws {
    var dump = TestDump()
    dump.session()
    dump.frame(0, time: 5_000_000_000, bytes: Self.picture)
    dump.frame(1, time: 5_030_000_000, bytes: Self.picture)
    dump.add("fate", #"{"sequence":1,"fate":"late","number":1}"#)
    var settings = ReplaySettings()
    settings.live = true
    let before = monotonicNow()
    let replayed = try Replayed(dump.file(), settings)
    let times = replayed.frames.map(\.arrived.captured)
    expectTrue(replayed.description.isLive)
    expectTrue(times.allSatisfy { $0.clock == .monotonic })
    // Dequeued 1 µs after it was captured, now as then.
    expectTrue(times[0].nanoseconds >= before - 1000 && monotonicNow() >= times[1].nanoseconds)
    expectEqual(times[1].nanoseconds - times[0].nanoseconds, 30_000_000)
    expectFalse(replayed.frames[1].arrived.wasLate)
  }

  @Test func otherProgramsImagesArePlayed() throws {
    // 1: {}, 2: 3, 3: 2, 4: "mono8", 5: 4, 6: two rows of three pixels and one byte of padding.
    var dump = TestDump(hasSession: false)
    let fields: [UInt8] =
      [0x0A, 0, 0x15, 3, 0, 0, 0, 0x1D, 2, 0, 0, 0, 0x22, 5] + Array("mono8".utf8)
      + [0x2D, 4, 0, 0, 0]
    for time in 0..<3 {
      dump.image(time: UInt64(time), TestDump.message([1, 2, 3, 99, 4, 5, 6, 99], before: fields))
    }
    let replayed = try Replayed(dump.file())
    let format = replayed.description.format
    expectEqual(format.pixelFormat, .grey)
    expectEqual(format.width, 3)
    expectEqual(format.height, 2)
    expectEqual(replayed.frames.map(\.arrived.captured.nanoseconds), [0, 1, 2])
    expectTrue(
      replayed.frames.allSatisfy { $0.bytes == [1, 2, 3, 4, 5, 6] && !$0.arrived.isCorrupt })
  }

  @Test func whatCannotBePlayedIsSaidInOneSentence() throws {
    var empty = TestDump()
    empty.session()
    let files = [
      try empty.file(), try TestDump(imageSchema: "foxglove.Log").file(),
      try TestFile(Array("no MCAP at all".utf8)),
    ]
    for file in files {
      let error = #expect(throws: RunError.self) { _ = try Replayed(file) }
      expectEqual(error?.code, .usage)
      expectEqual(error?.description.contains(file.path), true)
    }
  }

  @Test func damageNeverTraps() throws {
    var dump = TestDump()
    dump.session()
    for number in 0..<4 {
      dump.frame(
        number, time: number, bytes: Self.picture, more: #","events":[{"kind":"replugged"}]"#)
    }
    dump.add(
      "range", #"{"fate":"overrun","epoch":0,"first_number":4,"first_sequence":4,"frames":2}"#)
    dump.add("fate", #"{"sequence":1,"fate":"late","number":1}"#)
    let file = try dump.file()
    let bytes = try Scratch.bytes(file.path)
    var random = TestRandom(seed: 5)
    for _ in 0..<1500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        damaged[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      try file.write(damaged)
      let source = ReplaySource(path: file.path)
      guard let description = try? source.open() else { continue }
      let slot = SourceSlot(capacity: description.capacity)
      // A range may claim millions of frames.
      for _ in 0..<20 {
        guard case .frame(let arrived) = try? source.next(timeout: 0) else { break }
        if arrived.isOverrun {
          source.discard()
        } else {
          slot.take(from: source, description.format)
        }
      }
      source.close()
    }
  }
}
