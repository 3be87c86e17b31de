import SprocketCore
import TestExpectations
import TestSupport
import Testing

/// A class, because expectations may not change values.
private final class Steered {
  private var control: SteeredControl

  init(_ role: SteeredControl.Role, on port: ControlPort) throws {
    control = try #require(SteeredControl(role, on: port))
  }

  func write(_ value: Double, at number: UInt64) -> Bool { control.write(value, at: number) }
  func takeOver() -> [String] { control.takeOver(at: 0) }
  func answer(_ event: Event) -> SteeredControl.Answer? { control.answer(event) }
  var range: ClosedRange<Double> { control.range }
  var asked: Double? { control.asked }
  var applied: Double? { control.applied }
  var delay: Int? { control.delay }
  func nearest(to value: Double) -> Double { control.nearest(to: value) }
  func nearest(notAbove value: Double) -> Double { control.nearest(notAbove: value) }
}

@Suite struct SteeredControlTests {
  /// As a UVC camera has them.
  static let camera = [
    ControlDescription(
      name: "auto_exposure", unit: "", minimum: 0, maximum: 3,
      kind: .menu([
        ControlChoice(value: 1, name: "manual_mode"),
        ControlChoice(value: 3, name: "aperture_priority_mode"),
      ])),
    ControlDescription(
      name: "exposure_dynamic_framerate", unit: "", minimum: 0, maximum: 1, kind: .boolean),
    ControlDescription(
      name: "exposure_time_absolute", unit: "100 us", minimum: 3, maximum: 2047, step: 1,
      defaultValue: 250),
    ControlDescription(
      name: "gain", unit: "", minimum: 0, maximum: 255, step: 1, defaultValue: 64),
    ControlDescription(
      name: "focus_absolute", unit: "", minimum: 0, maximum: 250, step: 5, defaultValue: 0),
    ControlDescription(
      name: "focus_automatic_continuous", unit: "", minimum: 0, maximum: 1, kind: .boolean),
  ]

  @Test func exposureIsInMicroseconds() throws {
    let port = ControlPort(controls: Self.camera)
    let exposure = try Steered(.exposure, on: port)
    expectEqual(exposure.range, 300...204_700)
    expectEqual(exposure.nearest(to: 1_049), 1_000)
    expectEqual(exposure.nearest(to: 10), 300)
    expectEqual(exposure.nearest(notAbove: 1_099), 1_000)
    expectEqual(exposure.nearest(notAbove: 1_100), 1_100)
    expectTrue(exposure.write(1_060, at: 5))
    expectEqual(exposure.asked, 1_100)
    let write = try #require(port.take())
    expectEqual(write.control, 2)
    expectEqual(write.value, 11)
    var scene = ControlPort(controls: [
      ControlDescription(name: "exposure", unit: "us", minimum: 10, maximum: 1e6)
    ])
    expectEqual(SteeredControl(.exposure, on: scene)?.nearest(to: 10.25), 10.25)
    // Lines of an unknown length.
    scene = ControlPort(controls: [
      ControlDescription(name: "exposure", unit: "", minimum: 10, maximum: 1e6)
    ])
    expectNil(SteeredControl(.exposure, on: scene))
  }

  @Test func gainIsAFactorOfTheDefaultAndAboveZero() throws {
    func gain(_ minimum: Double, _ maximum: Double, _ base: Double?) throws -> SteeredControl {
      let control = ControlDescription(
        name: "gain", unit: "", minimum: minimum, maximum: maximum, step: 1, defaultValue: base)
      return try #require(SteeredControl(.gain, on: ControlPort(controls: [control])))
    }
    let usual = try gain(0, 255, 64)
    expectEqual(usual.range, 1.0 / 64...255.0 / 64)
    expectEqual(usual.nearest(to: 2.005), 2)
    try expectEqual(gain(1, 64, nil).range, 1...64)
    // Without a default that says something, 1 to 16.
    let unknown = try gain(0, 150, 0)
    expectEqual(unknown.range.lowerBound, 1)
    expectLess(abs(unknown.range.upperBound - 16), 1e-9)
    expectLess(abs(unknown.nearest(to: 8.53) - 8.5), 1e-9)
  }

  /// Value to number and back: the number has the supported value nearest to the requested one.
  @Test func valuesComeBackFromTheDeviceAsTheyWere() throws {
    var random = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 1 ... .max, using: &random)
    var numbers = TestRandom(seed: seed)
    for _ in 0..<2000 {
      let role: ControlUnit.Role =
        [.exposure, .gain, .lens].randomElement(using: &numbers) ?? .gain
      let minimum = Double(Int.random(in: -300...300, using: &numbers))
      let step = Double(Int.random(in: 0...7, using: &numbers))
      let control = ControlDescription(
        name: role == .lens
          ? ["lens", "focus_absolute"].randomElement(using: &numbers) ?? "" : "x",
        unit: role == .exposure ? ["us", "100 us"].randomElement(using: &numbers) ?? "" : "",
        minimum: minimum, maximum: minimum + Double(Int.random(in: 0...900, using: &numbers)),
        step: step,
        defaultValue: [nil, -2, 0, 1, 64].randomElement(using: &numbers) ?? nil)
      guard let unit = ControlUnit(role, of: control), let range = unit.range else { continue }
      let value = Double.random(in: range, using: &numbers)
      let number = unit.number(of: value)
      expectTrue((control.minimum...control.maximum).contains(number.rounded()), "\(seed)")
      let back = unit.value(of: number)
      let least = range.lowerBound - 1e-9 * abs(range.lowerBound)
      expectAtLeast(back, least, "\(seed): \(control)")
      expectAtMost(back, range.upperBound * (1 + 1e-9), "\(seed): \(control)")
      expectAtMost(abs(unit.number(of: back) - number), 1e-6 * max(abs(number), 1), "\(seed)")
      for other in [number - max(step, 1), number + max(step, 1)] {
        guard other >= control.minimum, other <= control.maximum else { continue }
        let distance = abs(unit.value(of: other) - value)
        expectAtMost(abs(back - value), distance * (1 + 1e-9), "\(seed): \(control)")
      }
    }
  }

  @Test(arguments: [(0.0, 10.0, 20.0, 5.0), (0, 255, 300, 100), (-10, 0, 1, 5)])
  func aControlWithNothingAboveZeroIsNone(least: Double, most: Double, step: Double, base: Double) {
    let control = ControlDescription(
      name: "gain", unit: "", minimum: least, maximum: most, step: step, defaultValue: base)
    expectNil(SteeredControl(.gain, on: ControlPort(controls: [control])))
  }

  @Test func theLensIsNearAtZero() throws {
    let port = ControlPort(controls: Self.camera)
    let lens = try Steered(.lens, on: port)
    expectEqual(lens.range, 0...1)
    expectTrue(lens.write(0, at: 0))
    expectEqual(port.take()?.value, 250)
    expectTrue(lens.write(1, at: 0))
    expectEqual(port.take()?.value, 0)
    expectTrue(lens.write(0.911, at: 0))
    expectEqual(port.take()?.value, 20)
    expectEqual(lens.asked, 0.92)
  }

  @Test func answersAreTakenByTicketAndTellTheDelay() throws {
    let port = ControlPort(controls: Self.camera)
    let gain = try Steered(.gain, on: port)
    expectTrue(gain.write(2, at: 10))
    expectTrue(gain.write(3, at: 11))
    let tickets = [port.take(), port.take()].compactMap { $0?.ticket }
    func event(_ kind: Event.Kind, _ ticket: UInt64, _ value: Double, at number: UInt64) -> Event {
      Event(kind: kind, control: 3, ticket: ticket, value: value, number: number)
    }
    expectNil(gain.answer(event(.controlApplied, 99, 0, at: 12)))
    expectNil(gain.answer(Event(kind: .stalled, number: 12)))
    // A ticket of the same number, from before the write: that was another port's.
    expectNil(gain.answer(event(.controlApplied, tickets[0], 120, at: 9)))
    let first = gain.answer(event(.controlApplied, tickets[0], 120, at: 13))
    expectEqual(first, .applied(value: 1.875, delay: 3))
    expectEqual(gain.applied, 1.875)
    expectEqual(gain.delay, 3)
    expectNil(gain.answer(event(.controlApplied, tickets[0], 120, at: 13)))
    let second = gain.answer(event(.controlRefused, tickets[1], 192, at: 14))
    expectEqual(second, .refused("gain=192"))
    expectEqual(gain.delay, 3)
  }

  @Test func aFullPortAsksForNothing() throws {
    let port = ControlPort(controls: Self.camera)
    let gain = try Steered(.gain, on: port)
    for _ in 0..<ControlPort.capacity { expectTrue(gain.write(1, at: 0)) }
    expectFalse(gain.write(2, at: 1))
    expectEqual(gain.asked, 1)
  }

  @Test func whatTheCameraDecidesItselfIsSwitchedOff() throws {
    let port = ControlPort(controls: Self.camera)
    let exposure = try Steered(.exposure, on: port)
    expectEqual(
      exposure.takeOver(), ["auto_exposure=manual_mode", "exposure_dynamic_framerate=false"])
    let writes = [port.take(), port.take()].compactMap(\.self)
    expectTrue(writes.map(\.control) == [0, 1] && writes.map(\.value) == [1, 0])
    // That it was done is no news of the exposure; that it was not, is.
    let done = Event(kind: .controlApplied, control: 0, ticket: writes[0].ticket, value: 1)
    expectNil(exposure.answer(done))
    expectNil(exposure.applied)
    let refused = Event(kind: .controlRefused, control: 1, ticket: writes[1].ticket, value: 0)
    expectEqual(exposure.answer(refused), .refused("exposure_dynamic_framerate=false"))
    let lens = try Steered(.lens, on: port)
    expectEqual(lens.takeOver(), ["focus_automatic_continuous=false"])
    let gain = try Steered(.gain, on: port)
    expectEmpty(gain.takeOver())
  }
}
