import Glibc
import SprocketCore
import TestSupport

@testable import Bracket

/// A camera before a scene that stands still: controls with delays, a sensor with noise, and habits of
/// drivers that do not do as they say.
struct SimulatedCamera {
  enum Habit: CaseIterable {
    case obeys
    /// Answers as asked, and the sensor stays as it is.
    case ignores
    /// The driver refuses values above half of the range.
    case refuses
    /// Whole stops only, and the driver says which.
    case roundsAndSaysSo
    /// Whole stops only, and the driver says that it did as asked.
    case rounds
    /// Nothing above one stop more than at the start, and the driver says that it did as asked.
    case ends
    /// The sensor changes by 0.4 of the EV that are asked.
    case doesLess
  }

  static let names = ["exposure", "gain"]
  let port: ControlPort
  var sensor: SimulatedSensor
  var habit = Habit.obeys
  /// Frames from a write to its answer, and from there until the picture shows it, by control.
  var answerDelay: UInt64 = 1
  var lags: [UInt64]
  /// Most frames that are added to a control's lag, at random for each write.
  var jitter: UInt64 = 0
  /// Probability of a frame to be lost.
  var loss = 0.0
  var light = 0.0
  private var random: TestRandom
  /// The gain that the camera chooses while its automatic gain, the third control, is on; `nil` without one.
  private let automaticGain: Double?
  private(set) var number: UInt64 = 0
  private let first: [Double]
  /// What the source says is in force, and what is.
  private(set) var told: [Double]
  private(set) var shown: [Double]
  private var answers: [(frame: UInt64, write: ControlPort.Write, value: Double?)] = []
  private var changes: [(frame: UInt64, control: Int, value: Double)] = []
  private var events: [Event] = []

  init(
    _ sensor: SimulatedSensor, lags: [UInt64], isTold: Bool, start: [Double], seed: UInt64,
    automaticGain: Double? = nil
  ) {
    self.automaticGain = automaticGain
    self.sensor = sensor
    self.lags = lags + [1]
    random = TestRandom(seed: seed)
    first = start
    (told, shown) = (start, start)
    var controls = [
      ControlDescription(name: "exposure", unit: "us", minimum: 50, maximum: 33_000, step: 1),
      ControlDescription(name: "gain", unit: "", minimum: 1, maximum: 16, step: 0.01),
    ]
    if let automaticGain {
      controls.append(
        ControlDescription(
          name: "autogain", unit: "", minimum: 0, maximum: 1, kind: .boolean, step: 1))
      told.append(1)
      shown[1] = automaticGain
    }
    port = ControlPort(controls: controls, tellsWhatShows: isTold)
    for (index, value) in told.enumerated() { port.report(value, of: UInt16(index)) }
  }

  /// EV of the frame that was made last, from that at the start.
  var truth: Double { log2(shown[0] * shown[1] / (first[0] * first[1])) }

  private mutating func unit() -> Double { Double.random(in: 0..<1, using: &random) }

  /// What the driver answers, and what the sensor does; `nil` for a refusal.
  private func made(_ value: Double, _ control: Int) -> (answer: Double, real: Double)? {
    guard control < 2 else { return (value, value) }
    let ev = log2(value / first[control])
    switch habit {
    case .obeys: return (value, value)
    case .ignores: return (value, first[control])
    case .refuses: return control == 0 && ev > 1.5 ? nil : (value, value)
    case .roundsAndSaysSo:
      let rounded = first[control] * exp2(ev.rounded())
      return (rounded, rounded)
    case .rounds: return (value, first[control] * exp2(ev.rounded()))
    case .ends: return (value, min(value, first[control] * 2))
    case .doesLess: return (value, first[control] * exp2(0.4 * ev))
    }
  }

  /// Goes on by a frame; returns what arrives, or `nil` where it is lost.
  mutating func next() -> (look: BracketControl.Look, events: [Event])? {
    while let write = port.take() {
      let made = made(write.value, Int(write.control))
      answers.append((number + answerDelay - 1, write, made?.answer))
      if let real = made?.real {
        let lag = lags[Int(write.control)] + (jitter > 0 ? random.next() % (jitter + 1) : 0)
        changes.append((number + answerDelay - 1 + lag, Int(write.control), real))
      }
    }
    for answer in answers where answer.frame <= number {
      let (control, ticket) = (answer.write.control, answer.write.ticket)
      if let value = answer.value {
        told[Int(control)] = value
        port.report(value, of: control)
        events.append(
          Event(kind: .controlApplied, control: control, ticket: ticket, value: value))
      } else {
        events.append(Event(kind: .controlRefused, control: control, ticket: ticket))
      }
    }
    answers.removeAll { $0.frame <= number }
    for change in changes where change.frame <= number {
      if change.control == 2 {
        shown[1] = change.value == 0 ? told[1] : automaticGain ?? told[1]
      } else {
        shown[change.control] = change.value
      }
    }
    changes.removeAll { $0.frame <= number }
    defer { number += 1 }
    if unit() < loss { return nil }
    return (look(), takeEvents())
  }

  /// Loses frames, as a machine does that pauses. The driver gets pending writes after them.
  mutating func pause(for frames: UInt64) { number += frames }

  private mutating func takeEvents() -> [Event] {
    defer { events = [] }
    return events.map { event in
      var event = event
      event.number = number
      return event
    }
  }

  private mutating func look() -> BracketControl.Look {
    let seen = sensor.expose(light + truth)
    var (sum, count) = (0.0, 0.0)
    for level in 0..<256 {
      sum += Double(seen.histogram[level]) * Double(level)
      count += Double(seen.histogram[level])
    }
    var inForce = ControlState()
    inForce.exposureMicroseconds = Float(told[0])
    inForce.gain = told.count > 2 && told[2] == 1 ? .nan : Float(told[1])
    return BracketControl.Look(
      number: number, seconds: Double(number) / 30, inForce: inForce,
      levels: LevelShares(seen.histogram), mean: sum / count, clipped: seen.clipped)
  }
}

/// How a bracket on such a camera ends.
struct SimulatedBracket {
  /// The steps taken, and the EV that their frames truly had.
  var taken: [(chosen: BracketControl.Chosen, truth: Double, first: Bool)] = []
  var control: BracketControl
  var camera: SimulatedCamera
  /// Frames that are lost after a step was written.
  var pause: UInt64 = 0

  init(_ camera: SimulatedCamera, _ steps: BracketSteps, deadline: Double = 20) {
    var controls = [ControlUnit.Role.exposure, .gain].compactMap {
      SteeredControl($0, on: camera.port)
    }
    if case .control(let name) = steps.kind {
      controls = [SteeredControl(named: name, on: camera.port)].compactMap(\.self)
    }
    control = BracketControl(
      steps, controls, on: camera.port, transfer: camera.sensor.declared, tolerance: 0.2,
      deadline: deadline)
    self.camera = camera
  }

  /// Until the picture shows the last answers.
  mutating func goOn() {
    for _ in 0..<8 { _ = camera.next() }
  }

  /// Runs it to its end; false if it has none within twice its deadline.
  mutating func run() -> Bool {
    var before = Double.nan
    for _ in 0..<Int(control.deadline * 60) {
      guard let (look, events) = camera.next() else { continue }
      for event in events { control.take(event) }
      let chosen = control.next(look)
      if let chosen { taken.append((chosen, camera.truth, abs(before - camera.truth) > 0.01)) }
      before = camera.truth
      if control.phase == .over { return true }
      if control.phase == .stepping, control.writtenAt == look.number { camera.pause(for: pause) }
    }
    return false
  }
}
