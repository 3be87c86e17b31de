import Glibc
import SprocketCore
import SprocketV4L2
import TestExpectations
import Testing

@testable import SprocketSources

@Suite struct CameraControlsTests {
  private static let exposure = V4L2Control(
    id: V4L2Control.exposureAbsolute, title: "Exposure Time, Absolute", kind: .integer, minimum: 3,
    maximum: 2047, defaultValue: 250)
  private static let gain = V4L2Control(
    id: V4L2Control.gain, title: "Gain", kind: .integer, minimum: 0, maximum: 255, defaultValue: 64)
  private static let focus = V4L2Control(
    id: V4L2Control.focusAbsolute, title: "Focus, Absolute", kind: .integer, minimum: 0,
    maximum: 250, step: 5)
  /// `V4L2_CTRL_FLAG_INACTIVE`, `_VOLATILE` and `_READ_ONLY`.
  private static let inactive: UInt32 = 0x10
  private static let volatile: UInt32 = 0x80
  private static let readOnly: UInt32 = 0x04

  private func controls() -> CameraControls {
    var controls = CameraControls([Self.exposure, Self.gain, Self.focus])
    controls.begin(Self.exposure, value: 250, flags: 0)
    controls.begin(Self.gain, value: 64, flags: 0)
    controls.begin(Self.focus, value: 0, flags: 0)
    return controls
  }

  @Test func unitsAreMicrosecondsAFactorAndAFraction() {
    let state = controls().inForce
    expectEqual(state.exposureMicroseconds, 25_000)
    expectEqual(state.gain, 1)
    // Positive values are closer, so the smallest is the furthest.
    expectEqual(state.lensPosition, 1)
    var changed = controls()
    changed.begin(Self.focus, value: 250, flags: 0)
    changed.begin(Self.gain, value: 96, flags: 0)
    expectEqual(changed.inForce.lensPosition, 0)
    expectEqual(changed.inForce.gain, 1.5)
  }

  /// In the order of the last writes; what the camera has no more is left out, what was refused too.
  @Test func whatWasWrittenIsWrittenAgain() throws {
    var before = controls()
    func write(_ name: String, _ value: Int64, isRefused: Bool = false) throws {
      let index = try #require(before.port.controls.firstIndex { $0.name == name })
      _ = before.port.write(UInt16(index), Double(value))
      before.wrote(
        try #require(before.port.take()), result: isRefused ? nil : value, flags: 0, at: 0)
    }
    try write("gain", 10)
    try write("focus_absolute", 5)
    try write("exposure_time_absolute", 100)
    try write("gain", 30)
    try write("focus_absolute", 250, isRefused: true)
    // Asked for while the camera is away.
    let index = try #require(before.port.controls.firstIndex { $0.name == "focus_absolute" })
    _ = before.port.write(UInt16(index), 20)
    var (again, writes, late) = before.again([Self.focus, Self.exposure, Self.gain])
    expectEqual(writes.map(\.1), [100, 30, 20])
    expectEqual(again.refusedWrites, 1)
    expectEqual(writes.map(\.0), [Self.exposure, Self.gain, Self.focus])
    expectEqual(again.ready.events.count, 5)
    expectEqual(late.map(\.name), ["focus_absolute"])
    (again, writes, late) = again.again([Self.gain])
    expectEqual(writes.map(\.1), [30])
    expectEqual(again.written.count, 3)
    expectEmpty(late)
  }

  /// Each has its event on the first frame, whether the camera took it, refused it, or has it no more.
  @Test func whatWasAskedForMeanwhileIsAnswered() throws {
    var before = controls()
    let wishes = ["focus_absolute": 20.0, "gain": 30, "exposure_time_absolute": 40]
    var tickets: [String: UInt64] = [:]
    for (name, value) in wishes {
      tickets[name] = before.port.write(try #require(before.port.control(name)), value)
    }
    let found = before.again([Self.exposure, Self.gain])
    var again = found.controls
    again.answer(found.late, by: "cam") { $0 == Self.gain ? 31 : nil }
    for event in again.ready.events { again.port.note(event) }
    func outcome(_ name: String) -> ControlPort.Outcome {
      again.port.outcome(of: tickets[name]!)
    }
    expectEqual(outcome("gain"), .applied)
    expectEqual(outcome("focus_absolute"), .refused("cam has come back without focus_absolute"))
    guard case .refused(let reason?) = outcome("exposure_time_absolute") else {
      Issue.record("not refused")
      return
    }
    expectTrue(reason.contains("write it again"))
    expectEqual(again.refusedWrites, 2)
    let gain = try #require(again.port.control("gain"))
    expectTrue(
      again.ready.events.contains(
        Event(kind: .controlApplied, control: gain, ticket: tickets["gain"]!, value: 31)))
  }

  /// A frame's record has the value that a control loop requested, also if a gain has no usable default.
  @Test(arguments: [64, 0, -3] as [Int64]) func framesHaveTheUnitThatLoopsWriteIn(
    base: Int64
  ) throws {
    var gain = Self.gain
    (gain.minimum, gain.defaultValue) = (min(base, 0), base)
    var controls = CameraControls([gain])
    var steered = try #require(SteeredControl(.gain, on: controls.port))
    let isOnItsWay = steered.write(2.5, at: 0)
    expectTrue(isOnItsWay)
    let write = try #require(controls.port.take())
    controls.wrote(write, result: Int64(write.value), flags: 0, at: 1)
    controls.advance(to: 2)
    expectEqual(controls.inForce.gain, steered.asked.map { Float($0) })
    expectLess(abs(controls.inForce.gain - 2.5), 0.04)
  }

  @Test func aWriteHoldsForFramesAfterIt() throws {
    var controls = controls()
    let index = try #require(controls.port.control("exposure_time_absolute"))
    let ticket = try #require(controls.port.write(index, 100))
    let write = try #require(controls.port.take())
    controls.wrote(write, result: 104, flags: 0, at: 5000)
    controls.advance(to: 5000)
    expectEqual(controls.inForce.exposureMicroseconds, 25_000)
    expectEmpty(told(&controls))
    controls.advance(to: 5001)
    expectEqual(controls.inForce.exposureMicroseconds, 10_400)
    expectEqual(
      told(&controls),
      [
        Event(kind: .controlApplied, control: index, ticket: ticket, value: 104)
      ])
    expectEmpty(told(&controls))
  }

  @Test func aRefusalChangesNothingAndIsTold() throws {
    var controls = controls()
    let index = try #require(controls.port.control("gain"))
    let ticket = try #require(controls.port.write(index, 9))
    controls.wrote(try #require(controls.port.take()), result: nil, flags: nil, at: 1)
    controls.advance(to: 2)
    expectEqual(controls.inForce.gain, 1)
    expectEqual(controls.refusedWrites, 1)
    expectEqual(
      told(&controls),
      [
        Event(kind: .controlRefused, control: index, ticket: ticket, value: 9)
      ])
  }

  @Test func whatADriverMakesOfAFirstWriteIsNoted() {
    let gain = ControlDescription(Self.gain)
    expectNil(gain.note(asked: 9, made: 9, flags: 0, by: "cam"))
    expectEqual(gain.note(asked: 9, made: 8, flags: 0, by: "cam"), "cam made gain=8 of 9")
    let inactive = gain.note(asked: 9, made: 9, flags: Self.inactive, by: "cam")
    expectEqual(inactive?.contains("another control decides"), true)
    let button = ControlDescription(
      V4L2Control(id: 1, title: "Reset", kind: .button, minimum: 0, maximum: 0))
    expectNil(button.note(asked: 0, made: 1, flags: Self.inactive, by: "cam"))
  }

  /// UVC cameras answer EACCES while automatic exposure is on.
  @Test func aFirstWriteThatIsRefusedIsASentenceWithItsReason() {
    func refusal(
      _ code: V4L2Error.Code, _ errno: Int32, flags: UInt32 = 0, count: Int = 1, place: Int? = 0,
      left: [Int] = [], isPriority: Bool = false
    ) -> RunError {
      let error = V4L2Error(
        code, operation: "VIDIOC_S_EXT_CTRLS", errno: errno, path: "/dev/video0")
      let wishes = [(Self.exposure, 100.0), (Self.gain, 7.0)].prefix(count).map {
        (control: ControlDescription($0.0), value: $0.1)
      }
      return RunError(
        ControlBatch.Refusal(place: place, error: error, flags: flags, left: left), of: wishes,
        name: "cam", node: "/dev/video0", isPriority: isPriority)
    }
    let taken =
      "another control, such as an automatic one, decides over it; set that before it, or together with it"
    let start = "cam refuses exposure_time_absolute=100"
    let denied = refusal(.notPermitted, EACCES)
    expectEqual(denied.description, "\(start) (Permission denied): \(taken)")
    expectEqual(denied.code, .failed)
    expectTrue(refusal(.failed, EIO, flags: Self.inactive).description.hasSuffix(taken))
    expectEqual(
      refusal(.failed, EIO).description,
      "\(start) (Input/output error): `devices` lists what it takes")
    expectTrue(refusal(.gone, ENODEV).description.contains("unplugged"))
    let none = "; none of the 2 controls was changed"
    expectTrue(
      refusal(.refused, EINVAL, count: 2, place: 1).description.hasPrefix("cam refuses gain=7 ("))
    expectTrue(refusal(.refused, EINVAL, count: 2).description.hasSuffix(none))
    expectTrue(
      refusal(.refused, EINVAL, count: 2, place: nil).description
        .hasPrefix("cam refuses exposure_time_absolute=100, gain=7 ("))
    expectTrue(
      refusal(.failed, EIO, count: 2, left: [1]).description
        .hasSuffix("; may have changed all the same: gain=7"))
    expectTrue(refusal(.busy, EBUSY).description.contains("cannot be changed while frames come"))
    expectTrue(
      refusal(.busy, EBUSY, isPriority: true).description.contains("has a higher priority"))
  }

  @Test func whatTheHardwareDecidesIsNotKnown() {
    var controls = controls()
    controls.changed(
      V4L2ControlChange(id: Self.exposure.id, value: 250, flags: Self.inactive, nanoseconds: 10))
    controls.changed(
      V4L2ControlChange(id: Self.gain.id, value: 70, flags: Self.volatile, nanoseconds: 10))
    controls.changed(V4L2ControlChange(id: Self.focus.id, value: 125, flags: 0, nanoseconds: 20))
    controls.advance(to: 15)
    expectTrue(controls.inForce.exposureMicroseconds.isNaN)
    expectTrue(controls.inForce.gain.isNaN)
    expectEqual(controls.inForce.lensPosition, 1)
    controls.advance(to: 25)
    expectEqual(controls.inForce.lensPosition, 0.5)
    controls.changed(V4L2ControlChange(id: Self.exposure.id, value: 40, flags: 0, nanoseconds: 30))
    controls.advance(to: 31)
    expectEqual(controls.inForce.exposureMicroseconds, 4000)
  }

  /// A value that another program has written is told of with the first frame after it, and is known.
  @Test func aChangeByAnotherProgramIsTold() {
    var controls = controls()
    func change(_ value: Int64, _ time: Int64, isValue: Bool = true, flags: UInt32 = 0) {
      controls.changed(
        V4L2ControlChange(
          id: Self.gain.id, value: value, flags: flags, isValue: isValue, nanoseconds: time))
    }
    change(70, 10)
    controls.advance(to: 10)
    expectEmpty(told(&controls))
    controls.advance(to: 11)
    expectEqual(told(&controls), [Event(kind: .controlChanged, control: 1, value: 70)])
    expectEqual(controls.port.value(of: 1), 70)
    expectEqual(controls.known(1), 70)
    // The same value, and a change of flags alone, are no news; what is inactive is not known.
    change(70, 20)
    change(70, 21, isValue: false, flags: Self.inactive)
    controls.advance(to: 30)
    expectEmpty(told(&controls))
    expectNil(controls.port.value(of: 1))
    expectNil(controls.known(1))
  }

  /// Automatic gain was switched off, then gain was written; the driver tells of the first later.
  @Test func aChangeThatIsToldOfLateDoesNotUndoAWrite() throws {
    var controls = controls()
    let index = try #require(controls.port.control("gain"))
    _ = controls.port.write(index, 128)
    controls.wrote(try #require(controls.port.take()), result: 128, flags: 0, at: 20)
    controls.changed(V4L2ControlChange(id: Self.gain.id, value: 16, flags: 0, nanoseconds: 10))
    controls.advance(to: 15)
    expectEqual(controls.inForce.gain, 0.25)
    controls.advance(to: 25)
    expectEqual(controls.inForce.gain, 2)
    expectEqual(controls.known(Int(index)), 128)
  }

  @Test func moreChangesThanThereIsRoomForAreAppliedEarly() {
    var controls = controls()
    for value in 1...Int64(CameraControls.capacity + 1) {
      controls.changed(
        V4L2ControlChange(id: Self.exposure.id, value: value, flags: 0, nanoseconds: 1000 + value))
    }
    expectEqual(controls.inForce.exposureMicroseconds, 100)
  }

  @Test func eventsBeyondTheRoomAreCounted() {
    var controls = controls()
    for _ in 0..<EventQueue.capacity + 3 { controls.ready.add(Event(kind: .stalled)) }
    var events = EventQueue()
    events.take(from: &controls.ready)
    expectEqual(events.events.count, EventQueue.capacity)
    expectEqual(events.refused, 3)
  }

  @Test func readOnlyControlsAreNotOffered() {
    var fixed = Self.gain
    fixed.flags = Self.readOnly
    let controls = CameraControls([fixed, Self.focus])
    expectEqual(controls.port.controls.map(\.name), ["focus_absolute"])
    expectEqual(controls.watched, [fixed, Self.focus])
  }

  @Test func menusAndBooleansAreDescribed() {
    let menu = ControlDescription(
      V4L2Control(
        id: 1, title: "Auto Exposure",
        kind: .menu([
          V4L2MenuItem(index: 1, text: "Manual Mode"),
          V4L2MenuItem(index: 3, text: "Aperture Priority Mode"),
        ]), minimum: 0, maximum: 3, defaultValue: 3))
    expectEqual(menu.value("manual_mode"), 1)
    expectEqual(menu.value("3"), 3)
    expectNil(menu.value("2"))
    expectEqual(menu.allowed, "manual_mode (1), aperture_priority_mode (3)")
    let focus = ControlDescription(Self.focus)
    expectEqual(focus.value("15"), 15)
    expectNil(focus.value("12"))
    expectNil(focus.value("255"))
  }

  @Test func numbersBeyond64BitsSaturate() {
    expectEqual(Int64(nearest: Double(Int64.max)), .max)
    expectEqual(Int64(nearest: -1e300), .min)
    expectEqual(Int64(nearest: 2.6), 3)
  }
}

/// What belongs to the next frame.
private func told(_ controls: inout CameraControls) -> [Event] {
  var events = EventQueue()
  events.take(from: &controls.ready)
  return events.events
}
