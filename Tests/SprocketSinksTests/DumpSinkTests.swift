import SprocketCore
import SprocketMCAP
import SprocketRecords
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

/// What both halves of a dump write, read by its own reader; Python's reads it in `Tests/Judges`.
@Suite struct DumpSinkTests {
  static let raw = FrameFormat(
    pixelFormat: .i420, width: 5, height: 3, color: .jpeg, rate: FrameRate(frames: 30))
  static let jpeg = FrameFormat(
    pixelFormat: .mjpeg, image: .i420, width: 5, height: 3, color: .jpeg,
    rate: FrameRate(frames: 30))

  let scratch: Scratch
  let sink: DumpSink

  init() throws {
    scratch = try Scratch()
    sink = DumpSink(path: scratch.path("a.mcap"))
  }

  func configure(_ format: FrameFormat, isLive: Bool = false) throws -> (any Packer)? {
    var setup = SinkSetup.test(format, isLive: isLive)
    try sink.configure(&setup)
    expectTrue(setup.tapsSource)
    expectEqual(setup.parts, .encoded)
    expectEqual(setup.backlog, 15)
    expectTrue(setup.packedCapacity > 0 || format.pixelFormat.isEncoded)
    var fates = SinkSetup.test(format, isLive: isLive)
    try sink.fates.configure(&fates)
    expectTrue(!fates.tapsSource && fates.parts == [])
    return sink.makePacker()
  }

  @Test func aSchemaRequiresWhatIsNotOptional() {
    var keys = JSONProperties()
    keys.add("a", "integer", "first")
    keys.add("b", of: ["x", "y"], "second")
    keys.add("c", "string|null", "third", isRequired: false)
    expectEqual(
      keys.schema(title: "t"),
      #"{"title":"t","type":"object","properties":{"a":{"type":"integer","description":"first"},"#
        + #""b":{"enum":["x","y"],"description":"second"},"#
        + #""c":{"type":["string","null"],"description":"third"}},"required":["a","b"]}"#)
  }

  func finish() throws {
    try sink.finish()
    try sink.fates.finish()
    let ledger = Ledger(produced: 2, entries: [.init(sink: "dump", counts: FateCounts())])
    try sink.seal(ledger)
    try sink.fates.seal(ledger)
  }

  /// The messages of a topic: their headers and data.
  func messages(_ topic: String) throws -> [(message: MCAPMessage, data: [UInt8])] {
    var reader = try MCAPReader.open(scratch.path("a.mcap"))
    let wanted = Set(reader.channels.values.filter { $0.topic == topic }.map(\.id))
    var found: [(message: MCAPMessage, data: [UInt8])] = []
    for chunk in reader.chunks.indices {
      try reader.load(chunk)
      reader.forEachMessage(on: wanted) { message, data in
        found.append((message, data.indices.map { data[$0] }))
      }
    }
    return found
  }

  func texts(_ topic: String) throws -> [String] {
    try messages(topic).map { String(decoding: $0.data, as: UTF8.self) }
  }

  func frame(_ format: FrameFormat, _ bytes: [UInt8], padding: Int = 0) -> SinkFrame {
    let frame = SinkFrame(format, bytes, padding: padding, packedCapacity: 4096)
    frame.record.number = 7
    frame.record.sequence = 4_294_967_297
    frame.record.captured = Timestamp(nanoseconds: 1_700_000_000_123_456_789, clock: .monotonic)
    frame.record.dequeued = 1_700_000_000_200_000_000
    return frame
  }

  @Test(arguments: [0, 9]) func holdsEveryByteOfARawFrame(padding: Int) throws {
    let packer = try configure(Self.raw)
    let bytes = Array(UInt8(100)..<127)
    try frame(Self.raw, bytes, padding: padding).write(to: sink, packer: packer)
    try finish()
    let images = try messages("image")
    expectEqual(images.count, 1)
    expectEqual(images[0].message.logTime, 1_700_000_000_123_456_789)
    expectEqual(images[0].message.sequence, 1)
    // By hand: 1: {1: 1700000000, 2: 123456789}, 7: "camera", 2: 5, 3: 3, 4: "YU12", 5: 5, 6: bytes.
    let start: [UInt8] =
      [0x0A, 11, 0x08, 0x80, 0xE2, 0xCF, 0xAA, 0x06, 0x10, 0x95, 0x9A, 0xEF, 0x3A, 0x3A, 6]
      + Array("camera".utf8) + [0x15, 5, 0, 0, 0, 0x1D, 3, 0, 0, 0, 0x22, 4] + Array("YU12".utf8)
      + [0x2D, 5, 0, 0, 0, 0x32, 27]
    expectEqual(images[0].data, start + bytes)
  }

  @Test func storesJPEGsAsTheyAre() throws {
    try expectNil(configure(Self.jpeg))
    let bytes = TestPattern.random.bytes(300_000)
    try frame(Self.jpeg, bytes).write(to: sink)
    try finish()
    let isSame = try messages("image").map { Array($0.data.suffix(300_000)) } == [bytes]
    expectTrue(isSame)
  }

  @Test func tellsOfEachFrameWhatTheSourceSaid() throws {
    let packer = try configure(Self.raw)
    let whole = frame(Self.raw, Array(0..<27))
    whole.record.inForce.exposureMicroseconds = 0.1
    whole.record.driverFlags = 0x2041
    whole.record.capturePoint = .startOfExposure
    whole.add(Event(kind: .controlApplied, control: 2, ticket: 9, value: 1.0 / 3))
    try whole.write(to: sink, packer: packer)
    let cut = frame(Self.raw, Array(0..<27))
    cut.record.byteCount = 20
    cut.record.chainFate = .corrupt
    cut.record.captured = Timestamp(nanoseconds: -1, clock: .media)
    try cut.write(to: sink, packer: packer)
    try finish()
    let head = #"{"number":7,"sequence":4294967297,"epoch":0,"captured_ns":"#
    try expectEqual(
      texts("source"),
      [
        head + #"1700000000123456789,"clock":"monotonic","point":"start_of_exposure","#
          + #""dequeued_ns":1700000000200000000,"bytes":27,"driver_flags":8257,"#
          + #""exposure_us":0.100000001,"events":[{"kind":"control_applied","control":2,"#
          + #""ticket":9,"value":0.33333333333333331}]}"#,
        head + #"-1,"clock":"media","point":"unknown","dequeued_ns":1700000000200000000,"#
          + #""bytes":20,"driver_flags":0,"fate":"corrupt"}"#,
      ])
    let images = try messages("image")
    expectEqual(images.map(\.message.logTime), [1_700_000_000_123_456_789, 0])
    expectEqual(images[1].data.suffix(21), [20] + Array(0..<20))
    // -1 ns: the second before 0, and 999,999,999 ns.
    let negative: [UInt8] = [0x08] + [UInt8](repeating: 0xFF, count: 9) + [1, 0x10, 0xFF, 0x93]
    expectTrue(images[1].data.dropFirst(2).starts(with: negative))
  }

  @Test func lossesInARowBecomeOneRange() throws {
    let packer = try configure(Self.raw)
    func lose(_ number: UInt64, _ fate: Fate) throws {
      try sink.account(
        LostFrame(number: number, sequence: number + 10, epoch: 1, fate: fate))
    }
    for number in UInt64(0)..<3 { try lose(number, .overrun) }
    try lose(3, .missing)
    try lose(4, .overrun)
    try lose(5, .behind)
    try frame(Self.raw, Array(0..<27)).write(to: sink, packer: packer)
    try lose(8, .flushed)
    try finish()
    try expectEqual(
      texts("range"),
      [
        #"{"fate":"overrun","epoch":1,"first_number":0,"first_sequence":10,"frames":3}"#,
        #"{"fate":"overrun","epoch":1,"first_number":4,"first_sequence":14,"frames":1}"#,
        #"{"fate":"behind","epoch":1,"first_number":5,"first_sequence":15,"frames":1}"#,
        #"{"fate":"behind","epoch":1,"first_number":8,"first_sequence":18,"frames":1}"#,
      ])
  }

  @Test func eventsOfFramesThatAreNotThereAreThere() throws {
    _ = try configure(Self.raw)
    for number in UInt64(0)..<5 {
      var lost = LostFrame(number: number, sequence: number, epoch: 1, fate: .overrun)
      if number == 2 { lost.events = [Event(kind: .controlRefused, control: 1, ticket: 7)] }
      try sink.account(lost)
      try sink.fates.account(lost)
    }
    try finish()
    let told = #""events":[{"kind":"control_refused","control":1,"ticket":7,"value":0}]"#
    try expectEqual(
      texts("range"),
      [
        #"{"fate":"overrun","epoch":1,"first_number":0,"first_sequence":0,"frames":2}"#,
        #"{"fate":"overrun","epoch":1,"first_number":2,"first_sequence":2,"frames":1,\#(told)}"#,
        #"{"fate":"overrun","epoch":1,"first_number":3,"first_sequence":3,"frames":2}"#,
      ])
    let fates = try texts("fate")
    expectEqual(fates.map { $0.contains("control_refused") }, [false, false, true, false, false])
  }

  @Test func fatesAndLedgerAreThere() throws {
    let packer = try configure(Self.raw)
    let frame = frame(Self.raw, Array(0..<27))
    try frame.write(to: sink, packer: packer)
    try frame.write(to: sink.fates)
    try sink.fates.account(LostFrame(number: 8, sequence: 3, epoch: 0, fate: .missing))
    expectEqual(sink.durableCount, 0)
    expectEqual(sink.fates.durableCount, 0)
    try finish()
    expectEqual(sink.durableCount, 1)
    expectEqual(sink.fates.durableCount, 1)
    let fates = try texts("fate")
    expectTrue(
      fates.count == 2 && fates[0].hasSuffix(#""fate":"delivered","latency_us":null,"number":7}"#))
    expectTrue(fates[1].hasPrefix(#"{"sequence":3,"epoch":0,"captured_ns":null,"#))
    try expectTrue(texts("ledger")[0].hasPrefix(#"{"produced":2,"sinks":{"dump":{"delivered":0,"#))
    try expectEqual(texts("session").count, 1)
  }

  @Test func noOtherClockHasATimeOfDay() throws {
    var setup = SinkSetup.test(Self.jpeg, clock: .media)
    try sink.configure(&setup)
    try frame(Self.jpeg, [1, 2, 3]).write(to: sink)
    try finish()
    try expectTrue(texts("session")[0].contains(#""clock":"media","wall_offset_ns":null,"#))
  }

  @Test func hasItsNameWhenItIsSealed() throws {
    let packer = try configure(Self.raw)
    try frame(Self.raw, Array(0..<27)).write(to: sink, packer: packer)
    try sink.finish()
    try expectGreater(scratch.bytes("a.partial.mcap").count, 100)
    #expect(throws: (any Error).self) { try scratch.bytes("a.mcap") }
    try finish()
    try expectFalse(scratch.bytes("a.mcap").isEmpty)
    let other = DumpSink(path: scratch.path("a.mcap"))
    var setup = SinkSetup.test(Self.raw)
    let error = #expect(throws: RunError.self) { try other.configure(&setup) }
    expectTrue(error?.code == .usage && error?.settings == [.overwrite])
  }

  @Test func nothingComesBehindItsEnd() throws {
    let packer = try configure(Self.raw)
    try frame(Self.raw, Array(0..<27)).write(to: sink, packer: packer)
    try finish()
    let whole = try scratch.bytes("a.mcap")
    let late = LostFrame(number: 8, sequence: 3, epoch: 0, fate: .late)
    #expect(throws: RunError.self) { try sink.fates.account(late) }
    try sink.fates.finish()
    let isSame = try scratch.bytes("a.mcap") == whole
    expectTrue(isSame)
    expectEqual(sink.durableCount, 1)
  }

  @Test func leavesNothingWhereTheRunDoesNotBegin() throws {
    do {
      var setup = SinkSetup.test(Self.raw)
      let sink = DumpSink(path: scratch.path("b.mcap"))
      try sink.configure(&setup)
    }
    #expect(throws: (any Error).self) { try scratch.bytes("b.partial.mcap") }
  }

  @Test func bothHalvesFailInTheSameWords() throws {
    let sink = DumpSink(path: "/dev/full")
    var setup = SinkSetup.test(Self.raw)
    try sink.configure(&setup)
    try sink.fates.configure(&setup)
    let packer = sink.makePacker()
    let frame = frame(Self.raw, Array(0..<27))
    // The first record begins the file.
    let error = #expect(throws: RunError.self) { try frame.write(to: sink, packer: packer) }
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("full"), true)
    let other = #expect(throws: RunError.self) { try frame.write(to: sink.fates) }
    expectEqual(other?.description, error?.description)
    expectEqual(sink.durableCount, 0)
    expectEqual(sink.fates.durableCount, 0)
    #expect(throws: RunError.self) { try sink.seal(Ledger(produced: 1, entries: [])) }
  }
}
