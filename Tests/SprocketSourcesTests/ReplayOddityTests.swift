import SprocketCore
import SprocketMCAP
import SprocketScene
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSources

/// Dumps that are damaged, or say what cannot be true.
@Suite struct ReplayOddityTests {
  static let picture: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

  @Test func picturesFromBeforeTimeBeganAreTheirFrames() throws {
    var dump = TestDump()
    dump.session()
    // All before 0 have log time 0, and lie in the order of their numbers.
    for (number, time) in [5, -10, -30, -20, 0, 7].enumerated() {
      dump.frame(number, time: time, bytes: [UInt8(number)] + Self.picture.dropFirst())
    }
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.captured.nanoseconds), [5, -10, -30, -20, 0, 7])
    expectEqual(replayed.frames.map { $0.bytes.first }, [0, 1, 2, 3, 4, 5])
  }

  @Test func aRangeEndsWhereTheNextFrameBegins() throws {
    var dump = TestDump()
    dump.session()
    func range(_ first: Int, _ frames: UInt64) -> String {
      #"{"fate":"overrun","epoch":0,"first_number":\#(first),"first_sequence":\#(first),"#
        + #""frames":\#(frames)}"#
    }
    dump.frame(0, time: 0, bytes: Self.picture)
    dump.add("range", range(1, 4_294_967_295))
    dump.frame(4, time: 10, bytes: Self.picture)
    dump.add("range", range(5, 4_294_967_295))
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.prefix(5).map(\.arrived.sequence), [0, 1, 2, 3, 4])
    expectEqual(
      replayed.frames.prefix(5).map(\.arrived.isOverrun), [false, true, true, true, false])
    // What a file of its size can know of, and no more; the note says how many are left out.
    expectTrue((100_002...101_000).contains(replayed.frames.count))
    expectEqual(replayed.description.frameCount, replayed.frames.count)
    expectEqual(replayed.description.note?.contains("left out"), true)
  }

  @Test func aRecordCannotClaimMoreThanItsChunkHolds() throws {
    var dump = TestDump()
    dump.session(format: "MJPG", image: "null")
    dump.frame(0, time: 0, bytes: Self.picture, claim: 4_611_686_018_427_387_904)
    dump.frame(1, time: 1, bytes: Self.picture, claim: 3)
    // A message of 8 bytes, in 2 of the image's fields and 31 of the record; two of them.
    try expectEqual(Replayed(dump.file()).description.capacity, 2 * (31 + 2 + 8))
  }

  @Test func anImageThatItsRecordLeavesNoRoomForIsCorrupt() throws {
    var dump = TestDump(imageSchema: "foxglove.CompressedImage")
    dump.session(format: "MJPG", image: "null")
    let jpeg = try frames(scene { $0.format = .mjpeg }, count: 1).taken[0].bytes
    dump.record(0, time: 0, claim: 100)
    dump.image(time: 0, TestDump.longMessage(jpeg, field: 2))
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.isCorrupt), [true])
    expectEqual(replayed.frames.map(\.bytes.count), [100])
  }

  @Test func aRateThatNoCameraHasIsUnknown() throws {
    for (rate, isKnown) in [("10000", true), ("10001", false), ("2147483647", false)] {
      var dump = TestDump()
      dump.session(rate: rate)
      dump.frame(0, time: 0, bytes: Self.picture)
      try expectEqual((Replayed(dump.file()).description.format.rate != .unknown), isKnown)
    }
  }

  /// Two chunks of records and two of images, in turn; one of them damaged.
  private func damaging(_ chunk: Int) throws -> TestFile {
    var dump = TestDump()
    dump.session()
    for number in 0..<4 {
      if number == 2 { dump.endChunk() }
      dump.frame(number, time: number, bytes: Self.picture)
    }
    let file = try dump.file()
    var bytes = try Scratch.bytes(file.path)
    bytes[Int(try MCAPReader.open(file.path).chunks[chunk].offset) + 20] ^= 1
    try file.write(bytes)
    return file
  }

  @Test func framesOfADamagedChunkAreCorruptAndTheRestIsPlayed() throws {
    let replayed = try Replayed(damaging(1))
    expectEqual(replayed.frames.map(\.arrived.isCorrupt), [true, true, false, false])
    expectEqual(replayed.frames.map(\.bytes.count), [0, 0, 8, 8])
    expectNil(replayed.description.note)
    expectEqual(replayed.notes.count, 1)
    expectEqual(replayed.notes.first?.contains("is damaged in the chunk at byte "), true)
  }

  @Test func damagedRecordsEndAReplayAndAreToldAsDamage() throws {
    let replayed = try Replayed(damaging(2))
    expectEqual(replayed.frames.map(\.arrived.sequence), [0, 1])
    let note = try #require(replayed.description.note)
    expectTrue(note.contains("is damaged at byte "))
    expectFalse(note.contains("cut off"))
  }

  @Test func lateFramesAreSpokenOf() throws {
    var dump = TestDump()
    dump.session()
    for number in 0..<3 { dump.frame(number, time: number, bytes: Self.picture) }
    for number in 1..<3 {
      dump.add("fate", #"{"sequence":\#(number),"fate":"late","number":\#(number)}"#)
    }
    let file = try dump.file()
    let note = try Replayed(file).description.note
    expectEqual(note?.hasPrefix("2 frames of "), true)
    expectEqual(note?.contains("latedrop"), true)
    var settings = ReplaySettings()
    settings.live = true
    try expectNil(Replayed(file, settings).description.note)
  }

  @Test func theFirstChannelThatCanBePlayedIsPlayed() throws {
    // 2: 4, 3: 2, 4: "mono8", 5: 4
    let start: [UInt8] = [0x15, 4, 0, 0, 0, 0x1D, 2, 0, 0, 0, 0x22, 5]
    let end: [UInt8] = [0x2D, 4, 0, 0, 0]
    func message(_ encoding: String) -> [UInt8] {
      TestDump.message(Self.picture, before: start + Array(encoding.utf8) + end)
    }
    var dump = TestDump(hasSession: false)
    // 7 has no messages, 8 depths that are no picture, 9 pictures.
    dump.addImages(7)
    dump.addImages(8)
    for time in UInt64(0)..<3 {
      dump.image(time: time, message("depth"), on: 8)
      dump.image(time: time + 10, message("mono8"))
    }
    let replayed = try Replayed(dump.file())
    expectEqual(replayed.frames.map(\.arrived.captured.nanoseconds), [10, 11, 12])
    expectTrue(replayed.frames.allSatisfy { $0.bytes == Self.picture })
  }

  @Test func chunksThatOverlapArePlayedByTime() throws {
    let fields: [UInt8] =
      [0x15, 4, 0, 0, 0, 0x1D, 2, 0, 0, 0, 0x22, 5] + Array("mono8".utf8) + [0x2D, 4, 0, 0, 0]
    var dump = TestDump(hasSession: false)
    // Six chunks of ten frames each: more than are kept.
    for chunk in 0..<6 {
      for frame in 0..<10 {
        let time = frame * 6 + chunk
        let bytes = [UInt8(time)] + Self.picture.dropFirst()
        dump.image(time: UInt64(time), TestDump.message(bytes, before: fields))
      }
      dump.endChunk()
    }
    try expectEqual(Replayed(dump.file()).frames.map { $0.bytes[0] }, Array(0..<60))
  }

  /// Each number of each record becomes each extreme, in a file whose checksums are right.
  @Test func noNumberTraps() throws {
    let extremes = [
      "-1", "0", "1", "65535", "65536", "2147483647", "-2147483648", "4294967295",
      "4611686018427387904", "9223372036854775807", "-9223372036854775808",
      "18446744073709551615", "1e308", "0.5", "null",
    ]
    var count = 0
    var (place, isThere) = (0, true)
    while isThere {
      for extreme in extremes {
        var dump = TestDump(changing: place, to: extreme)
        dump.session()
        dump.frame(0, time: 0, bytes: Self.picture, more: #","exposure_us":100,"gain":2"#)
        dump.add(
          "range", #"{"fate":"overrun","epoch":0,"first_number":1,"first_sequence":1,"frames":2}"#)
        dump.session(1, format: "MJPG", image: "null")
        dump.frame(
          3, epoch: 1, time: 10, bytes: Self.picture,
          more: #","events":[{"kind":"control_applied","control":2,"ticket":9,"value":0.5}]"#)
        dump.add("fate", #"{"sequence":3,"fate":"late","number":3}"#)
        isThere = dump.hasChanged
        try play(dump.file())
        count += 1
      }
      place += 1
    }
    // Numbers of two sessions, two frames, an event's, a range's and a fate's.
    expectAtLeast(count, 30 * extremes.count)
  }

  /// What an engine does with it, for a while.
  private func play(_ file: TestFile) throws {
    for isLive in [false, true] {
      var settings = ReplaySettings()
      settings.live = isLive
      let source = ReplaySource(path: file.path, settings)
      guard let opened = try? source.open() else { continue }
      defer { source.close() }
      var description = opened
      for _ in 0..<12 {
        let rate = description.format.rate
        expectTrue(rate == .unknown || rate.framesPerSecond <= 10_000)
        // Address space for a picture of 65,535 x 65,535 is not asked for.
        expectAtLeast(description.capacity, 0)
        expectAtMost(description.capacity, 65_535 * 65_535)
        guard let arrival = try? source.next(timeout: 0) else { break }
        switch arrival {
        case .nothing: continue
        case .end: return
        case .epoch(let next, _): description = next
        case .frame(let arrived) where arrived.isOverrun: source.discard()
        case .frame:
          guard description.capacity < 1 << 24 else { return }
          SourceSlot(capacity: description.capacity).take(from: source, description.format)
        }
      }
    }
  }
}
