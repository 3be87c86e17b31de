import Foundation
import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import SprocketSinks

@Suite struct StillSinkTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  static let format = FrameFormat(
    pixelFormat: .mjpeg, image: .i420, width: 8, height: 8, color: .jpeg,
    rate: FrameRate(frames: 10))

  /// The bytes are no JPEG. They are written unchanged, except for the first two: the packer replaces them
  /// by the start of the file, which is empty here.
  static func frame(_ number: UInt64, _ seconds: Double, byte: UInt8 = 1) -> SinkFrame {
    let bayer = FrameFormat(
      pixelFormat: .bayerRGGB, width: 8, height: 8, color: .jpeg, rate: .unknown)
    let frame = SinkFrame(bayer, [UInt8](repeating: byte, count: 100))
    frame.record.number = number
    frame.record.captured = Timestamp(nanoseconds: Int64(seconds * 1e9), clock: .media)
    return frame
  }

  func begun(overwrite: Bool = false) throws(RunError) -> StillSink {
    let sink = StillSink(path: scratch.path("s"), overwrite: overwrite)
    var setup = SinkSetup.test(Self.format)
    try sink.configure(&setup)
    return sink
  }

  var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: scratch.path("s")).sorted()
    }
  }

  @Test func picksTheFirstFrameAtOrAfterEachMultiple() {
    let selector = IntervalSelector(.milliseconds(100))
    let times: [Int64] = [70, 100, 169, 171, 250, 280, 480, 500, 560, 570].map { $0 * 1_000_000 }
    let picked = times.map { selector.selects(at: $0) }
    // Multiples since the first: at 70, 170, 270, (370 has none of its own), 470, 570.
    let expected = [true, false, false, true, false, true, true, false, false, true]
    expectEqual(picked, expected)
    // A clock that begins anew.
    expectTrue(selector.selects(at: 5))
    expectFalse(selector.selects(at: 99_000_000))
    expectTrue(selector.selects(at: 100_000_005))
  }

  @Test func theEdgesOfTimeAreNoTrap() throws {
    let selector = IntervalSelector(.seconds(1))
    // From the first time to the last are 2^64 - 1 ns, 18446744073 whole seconds and a part.
    let times: [Int64] = [.min, .max, .max, .min, 0]
    let picked = times.map { selector.selects(at: $0) }
    expectEqual(picked, [true, true, false, true, true])
    let sink = try begun()
    for (number, time) in times.enumerated() {
      let frame = Self.frame(UInt64(number), 0)
      frame.record.captured = Timestamp(nanoseconds: time, clock: .media)
      try frame.write(to: sink)
    }
    try sink.finish()
    expectEqual(sink.durableCount, 5)
  }

  @Test func aBacklogHasACeiling() throws {
    func backlog(_ width: Int, _ height: Int, _ rate: Int32) -> Int {
      SinkSetup.test(Self.format).diskBacklog(
        of: FrameFormat(
          pixelFormat: .mjpeg, image: .i420, width: width, height: height, color: .jpeg,
          rate: FrameRate(frames: rate)))
    }
    expectEqual(backlog(64, 48, 0), 4)
    expectEqual(backlog(64, 48, 30), 15)
    expectEqual(backlog(64, 48, .max), 60)
    // 3110400 bytes each: 41 are 128 MB.
    expectEqual(backlog(1920, 1080, 240), 41)
    expectEqual(backlog(16384, 16384, 240), 4)
  }

  @Test func whatIsNoFolderIsCalledWhatItIs() throws {
    for (path, says) in [("", "give the name of a folder"), ("/dev/null", "a device")] {
      let sink = StillSink(path: path)
      var setup = SinkSetup.test(Self.format)
      let error = #expect(throws: RunError.self) { try sink.configure(&setup) }
      expectEqual(error?.code, .usage)
      expectEqual(error?.description.contains(says), true)
    }
  }

  @Test func aStillByItselfHasItsNameAtOnce() throws {
    let sink = try begun()
    for number: UInt64 in [0, 30, 60] {
      try Self.frame(number, Double(number) / 30).write(to: sink)
    }
    try expectEqual(names, ["still-00000000.jpg", "still-00000030.jpg", "still-00000060.jpg"])
    expectEqual(sink.durableCount, 3)
    try sink.finish()
  }

  @Test func stillsThatFollowCloselyAreNamedTogether() throws {
    let sink = try begun()
    for number: UInt64 in 0..<18 { try Self.frame(number, Double(number) / 60).write(to: sink) }
    // The first by itself, then sixteen, and one waits.
    expectEqual(sink.durableCount, 17)
    try expectTrue(names.last == "still-00000017.partial.jpg" && names.count == 18)
    try sink.finish()
    expectEqual(sink.durableCount, 18)
    try expectTrue(names.allSatisfy { !$0.contains("partial") } && names.count == 18)
  }

  @Test func longNumbersAreWhole() throws {
    let sink = try begun()
    try Self.frame(.max, 0).write(to: sink)
    try sink.finish()
    try expectEqual(names, ["still-18446744073709551615.jpg"])
  }

  @Test func aFolderThatIsInUseIsRefused() throws {
    let first = try begun()
    let error = #expect(throws: RunError.self) { try begun(overwrite: true) }
    expectEqual(error?.description.contains("another run is writing it"), true)
    try first.finish()
  }

  @Test func whatACrashLeftIsAnExistingStillToo() throws {
    let path = scratch.path("s")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let left = scratch.url.appendingPathComponent("s/still-00000007.partial.jpg")
    try Data("half".utf8).write(to: left)
    let error = #expect(throws: RunError.self) { try begun() }
    expectEqual(error?.code, .usage)
    let sink = try begun(overwrite: true)
    try Self.frame(7, 0, byte: 9).write(to: sink)
    try sink.finish()
    try expectEqual(names, ["still-00000007.jpg"])
    try expectEqual(scratch.bytes("s/still-00000007.jpg"), [UInt8](repeating: 9, count: 98))
  }

  @Test func aRemovedFolderKeepsNothing() throws {
    let sink = try begun()
    try Self.frame(0, 0).write(to: sink)
    expectEqual(sink.durableCount, 1)
    try FileManager.default.removeItem(atPath: scratch.path("s"))
    let error = #expect(throws: RunError.self) { try Self.frame(1, 1).write(to: sink) }
    expectEqual(error?.code, .failed)
    expectEqual(error?.description.contains("removed during the run"), true)
    expectEqual(sink.durableCount, 0)
    try sink.finish()
  }
}
