import Foundation
import SprocketCore
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSources

/// How a driver's numbers, times and buffers are read.
@Suite struct CameraRulesTests {
  @Test func sequencesGoOnBeyond32Bits() {
    var sequence = CameraSequence()
    let given: [UInt32] = [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1, 5]
    let base: UInt64 = 0xFFFF_FFFE
    expectEqual(given.map { sequence.extend($0) }, [base, base + 1, base + 2, base + 3, base + 7])
    expectEqual(sequence.repeated, 0)
  }

  @Test func aDriverThatAlwaysSaysZeroIsCounted() {
    var sequence = CameraSequence()
    expectEqual((0..<4).map { _ in sequence.extend(0) }, [0, 1, 2, 3])
    expectEqual(sequence.repeated, 3)
  }

  /// v4l2loopback: what waits for a reader has the number 0.
  @Test func aFirstNumberThatCannotBeIsTheOneBeforeTheSecond() {
    func numbers(_ given: [UInt32], every period: Int64, rate: Double) -> [UInt64] {
      var sequence = CameraSequence()
      return given.enumerated().map { index, number in
        sequence.extend(number, at: 5_000_000_000 + Int64(index) * period, rate: rate)
      }
    }
    expectEqual(numbers([0, 34, 35, 37], every: 100_000_000, rate: 30), [0, 1, 2, 4])
    expectEqual(numbers([0, 34, 35], every: 100_000_000, rate: 0), [0, 1, 2])
    // Frames that were lost while the driver counted.
    expectEqual(numbers([0, 4, 5], every: 100_000_000, rate: 30), [0, 4, 5])
    expectEqual(numbers([0, 34, 35], every: 1_000_000_000, rate: 30), [0, 34, 35])
    expectEqual(numbers([1, 34, 35], every: 100_000_000, rate: 30), [1, 34, 35])
    expectEqual(numbers([0, 1, 40], every: 100_000_000, rate: 30), [0, 1, 40])
  }

  @Test func aJumpBackStaysOne() {
    var sequence = CameraSequence()
    expectEqual([1000, 1001, 3].map { sequence.extend($0) }, [1000, 1001, 3])
    // A number before the first one does not exist: it counts as a jump far forward, which also
    // ends an epoch.
    var early = CameraSequence()
    expectEqual([2, 0xFFFF_FF00].map { early.extend($0) }, [2, 0xFFFF_FF00])
  }

  private func frame(_ nanoseconds: Int64, flags: UInt32) -> V4L2Frame {
    V4L2Frame(
      index: 0, sequence: 0, nanoseconds: nanoseconds, flags: flags, offset: 0, byteCount: 0)
  }

  private let now: Int64 = 500_000_000_000
  /// `V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC`, `_COPY` and `V4L2_BUF_FLAG_TSTAMP_SRC_SOE`.
  private let monotonic: UInt32 = 0x2000
  private let copy: UInt32 = 0x4000
  private let startOfExposure: UInt32 = 0x10000

  @Test func monotonicStampsAreTakenWithTheirPoint() {
    var clock = CameraClock()
    let end = clock.stamp(frame(now - 1000, flags: monotonic), sequence: 0, now: now)
    expectEqual(end.captured, Timestamp(nanoseconds: now - 1000, clock: .monotonic))
    expectEqual(end.point, .endOfFrame)
    let flags = monotonic | startOfExposure
    let start = clock.stamp(frame(now - 999, flags: flags), sequence: 1, now: now)
    expectEqual(start.point, .startOfExposure)
    expectEqual(clock.repaired, 0)
  }

  @Test(arguments: [Int64.min, Int64.max, 0])
  func stampsThatCannotBeAreReplaced(_ stamp: Int64) {
    var clock = CameraClock()
    let found = clock.stamp(frame(stamp, flags: monotonic), sequence: 0, now: now)
    expectEqual(found.captured.nanoseconds, now)
    expectEqual(found.point, .estimated)
    expectEqual(clock.repaired, 1)
  }

  @Test func timesGoOnWhereADriversClockWraps() {
    var clock = CameraClock()
    let frames: [(given: Int64, arrived: Int64)] = [
      (now - 10, now), (now + 4_294_967_280_000_000_000, now + 100),
      (now + 95, now + 200), (now + 290, now + 300),
    ]
    let found = frames.enumerated().map { number, stamp in
      clock.stamp(
        frame(stamp.given, flags: monotonic), sequence: UInt64(number), now: stamp.arrived
      )
      .captured.nanoseconds - now
    }
    expectEqual(found, [-10, 90, 95, 290])
    expectEqual(clock.repaired, 1)
    expectEqual(clock.note("x")?.hasPrefix("1 frame of x has"), true)
  }

  /// Automatic exposure halves the rate in dim light.
  @Test func aCameraThatIsSlowerThanPromisedIsTold() {
    var clock = CameraClock()
    func note(_ priority: String?, hasExposure: Bool = true) -> String? {
      clock.rateNote(
        "x", promised: FrameRate(frames: 30), priority: priority, hasExposure: hasExposure)
    }
    expectNil(note(nil))
    for number in 0..<300 as Range<Int64> {
      _ = clock.stamp(
        frame(now + number * 66_666_667, flags: monotonic), sequence: UInt64(number),
        now: now + number * 66_666_667 + 1000)
    }
    expectEqual(
      note("exposure_dynamic_framerate"),
      "x gives 15 frames/s of 30: in dim light it exposes for "
        + "longer; the control exposure_dynamic_framerate=0 keeps the rate")
    expectEqual(note(nil)?.hasSuffix("set a shorter exposure"), true)
    expectEqual(
      note(nil, hasExposure: false),
      "x gives 15 frames/s of 30: its driver promises more than it gives")
  }

  /// USB cameras stamp the start of the exposure, so a frame can arrive after the next one was
  /// captured. The correct stamps after an invalid one must still be used.
  @Test func framesThatArriveAfterTheNextWasTakenKeepTheirStamps() {
    var clock = CameraClock()
    let found = (0..<6).map { number in
      let stamp = number == 2 ? now - 1_000_000 : now + 33 * Int64(number)
      let found = clock.stamp(
        frame(stamp, flags: monotonic), sequence: UInt64(number), now: now + 33 * Int64(number) + 50
      )
      return found.captured.nanoseconds - now
    }
    expectEqual(found, [0, 33, 66, 99, 132, 165])
    expectEqual(clock.repaired, 1)
  }

  @Test func picturesWithoutASignalAreCondemned() {
    var signal = CameraSignal()
    expectTrue(signal.isDue(now))
    signal.found(true, at: now)
    expectFalse(signal.condemns())
    expectFalse(signal.isDue(now + 1))
    expectNil(signal.note("x"))
    // After the driver reports a change, it is asked at once.
    signal.changed()
    expectTrue(signal.isDue(now + 1))
    signal.found(false, at: now + 1)
    expectTrue(signal.condemns())
    expectTrue(signal.condemns())
    expectTrue(signal.isDue(now + 1 + CameraSignal.interval))
    // If the driver does not tell, a signal is assumed.
    signal.found(nil, at: now + 2)
    expectFalse(signal.condemns())
    expectEqual(signal.frames, 2)
    expectEqual(signal.note("x")?.hasPrefix("2 frames of x are corrupt"), true)
  }

  @Test(arguments: [UInt32(0), 0x4000])
  func clocksWithoutANameAreJudgedOnce(_ flags: UInt32) {
    // First stamp within a second of arrival: the clock counts as monotonic from then on.
    var near = CameraClock()
    expectEqual(
      near.stamp(frame(now - 900_000_000, flags: flags), sequence: 0, now: now).captured
        .nanoseconds, now - 900_000_000)
    expectEqual(
      near.stamp(frame(now - 20_000_000, flags: flags), sequence: 1, now: now).captured.nanoseconds,
      now - 20_000_000)
    expectEqual(near.stamp(frame(now, flags: flags), sequence: 2, now: now).point, .unknown)
    // First stamp far from arrival: another clock, even if a later stamp is near by chance.
    var far = CameraClock()
    _ = far.stamp(frame(now + 1_700_000_000_000, flags: flags), sequence: 0, now: now)
    let chance = far.stamp(frame(now - 7, flags: flags), sequence: 1, now: now)
    expectEqual(chance.captured.nanoseconds, now)
    expectEqual(far.repaired, 2)
  }

  @Test func threeBuffersStayWithTheDriver() {
    var loans = CameraLoans(count: 5, mayLend: true)
    for index in 0..<5 { loans.didQueue(index) }
    loans.didDequeue(0)
    expectTrue(loans.canLend)
    loans.didLend(0)
    loans.didDequeue(1)
    expectEqual(loans.queuedCount, 3)
    expectTrue(loans.canLend)
    loans.didLend(1)
    loans.didDequeue(2)
    expectEqual(loans.queuedCount, 2)
    expectFalse(loans.canLend)
    expectEqual(loans.idle, 0b00100)
    loans.didReturn(0)
    loans.didQueue(0)
    expectEqual(loans.queuedCount, 3)
    expectTrue(loans.canLend)
    expectTrue(loans.hasLent)
  }

  @Test func aDriverThatOverwritesIsNeverBorrowedFrom() {
    var loans = CameraLoans(count: 32, mayLend: false)
    for index in 0..<32 { loans.didQueue(index) }
    loans.didDequeue(31)
    expectFalse(loans.canLend)
    expectEqual(loans.idle, 1 << 31)
    loans.didStop()
    expectEqual(loans.idle, 0xFFFF_FFFF)
  }

  private func node(_ number: Int, _ card: String, problem: V4L2Error? = nil, isIdle: Bool = false)
    -> CameraNode
  {
    CameraNode(path: "/dev/video\(number)", card: card, problem: problem, isIdle: isIdle)
  }

  @Test func camerasAreFoundByName() throws {
    let nodes = [node(0, "HD Webcam"), node(2, "HD Webcam C270"), node(4, "Capture Stick")]
    func path(_ name: String) throws -> String { try CameraNode.find(name, among: nodes).path }
    try expectEqual(path("HD Webcam"), "/dev/video0")
    try expectEqual(path("stick"), "/dev/video4")
    try expectEqual(path(""), "/dev/video0")
    let several = #expect(throws: RunError.self) { try path("webcam") }
    expectEqual(several?.description.contains("HD Webcam C270 (/dev/video2)"), true)
    let none = #expect(throws: RunError.self) { try path("nikon") }
    expectEqual(none?.description.contains("Capture Stick (/dev/video4)"), true)
    expectEqual(none?.device, .notFound)
  }

  @Test func camerasAreFoundByIdentity() throws {
    var nodes = [node(0, "C270"), node(2, "C270"), node(4, "C270")]
    func identity(_ name: String, _ place: String) -> DeviceIdentity {
      DeviceIdentity(name: name, place: place, unit: nil, position: nil)
    }
    nodes[0].identity = identity("usb:1:2@a-1#0", "usb:1:2@a-1#0")
    nodes[1].identity = identity("usb:1:2:S#0", "usb:1:2@a-2#0")
    nodes[2].identity = identity("usb:1:2:S#2", "usb:1:2@a-2#2")
    func path(_ name: String) throws -> String { try CameraNode.find(name, among: nodes).path }
    try expectEqual(path("usb:1:2@a-1"), "/dev/video0")
    try expectEqual(path("usb:1:2:S#2"), "/dev/video4")
    try expectEqual(path("usb:1:2@a-2#0"), "/dev/video2")
    let both = #expect(throws: RunError.self) { try path("usb:1:2:S") }
    expectEqual(both?.description.contains("/dev/video2"), true)
    #expect(throws: RunError.self) { try path("usb:1:2") }
  }

  @Test func aWishCompletesWhatIsAsked() throws {
    try expectNil(CameraWish("size=640x480"))
    let wish = try #require(try CameraWish("?size=640x480,rate=15,format=MJPG,position=back"))
    let all = wish.completing(FormatRequest())
    expectEqual(all.size?.width, 640)
    expectEqual(all.size?.height, 480)
    expectEqual(all.format, .mjpeg)
    expectEqual(all.rate?.framesPerSecond, 15)
    expectEqual(wish.position, .back)
    expectEqual(wish.completing(FormatRequest(size: FrameSize(320, 240))).size?.width, 320)
    let missing = #expect(throws: RunError.self) { try wish.find(among: [node(0, "a")]) }
    expectEqual(missing?.description.hasPrefix("no camera fits `?size=640x480"), true)
    expectEqual(missing?.description.contains("/dev/video0"), true)
    let twice = #expect(throws: RunError.self) { try CameraWish("?rate=5,size=640x480,rate=15") }
    expectEqual(twice?.description.contains("rate is given twice"), true)
  }

  @Test(arguments: [
    "?", "?size=640", "?size=0x4", "?rate=x", "?position=left", "?format=none", "?a=b", "?size",
  ])
  func wishesThatSayNothingAreRefused(_ text: String) {
    let error = #expect(throws: RunError.self) { try CameraWish(text) }
    expectEqual(error?.code, .usage)
    expectEqual(error?.description.contains("?size=1920x1080"), true)
  }

  /// A link is followed: if its target is no camera, the error names the target.
  @Test func pathsAreFollowed() throws {
    let link = NSTemporaryDirectory() + "sprocket-camera-\(UUID().uuidString)"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/null")
    defer { try? FileManager.default.removeItem(atPath: link) }
    for (name, node) in [(link, "/dev/null"), ("/dev/../dev/null", "/dev/null"), ("/tmp", "/tmp")] {
      let error = #expect(throws: RunError.self) { _ = try CameraSource(name: name).open() }
      expectEqual(error?.code, .usage)
      expectEqual(error?.description.hasPrefix("\(node) captures no video"), true)
    }
  }

  /// A device that a container lists in /sys but not in /dev is no camera. A device that the user
  /// may not open can be one.
  @Test func whatCannotBeOpenedIsACameraOnlyWhereRightsBarIt() {
    func barred(_ code: V4L2Error.Code) -> CameraNode {
      node(0, "a", problem: V4L2Error(code, operation: "open", path: "/dev/video0"))
    }
    let none: [V4L2Error.Code] = [.notFound, .notACamera, .needsPipeline]
    expectTrue(none.allSatisfy { !barred($0).mayBeCamera })
    expectTrue(barred(.notPermitted).mayBeCamera)
    expectTrue(barred(.gone).mayBeCamera)
  }

  @Test func theFirstCameraIsOneThatGivesSomething() throws {
    let barred = V4L2Error(.notPermitted, operation: "open", path: "/dev/video0")
    let nodes = [node(0, "a", problem: barred), node(1, "b", isIdle: true), node(2, "c")]
    try expectEqual(CameraNode.find("", among: nodes).path, "/dev/video2")
    try expectEqual(CameraNode.find("", among: Array(nodes.prefix(2))).path, "/dev/video0")
    #expect(throws: RunError.self) { try CameraNode.find("", among: []) }
  }
}
