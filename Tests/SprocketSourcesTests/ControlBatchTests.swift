import Glibc
import SprocketCore
import SprocketTestMemory
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSources

/// A camera behind uvcvideo: it sends the controls of a call in the order of their numbers, and refuses
/// what an automatic decides over.
private struct UVCDriver: ControlDriver {
  var values: [UInt32: Int64] = [:]
  /// Controls whose hardware fails, and controls that are held.
  var failing: Set<UInt32> = []
  var grabbed: Set<UInt32> = []
  /// Names no control when it fails.
  var isVague = false
  var calls: [[UInt32]] = []

  private func isInactive(_ id: UInt32) -> Bool {
    ControlBatchTests.all.contains { master in
      master.subordinates.contains(id) && !master.leavesToUser(values[master.id] ?? 0)
    }
  }

  mutating func set(
    _ writes: inout [V4L2ControlWrite], _ range: Range<Int>
  ) throws(V4L2BatchError) {
    calls.append(writes[range].map(\.control.id))
    if writes[range].contains(where: { grabbed.contains($0.control.id) }) {
      throw V4L2BatchError(V4L2Error(.busy, operation: "set", errno: EBUSY, path: "/dev/null"))
    }
    // White balance's automatic has the greater number in the unit.
    for index in range.sorted(by: { Self.order(writes[$0]) < Self.order(writes[$1]) }) {
      let id = writes[index].control.id
      guard !isInactive(id), !failing.contains(id) else {
        throw V4L2BatchError(
          V4L2Error(.failed, operation: "set", errno: EIO, path: "/dev/null"),
          index: isVague ? nil : index)
      }
      writes[index].value = min(writes[index].value, writes[index].control.maximum)
      values[id] = writes[index].value
    }
  }

  private static func order(_ write: V4L2ControlWrite) -> UInt32 {
    write.control.id == ControlBatchTests.balance.id ? 0 : write.control.id
  }

  mutating func set(_ control: V4L2Control, to value: Int64) throws(V4L2Error) -> Int64 {
    guard !isInactive(control.id) else {
      throw V4L2Error(.notPermitted, operation: "set", errno: EACCES, path: "/dev/null")
    }
    values[control.id] = value
    return value
  }

  func refusal(
    of writes: [V4L2ControlWrite], _ range: Range<Int>
  ) -> (index: Int, error: V4L2Error)? { nil }

  func flags(of id: UInt32) -> UInt32? {
    (isInactive(id) ? 0x10 : 0) | (grabbed.contains(id) ? 0x2 : 0)
  }
}

@Suite struct ControlBatchTests {
  private static func control(_ id: UInt32, _ title: String, _ most: Int64) -> V4L2Control {
    V4L2Control(id: id, title: title, kind: .integer, minimum: 0, maximum: most)
  }
  // V4L2_CID_BRIGHTNESS, _AUTO_WHITE_BALANCE, _WHITE_BALANCE_TEMPERATURE, _EXPOSURE_AUTO, _EXPOSURE_ABSOLUTE.
  fileprivate static let brightness = control(0x0098_0900, "Brightness", 255)
  fileprivate static let autoBalance = control(0x0098_090C, "White Balance, Automatic", 1)
  fileprivate static let balance = control(0x0098_091A, "White Balance Temperature", 9000)
  fileprivate static let autoExposure = control(0x009A_0901, "Auto Exposure", 3)
  fileprivate static let exposure = control(0x009A_0902, "Exposure Time, Absolute", 5000)
  fileprivate static let all = [brightness, autoBalance, balance, autoExposure, exposure]

  private static let begin: [UInt32: Int64] = [
    brightness.id: 128, autoBalance.id: 1, balance.id: 4000, autoExposure.id: 3, exposure.id: 150,
  ]

  private func batch(
    _ wishes: [(V4L2Control, Int64)], before: [UInt32: Int64] = begin
  ) -> ControlBatch {
    var batch = ControlBatch()
    for (control, value) in wishes { batch.add(control, value, before: before[control.id]) }
    return batch
  }

  @Test func independentControlsAreOneCall() throws {
    var driver = UVCDriver(values: Self.begin)
    var batch = batch([(Self.brightness, 300), (Self.autoBalance, 0)])
    try batch.perform(on: &driver)
    expectEqual(driver.calls, [[Self.brightness.id, Self.autoBalance.id]])
    expectEqual(batch.result(at: 0), 255)
    expectEqual(batch.result(at: 1), 0)
  }

  /// In any order: automatics are switched off first, and on last.
  @Test func ordersOfDependentControlsDoNotMatter() throws {
    var random = TestRandom(seed: 7)
    var wishes: [(V4L2Control, Int64)] = [
      (Self.balance, 5000), (Self.autoBalance, 0), (Self.exposure, 20), (Self.autoExposure, 1),
      (Self.brightness, 9),
    ]
    for _ in 0..<50 {
      wishes.shuffle(using: &random)
      var driver = UVCDriver(values: Self.begin)
      var batch = batch(wishes)
      try batch.perform(on: &driver)
      expectEqual(driver.calls.count, 2)
      for (place, wish) in wishes.enumerated() {
        expectEqual(driver.values[wish.0.id], wish.1)
        expectEqual(batch.result(at: place), wish.1)
      }
    }
    var driver = UVCDriver(values: [Self.autoExposure.id: 1, Self.autoBalance.id: 1])
    var last = batch([(Self.autoExposure, 3), (Self.exposure, 77)])
    try last.perform(on: &driver)
    expectEqual(driver.calls, [[Self.exposure.id], [Self.autoExposure.id]])
    expectEqual(driver.values[Self.exposure.id], 77)
  }

  @Test(arguments: [false, true]) func aRefusedBatchIsUndone(isVague: Bool) throws {
    var driver = UVCDriver(values: Self.begin, failing: [Self.exposure.id], isVague: isVague)
    var batch = batch(
      [
        (Self.exposure, 20), (Self.brightness, 9), (Self.autoExposure, 1), (Self.balance, 5000),
        (Self.autoBalance, 0),
      ], before: Self.begin.filter { $0.key != Self.balance.id && $0.key != Self.exposure.id })
    let refusal = try #require(throws: ControlBatch.Refusal.self) { try batch.perform(on: &driver) }
    expectEqual(refusal.place, (isVague ? nil : 0))
    expectEqual(refusal.error.code, .failed)
    expectEmpty(refusal.left)
    for control in [Self.brightness, Self.autoBalance, Self.autoExposure, Self.exposure] {
      expectEqual(driver.values[control.id], Self.begin[control.id])
    }
  }

  /// An automatic that was switched on is switched off again before what it decides over is written back.
  @Test func whatIsUndoneIsUndoneFromTheEnd() throws {
    // V4L2_CID_FOCUS_AUTO and _FOCUS_ABSOLUTE.
    let autoFocus = Self.control(0x009A_090C, "Focus, Automatic Continuous", 1)
    let focus = Self.control(0x009A_090A, "Focus, Absolute", 250)
    let before: [UInt32: Int64] = [
      Self.autoExposure.id: 1, Self.exposure.id: 150, autoFocus.id: 0, focus.id: 30,
    ]
    var driver = UVCDriver(values: before, failing: [autoFocus.id])
    var batch = batch(
      [(autoFocus, 1), (Self.autoExposure, 3), (Self.exposure, 20), (focus, 40)], before: before)
    let refusal = try #require(throws: ControlBatch.Refusal.self) { try batch.perform(on: &driver) }
    expectEqual(refusal.place, 0)
    expectEmpty(refusal.left)
    expectEqual(driver.values, before)
  }

  @Test func whatIsHeldIsNamedAndNothingIsWritten() throws {
    var driver = UVCDriver(values: Self.begin, grabbed: [Self.brightness.id])
    var batch = batch([(Self.autoBalance, 0), (Self.brightness, 9)])
    let refusal = try #require(throws: ControlBatch.Refusal.self) { try batch.perform(on: &driver) }
    expectEqual(refusal.place, 1)
    expectEqual(refusal.flags, 0x2)
    expectEmpty(refusal.left)
    expectEqual(driver.values, Self.begin)
    expectEqual(driver.calls.count, 1)
  }

  @Test func whatACameraForgotIsWrittenAgainOneByOne() {
    var driver = UVCDriver(values: Self.begin)
    var batch = batch([(Self.exposure, 20), (Self.balance, 5000), (Self.autoExposure, 1)])
    batch.performEach(on: &driver)
    expectTrue(driver.values[Self.exposure.id] == 20 && driver.values[Self.balance.id] == 4000)
  }

  @Test func aProfileLeavesOutWhatAnAutomaticDecidesOver() throws {
    var driver = UVCDriver(values: Self.begin)
    var batch = batch([(Self.balance, 5000), (Self.autoExposure, 1), (Self.exposure, 20)])
    try batch.perform(on: &driver, leavingInactive: true)
    expectEqual(batch.inactive, [Self.balance])
    expectNil(batch.result(at: 0))
    expectTrue(driver.values[Self.exposure.id] == 20 && driver.values[Self.balance.id] == 4000)
  }
}
