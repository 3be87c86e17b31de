import Foundation
import SprocketCore
import SprocketSinks
import TestExpectations
import TestSupport
import Testing

/// What a sink vouches for once its file takes no more.
@Suite struct DurableCountTests {
  static let format = ReportSinkTests.format
  /// Bytes that a file may have in the tests of a limit; less than a buffer, no multiple of a line.
  static let limit = 10_000

  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  /// Writes frames until the sink fails or has `count`; returns how many `write` accepted.
  static func fill(_ sink: any Sink, count: Int, isLive: Bool = false) throws -> Int {
    var setup = SinkSetup.test(format, isLive: isLive)
    try sink.configure(&setup)
    let packer = try sink.makePacker()
    let frame = SinkFrame(format, TestPattern.ramp.bytes(8))
    for written in 0..<count {
      // Lines of frames that were lost lie between; they are nothing that was delivered.
      guard (try? sink.account(LostFrame(number: 0, sequence: 0, epoch: 0, fate: .late))) != nil,
        (try? frame.write(to: sink, packer: packer)) != nil
      else { return written }
    }
    return count
  }

  static func sinks(_ path: String) -> [any Sink] {
    [ReportSink(path: path, overwrite: true), ChecksumSink(path: path, overwrite: true)]
  }

  @Test func aFullDiskKeepsNothing() throws {
    for sink in Self.sinks("/dev/full") {
      try expectGreater(Self.fill(sink, count: 10_000), 0)
      try? sink.finish()
      expectEqual(sink.durableCount, 0)
    }
  }

  @Test func whatWaitsInTheBufferDoesNotCount() throws {
    for sink in Self.sinks(scratch.path("lines")) {
      expectEqual(sink.durableCount, 0)
      try expectEqual(Self.fill(sink, count: 10), 10)
      expectEqual(sink.durableCount, 0)
      try sink.finish()
      expectEqual(sink.durableCount, 10)
    }
  }

  @Test func countsWhatFullBuffersTook() throws {
    let sink = ChecksumSink(path: scratch.path("sums"))
    try expectEqual(Self.fill(sink, count: 3000), 3000)
    // Each line is `0 `, 32 digits and a line feed; one buffer of 65,536 bytes is out.
    expectEqual(sink.durableCount, 65_536 / 35)
  }

  @Test func aLiveReportCountsAtOnce() throws {
    let sink = ReportSink(path: scratch.path("r.jsonl"))
    try expectEqual(Self.fill(sink, count: 3, isLive: true), 3)
    expectEqual(sink.durableCount, 3)
  }

  @Test func whatBuffersNothingVouchesForAll() {
    expectEqual(NullSink().durableCount, .max)
    expectEqual(ChecksumSink().durableCount, .max)
    expectEqual(PipeSink(.gray, descriptor: 1).durableCount, .max)
  }

  @Test func aLimitedFileHoldsWhatIsVouchedFor() async {
    // In a process of its own, for the limit is the process's.
    await #expect(processExitsWith: .success) {
      _ = signal(SIGXFSZ, SIG_IGN)
      let limit = rlim_t(DurableCountTests.limit)
      var limits = rlimit(rlim_cur: limit, rlim_max: limit)
      precondition(unsafe setrlimit(__rlimit_resource_t(1), &limits) == 0, "RLIMIT_FSIZE is 1")
      for isLive in [false, true] {
        let scratch = try Scratch()
        for (name, sink) in [
          ("r", ReportSink(path: scratch.path("r"))), ("c", ChecksumSink(path: scratch.path("c"))),
        ] as [(String, any Sink)] {
          _ = try DurableCountTests.fill(sink, count: 3000, isLive: isLive)
          try? sink.finish()
          // A file that is not complete never gets its name.
          let text = try scratch.text(name + ".partial")
          precondition((try? scratch.text(name)) == nil, "the name is not given")
          precondition(text.utf8.count == DurableCountTests.limit, "the file is filled")
          let whole = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
          let delivered = whole.filter { !$0.contains("\"late\"") }
          precondition(sink.durableCount == UInt64(delivered.count), "as many as in the file")
          precondition(!delivered.isEmpty, "some are")
        }
      }
    }
  }
}
