import Glibc
import SprocketCore
import TestExpectations
import TestSupport
import Testing

@testable import Bracket

@Suite struct BracketControlTests {
  static let curves: [CameraCurve] = [
    .srgb, .bt709, .gamma(1.8), .gamma(2), .gamma(2.2), .gamma(2.4), .gamma(2.6),
  ]
  static let five = BracketSteps(.ev, [-2, -1, 0, 1, 2])
  static let halves = BracketSteps(.ev, [-1.5, -0.5, 0, 0.5, 1.5])
  /// EV by which a step may be off: the tolerance of 0.2, and 0.1 by which the picture tells less. A third of
  /// a stop is the smallest step of a camera's own brackets.
  static let right = 0.3

  /// A camera that a seed decides.
  private func camera(_ seed: UInt64, _ habit: SimulatedCamera.Habit) -> SimulatedCamera {
    var random = TestRandom(seed: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
    let curve = Self.curves.randomElement(using: &random) ?? .srgb
    let declared: Color.Transfer = Bool.random(using: &random) ? .srgb : .unspecified
    let sensor = SimulatedSensor(
      curve, declared, spread: Double.random(in: 0.4...1.2, using: &random), seed: seed)
    let isTold = Int.random(in: 0..<5, using: &random) == 0
    let lags = (0..<2).map { _ in isTold ? 0 : UInt64.random(in: 0...4, using: &random) }
    let start = [
      Double.random(in: 2000...14_000, using: &random).rounded(),
      Double.random(in: 1...3, using: &random),
    ].map { ($0 * 100).rounded() / 100 }
    var camera = SimulatedCamera(sensor, lags: lags, isTold: isTold, start: start, seed: seed)
    camera.habit = habit
    camera.answerDelay = UInt64.random(in: 1...3, using: &random)
    camera.loss = Bool.random(using: &random) ? 0 : Double.random(in: 0...0.1, using: &random)
    camera.light = Double.random(in: -1...0.5, using: &random)
    return camera
  }

  /// The claim of the issue: five steps are right on 1,000 of 1,000 seeded runs, or say that they are not.
  /// Three in four cameras obey; the others do it in all the ways that a driver can.
  @Test func fiveStepsAreRightOrSayThatTheyAreNot() {
    var came = 0
    for seed in 1...1000 as ClosedRange<UInt64> {
      let habits = SimulatedCamera.Habit.allCases
      let habit = seed % 4 == 0 ? habits[Int(seed / 4) % habits.count] : .obeys
      let rounds = habit == .rounds || habit == .roundsAndSaysSo
      var bracket = SimulatedBracket(camera(seed, habit), rounds ? Self.halves : Self.five)
      let hasEnded = bracket.run()
      let what = "seed \(seed), \(habit), \(bracket.camera.sensor.camera)"
      expectTrue(hasEnded, "\(what)")
      for (chosen, truth, _) in bracket.taken where chosen.proof == .picture {
        expectAtMost(abs(truth - chosen.asked), Self.right, "\(what): \(chosen) is \(truth) EV")
      }
      let isComplete = bracket.control.failure == nil
      expectTrue(!isComplete || bracket.taken.map(\.chosen.step) == [0, 1, 2, 3, 4], "\(what)")
      if habit == .obeys {
        expectTrue(isComplete, "\(what): \(bracket.control.failure ?? "")")
        came += isComplete ? 1 : 0
      }
      if habit == .ignores || habit == .doesLess {
        let failure = bracket.control.failure ?? ""
        expectTrue(
          failure.contains("did not obey") || failure.contains("cannot be compared"), "\(what)")
      }
      if rounds { expectFalse(isComplete, "\(what)") }
      if habit == .refuses, let failure = bracket.control.failure {
        expectTrue(failure.contains("refused exposure="), "\(what)")
      }
      bracket.goOn()
      expectEqual(bracket.camera.told, bracket.camera.port.valuesNow, "\(what)")
      expectLess(abs(bracket.camera.truth), 1e-6, "\(what): the controls are put back")
      expectEmpty(bracket.camera.port.takeWritesAtEnd(), "\(what)")
    }
    expectAtLeast(came, 780)
  }

  /// Where no frame is lost, a step's frame is the first that shows it.
  @Test(arguments: [0, 1, 2, 3, 4] as [UInt64], curves)
  func aStepsFrameIsTheFirstThatShowsIt(_ lag: UInt64, _ curve: CameraCurve) {
    for seed in 1...4 as ClosedRange<UInt64> {
      let sensor = SimulatedSensor(curve, .srgb, spread: 0.8, seed: seed)
      let camera = SimulatedCamera(
        sensor, lags: [lag, lag], isTold: false, start: [8000, 1], seed: seed)
      var bracket = SimulatedBracket(camera, Self.five)
      _ = bracket.run()
      expectEqual(bracket.control.phase, .over)
      expectNil(bracket.control.failure)
      let areFirst = bracket.taken.allSatisfy { $0.first }
      expectTrue(areFirst, "\(lag), \(curve)")
      expectEqual(camera.port.delay(of: 0), ControlDelayTime(frames: Int(lag), .measured))
    }
  }

  @Test func exposureComesBeforeGainAndGainHasADelayOfItsOwn() {
    let sensor = SimulatedSensor(.gamma(2.2), .srgb, spread: 0.8)
    var camera = SimulatedCamera(sensor, lags: [3, 1], isTold: false, start: [16_000, 1], seed: 3)
    camera.light = -1.5
    var bracket = SimulatedBracket(camera, BracketSteps(.ev, [-1, 0, 1, 2, 3]))
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectNil(bracket.control.failure)
    let areFirst = bracket.taken.allSatisfy { $0.first }
    expectEqual(bracket.taken.count, 5)
    expectTrue(areFirst)
    expectEqual(camera.port.delay(of: 0)?.frames, 3)
    expectEqual(camera.port.delay(of: 1)?.frames, 1)
    let plan = bracket.control.plan
    let times = plan?.steps.map { ($0.values[0] / 100).rounded() }
    expectEqual(times, [80, 160, 320, 330, 330])
    expectTrue(plan?.steps[1].values[1] == 1 && (plan?.steps[4].values[1] ?? 0) > 3.8)
  }

  @Test func valuesAreTakenAsTheyAre() {
    let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8)
    let camera = SimulatedCamera(sensor, lags: [2, 2], isTold: false, start: [8000, 1], seed: 5)
    var bracket = SimulatedBracket(camera, BracketSteps(.exposure, [4000, 16_000]))
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectNil(bracket.control.failure)
    expectEqual(bracket.taken.map { ($0.truth * 100).rounded() }, [-100, 100])
    bracket = SimulatedBracket(camera, BracketSteps(.gain, [2, 4]))
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectNil(bracket.control.failure)
    expectEqual(bracket.taken.map { ($0.truth * 100).rounded() }, [100, 200])
  }

  /// Automatic gain had changed the gain. Taken over, the camera falls back to the gain of before; the
  /// bracket's base is the picture that there was, and automatic gain is on again at the end.
  @Test(arguments: [0.25, 2, 5.0]) func automaticGainIsTakenOverAndGivenBack(_ gain: Double) {
    let sensor = SimulatedSensor(.gamma(2.2), .srgb, spread: 0.8)
    var camera = SimulatedCamera(
      sensor, lags: [2, 1], isTold: false, start: [4000, 2], seed: 13, automaticGain: 2 * gain)
    camera.light = -log2(gain)
    let before = camera.truth
    var bracket = SimulatedBracket(camera, BracketSteps(.ev, [-1, 0, 1]))
    _ = bracket.run()
    expectNil(bracket.control.failure)
    expectEqual(bracket.taken.count, 3)
    for (chosen, truth, _) in bracket.taken {
      expectAtMost(abs(truth - before - chosen.asked), Self.right, "\(chosen.asked): \(truth)")
    }
    bracket.goOn()
    expectEqual(bracket.camera.told, [4000, 2, 1])
    expectLess(abs(bracket.camera.truth - before), 1e-6)
  }

  @Test func whatTheSourceCannotHaveIsSaidAtOnce() {
    let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8)
    let camera = SimulatedCamera(sensor, lags: [0, 0], isTold: true, start: [8000, 1], seed: 7)
    var bracket = SimulatedBracket(camera, BracketSteps(.ev, [0, 9]))
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectEmpty(bracket.taken)
    expectEqual(bracket.control.failure?.contains("cannot expose by +9 EV"), true)
    bracket = SimulatedBracket(camera, BracketSteps(.gain, [2, 90]))
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectEqual(bracket.control.failure?.contains("it takes 1 to 16"), true)
  }

  /// A delay that an earlier run kept and that is no longer right is measured anew.
  @Test func aWrongDelayThatWasKeptIsReplacedAndAGivenOneIsNot() {
    for origin in [ControlDelayTime.Origin.kept, .given] {
      let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8)
      let camera = SimulatedCamera(sensor, lags: [3, 3], isTold: false, start: [8000, 1], seed: 9)
      camera.port.knows(ControlDelayTime(frames: 5, origin), of: 0)
      var bracket = SimulatedBracket(camera, Self.five)
      _ = bracket.run()
      expectEqual(bracket.control.phase, .over)
      expectNil(bracket.control.failure)
      let delay = camera.port.delay(of: 0)
      expectEqual(
        delay,
        ControlDelayTime(frames: origin == .kept ? 3 : 5, origin == .kept ? .measured : .given))
      let areFirst = bracket.taken.allSatisfy { $0.first }
      expectEqual(areFirst, (origin == .kept))
    }
  }

  /// The driver's delay is 0 or 1 frame, at random for each write. So the delay that was kept or measured is
  /// wrong for some steps. The chosen frames must show their steps all the same.
  @Test(arguments: [nil, 0, 1] as [Int?]) func aDelayThatVariesGivesNoWrongFrame(_ kept: Int?) {
    let gains = [4.0, 2, 1, 8, 8, 1.5]
    for seed in 1...100 as ClosedRange<UInt64> {
      let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8, seed: seed)
      var camera = SimulatedCamera(
        sensor, lags: [0, 0], isTold: false, start: [4000, 1], seed: seed)
      camera.jitter = 1
      if let kept { camera.port.knows(ControlDelayTime(frames: kept, .kept), of: 1) }
      var bracket = SimulatedBracket(camera, BracketSteps(.control("gain"), gains))
      _ = bracket.run()
      expectEqual(bracket.control.phase, .over, "seed \(seed)")
      expectNil(bracket.control.failure, "seed \(seed)")
      expectEqual(
        bracket.taken.map { (exp2($0.truth) * 100).rounded() / 100 }, gains, "seed \(seed)")
      // The range that was measured is within what the driver does.
      let delay = bracket.camera.port.delay(of: 1)
      expectTrue(delay.map { 0 <= $0.shortest && $0.frames <= 1 } ?? false, "seed \(seed)")
      expectTrue(bracket.control.areDelaysKnown)
    }
  }

  /// The machine pauses for a second after each step was written. The next frame comes before the answer.
  @Test func aPauseIsNoLostAnswer() {
    let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8)
    var camera = SimulatedCamera(sensor, lags: [1, 1], isTold: false, start: [8000, 1], seed: 15)
    camera.answerDelay = 2
    var bracket = SimulatedBracket(camera, Self.five)
    bracket.pause = 30
    _ = bracket.run()
    expectTrue(
      bracket.control.failure == nil && bracket.taken.map(\.chosen.step) == [0, 1, 2, 3, 4])
    for (chosen, truth, _) in bracket.taken { expectAtMost(abs(truth - chosen.asked), Self.right) }
  }

  /// The source came back without the controls' old values; the bracket says so, and puts them back.
  @Test func aSourceThatBeginsAnewEndsTheBracket() {
    let sensor = SimulatedSensor(.srgb, .srgb, spread: 0.8)
    let camera = SimulatedCamera(sensor, lags: [1, 1], isTold: false, start: [8000, 1], seed: 11)
    var bracket = SimulatedBracket(camera, Self.five)
    while bracket.control.phase != .stepping {
      guard let (look, events) = bracket.camera.next() else { continue }
      for event in events { bracket.control.take(event) }
      _ = bracket.control.next(look)
    }
    let hasBegun = bracket.control.begin(again: camera.port)
    expectTrue(hasBegun)
    _ = bracket.run()
    expectEqual(bracket.control.phase, .over)
    expectEqual(bracket.control.failure?.contains("began anew"), true)
    bracket.goOn()
    expectLess(abs(bracket.camera.truth), 1e-6)
  }
}

extension ControlPort {
  /// Of all controls.
  fileprivate var valuesNow: [Double] {
    controls.indices.map { value(of: UInt16($0)) ?? .nan }
  }
}
