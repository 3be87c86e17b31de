public import SprocketCore

/// Takes one frame for each of several exposures, gains, lens positions or values of another control.
///
/// What it decides, and when, is `BracketControl`'s; this reads the reports, hands on the answers, and says
/// in its report which frame is which step's. A bracket that does not come out is an error of the run.
public struct Bracket: Stage {
  public static let plugin = Plugin(
    "bracket", "takes a frame for each of several exposures, gains or lens positions", Bracket.self)

  public typealias Report = BracketReport

  public static var order: Order { .sequence }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var steps = BracketSteps(.ev, [-2, 0, 2])
    /// EV by which a step's picture may differ from what was asked, 0.05 to 1. The picture tells the exposure
    /// to 0.1 EV or so: with 0.2 a step is right to a third of a stop, the smallest step of cameras' own
    /// brackets. Smaller where steps are closer to each other.
    public var tolerance = 0.2
    /// Speed of the lens, in ways from end to end per second, 0 to 1000; 0: it is there at once.
    public var speed = 0.0
    /// From the first frame, 100 ms to an hour. 30 s: five steps at 5 frames/s take some 15 s.
    public var deadline = Duration.seconds(30)

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("steps", \.steps, "EV from the exposure that there is, or values of a control"),
        Setting(
          "tolerance", \.tolerance, range: 0.05...1, unit: "EV",
          "by which a step's picture may differ from what was asked"),
        Setting(
          "speed", \.speed, range: 0...1000, unit: "1/s",
          "of the lens, in ways from end to end; 0: it is there at once"),
        Setting(
          "deadline", \.deadline, range: .milliseconds(100)...Duration.seconds(3600),
          "from the first frame; a bracket that has not come out by then has failed"),
      ]
    }
  }

  public var settings = Settings()

  private var writer: ReportWriter<Report>?
  private var meter: ReportReader<ExposureReport>?
  private var focus: ReportReader<FocusReport>?
  private var autoExposure: ReportReader<AutoExposureReport>?
  private var control: BracketControl?
  private var report = Report()

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let port = try setup.steers()
    writer = setup.report(Report.self)
    // What is not needed is read where it is there.
    meter =
      settings.steps.kind == .lens
      ? try? setup.reader(ExposureReport.self, from: "meter")
      : try setup.reader(ExposureReport.self, from: "meter")
    focus =
      settings.steps.kind == .lens
      ? try setup.reader(FocusReport.self, from: "focus")
      : try? setup.reader(FocusReport.self, from: "focus")
    autoExposure = try? setup.reader(AutoExposureReport.self, from: "autoexposure")
    report.steps = UInt32(settings.steps.values.count)
    if control?.begin(again: port) == true { return setup.format }
    let rate = setup.format.rate.framesPerSecond
    control = BracketControl(
      settings.steps, try controls(on: port), on: port, transfer: setup.format.color.transfer,
      longest: rate > 0 ? 1e6 / rate : .infinity, tolerance: settings.tolerance,
      deadline: Double(settings.deadline.nanosecondCount) / 1e9)
    control?.speed = settings.speed
    return setup.format
  }

  /// The controls that the steps need, or may need.
  private func controls(on port: ControlPort) throws(StageError) -> [SteeredControl] {
    let light = [
      SteeredControl(.exposure, on: port), SteeredControl(.gain, on: port),
    ].compactMap(\.self)
    let wanted: SteeredControl?
    let name: String
    switch settings.steps.kind {
    case .ev: (wanted, name) = (light.first, "exposure or gain")
    case .exposure: (wanted, name) = (light.first { $0.role == .exposure }, "exposure")
    case .gain: (wanted, name) = (light.first { $0.role == .gain }, "gain")
    case .lens: (wanted, name) = (SteeredControl(.lens, on: port), "lens")
    case .control(let control):
      (wanted, name) = (SteeredControl(named: control, on: port), control)
    }
    guard let wanted else {
      let known = port.controls.map(\.name).joined(separator: ", ")
      throw StageError(
        "steps \(name), and the source has no such control that can be changed and has a known unit; it has "
          + known)
    }
    return settings.steps.isOfLight ? light : [wanted]
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    for index in 0..<frame.eventCount { control?.take(frame.event(index)) }
    let look = look(at: frame)
    let chosen = control?.next(look)
    tell(&frame, chosen)
    return .keep
  }

  private func look(at frame: borrowing FrameView) -> BracketControl.Look {
    let record = frame.record
    let metered = meter.flatMap { frame.read($0) }
    let isSharp = focus.flatMap { frame.read($0) }
    let exposure = autoExposure.flatMap { frame.read($0) }?.state
    return BracketControl.Look(
      number: record.number, seconds: Double(record.captured.nanoseconds) / 1e9,
      inForce: record.inForce, levels: metered.map { LevelShares($0.histogram) },
      mean: metered?.mean, clipped: metered?.clipped ?? 0, score: isSharp?.score,
      exposure: exposure.map { state in
        switch state {
        case .converged, .limited: .follows
        case .waiting, .adjusting: .underway
        case .locked, .custom, .unanswered, .refused, .lost: .ended
        }
      })
  }

  private mutating func tell(_ frame: inout FrameView, _ chosen: BracketControl.Chosen?) {
    guard let writer, let control else { return }
    report.state = control.state
    report.isOver = control.phase == .over
    report.step = chosen.map { UInt32($0.step + 1) } ?? 0
    report.asked = chosen?.asked ?? .nan
    report.measured = chosen?.measured ?? .nan
    report.value = chosen?.value ?? .nan
    report.verified = chosen?.proof ?? .none
    report.isCertain = chosen.map { $0.proof == .picture || control.areDelaysKnown } ?? false
    frame.write(report, writer)
  }

  public var notes: [String] { control?.notes ?? [] }

  public var failures: [String] { control?.failureAtEnd.map { ["bracket: \($0)"] } ?? [] }
}

extension BracketControl {
  var state: BracketReport.State {
    switch phase {
    case .waiting: .waiting
    case .looking, .settling: .settling
    case .probing: .probing
    case .stepping: .stepping
    case .restoring: .restoring
    case .over: failure == nil ? .complete : .failed
    }
  }

  /// Whether it is known which frames show the values of a step, without a look at them.
  var areDelaysKnown: Bool {
    plan?.moved.allSatisfy { controls[$0].pictureDelay != nil } ?? false
  }

  /// Why not every step was taken, also if the run ended before that; `nil` if all were.
  var failureAtEnd: String? {
    let count = steps.values.count
    guard failure == nil else { return failure }
    guard taken < count else { return nil }
    let why = reason.map { ": \($0)" } ?? ""
    return "the run ended with \(taken) of \(count) steps taken\(why)"
  }

  /// The source came back, or its format changed. A bracket under way has failed; its controls are put back.
  /// Returns false if nothing was done so far.
  mutating func begin(again port: ControlPort) -> Bool {
    guard phase != .waiting, phase != .looking else { return false }
    guard phase != .over else { return true }
    move(to: port)
    fail("the source began anew with \(taken) of \(steps.values.count) steps taken")
    return true
  }
}

extension StageChoice {
  /// Takes a bracket; needs `.meter()` before it, for a lens `.focus()`.
  public static func bracket(_ choose: (inout Bracket.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Bracket.plugin, of: Bracket.self, choose)
  }
}
