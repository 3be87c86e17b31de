import Glibc
public import SprocketCore

/// Steers a source's exposure and gain by what `meter` says of each frame.
///
/// Decides nothing itself: `ExposureControl` says how much, `ExposureProgram` of what. A control that
/// is refused, or gone after a replug, ends the steering and not the run.
public struct AutoExposure: Stage {
  public static let plugin = Plugin(
    "autoexposure", "steers exposure and gain by what `meter` says", AutoExposure.self)

  public typealias Report = AutoExposureReport

  public static var order: Order { .sequence }

  /// Whether the controller works.
  public enum Mode: String, Sendable, CaseIterable, SettingValue {
    /// As it is at the start.
    case locked
    /// Until it is right, then locked.
    case auto
    case continuous
    /// The given exposure and gain.
    case custom
  }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var mode = Mode.continuous
    /// EV brighter than the meter's target, -6 to 6.
    public var bias = 0.0
    /// Microseconds, in mode `custom`.
    public var exposure = 10_000.0
    /// In mode `custom`; 1 is the sensor's base.
    public var gain = 1.0
    public var program = ExposureProgram.Line.exposure
    /// Frames/s whose period exposures may fill; 0 is the source's rate.
    public var slowest = 0.0
    public var flicker = ExposureProgram.Flicker.off
    /// EV per frame by which it may change, 0.01 to 8.
    public var speed = 1.5

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("mode", \.mode, "locked: as it is; auto: until it is right; custom: as given").live,
        Setting("bias", \.bias, range: -6...6, unit: "EV", "brighter than the meter's target").live,
        Setting("exposure", \.exposure, range: 1...10_000_000, unit: "us", "in mode=custom").live,
        Setting("gain", \.gain, range: 0.01...1000, "in mode=custom; 1 is the sensor's base").live,
        Setting("program", \.program, "exposure: before gain; balanced: 1/60 s, then gain to 4"),
        Setting(
          "slowest", \.slowest, range: 0...1000, unit: "frames/s",
          "the frame rate that exposures may fill; 0 is the source's"),
        Setting("flicker", \.flicker, "of lamps, by the mains in Hz: whole periods are exposed"),
        Setting(
          "speed", \.speed, range: 0.01...8, unit: "EV per frame", "by which it may change"
        ).live,
      ]
    }
  }

  public var settings = Settings()

  var writer: ReportWriter<Report>?
  var meter: ReportReader<ExposureReport>?
  var controls = ExposureControls()
  var line = ExposureProgram(exposure: nil, gain: nil)
  var control = ExposureControl(range: 0...0, curve: ToneCurve(.unspecified), isTold: false)
  var report = Report()
  var state = Report.State.waiting
  /// The exposure to keep: the one of mode `custom`, or the converged one of `auto`. It is set again after a
  /// replug.
  var kept: ExposureProgram.Point?
  /// In mode `auto`, the exposure was right as it was.
  private var isRight = false
  /// `kept` was changed, and not asked for yet.
  private var owesKept = false
  var isFirstFrame = true
  var isConfigured = false
  var writes: UInt32 = 0
  /// Frames received while the current setting was unknown.
  var unknown = 0
  public private(set) var notes: [String] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    let port = try setup.steers()
    meter = try setup.reader(ExposureReport.self, from: "meter")
    writer = setup.report(Report.self)
    let format = setup.format
    controls = ExposureControls(port)
    isFirstFrame = true
    unknown = 0
    if controls.isEmpty {
      guard isConfigured else {
        let known = port.controls.map(\.name).joined(separator: ", ")
        throw StageError(
          "finds neither an exposure in microseconds nor a gain among the source's controls "
            + "(\(known)); leave autoexposure out")
      }
      stop(.lost, "the source came back without exposure or gain")
    } else if state != .refused {
      state = .waiting
    }
    isConfigured = true
    line = ExposureProgram(
      exposure: controls.exposure, gain: controls.gain, line: settings.program,
      flicker: settings.flicker,
      longest: Self.longest(
        rate: settings.slowest > 0 ? settings.slowest : format.rate.framesPerSecond))
    control = ExposureControl(
      range: line.range, curve: ToneCurve(format.color.transfer), isTold: port.tellsWhatShows,
      known: controls.lags)
    control.bias = settings.bias
    control.speed = settings.speed
    if settings.mode == .custom {
      kept = line.point(exposure: settings.exposure, gain: settings.gain)
    }
    return format
  }

  /// In mode `auto` any change begins anew. In mode `locked` the exposure stays that was asked for last.
  public mutating func retune() {
    control.bias = settings.bias
    control.speed = settings.speed
    isRight = false
    switch settings.mode {
    case .locked: kept = controls.asked
    case .custom:
      kept = line.point(exposure: settings.exposure, gain: settings.gain)
      owesKept = true
    case .auto:
      kept = nil
      control.begin()
    case .continuous: kept = nil
    }
  }

  /// An exposure for the whole of a frame's time, in microseconds; without a rate none is too long.
  static func longest(rate: Double) -> Double { rate > 0 ? 1e6 / rate : .infinity }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    let number = frame.record.number
    for index in 0..<frame.eventCount { take(frame.event(index)) }
    if state != .refused, state != .lost { steer(frame, number) }
    tell(&frame, number)
    return .keep
  }

  private mutating func take(_ event: Event) {
    guard let refusal = controls.refusal(in: event), state != .refused else { return }
    stop(.refused, "the source refused \(refusal) at frame \(event.number)")
  }

  private mutating func stop(_ state: Report.State, _ reason: String) {
    self.state = state
    note("autoexposure stopped: \(reason); the exposure stays as it is")
  }

  /// Adds a sentence unless it was added since the last replug.
  private mutating func note(_ sentence: String) {
    if !notes.contains(sentence) { notes.append(sentence) }
  }

  private mutating func steer(_ frame: borrowing FrameView, _ number: UInt64) {
    if isFirstFrame {
      isFirstFrame = false
      let written = controls.takeOver(at: number)
      if !written.isEmpty {
        note(
          "autoexposure set \(written.joined(separator: ", ")); that stays so after the run")
      }
      owesKept = kept != nil
    }
    if let kept, owesKept, ask(kept, at: number, isAgain: true) { owesKept = false }
    if kept != nil || isRight || settings.mode == .locked {
      state = settings.mode == .custom ? .custom : .locked
      return
    }
    guard let meter, let found = frame.read(meter) else { return }
    guard let setting = controls.setting(of: frame.record) else { return begin(at: number) }
    let reading = ExposureControl.Reading(
      number: number, offset: found.offset, clipped: found.clipped, histogram: found.histogram,
      setting: setting.whole, gain: setting.gain)
    defer { if let lag = control.takeMeasuredLag() { controls.measured(lag) } }
    if let wanted = control.next(reading) {
      let point = line.point(for: wanted)
      if point == controls.asked {
        control.alreadyAtNearest()
      } else if ask(point, at: number) {
        control.didAsk(point.setting, at: number)
      }
    }
    follow()
  }

  /// Where the source does not report a setting for ten frames, the middle of the range is asked for.
  private mutating func begin(at number: UInt64) {
    unknown += 1
    guard unknown >= 10, controls.asked == nil else { return }
    ask(line.point(for: (line.range.lowerBound + line.range.upperBound) / 2), at: number)
  }

  /// Takes over the control's state; in mode=auto it is locked once converged.
  private mutating func follow() {
    switch control.state {
    case .adjusting: state = .adjusting
    case .converged: state = .converged
    case .limited: state = .limited
    case .unanswered:
      if state != .unanswered {
        note("autoexposure rests: the picture does not answer to \(controls.names)")
      }
      state = .unanswered
    }
    if settings.mode == .auto, state == .converged {
      kept = controls.asked
      isRight = true
    }
  }

  @discardableResult
  private mutating func ask(
    _ point: ExposureProgram.Point, at number: UInt64, isAgain: Bool = false
  ) -> Bool {
    guard controls.ask(point, at: number, isAgain: isAgain) else { return false }
    writes += 1
    return true
  }

  private mutating func tell(_ frame: inout FrameView, _ number: UInt64) {
    guard let writer else { return }
    report.state = state
    report.isShown = controls.isShown(at: number)
    report.exposureMicroseconds = controls.asked?.exposure ?? .nan
    report.gain = controls.asked?.gain ?? .nan
    report.delay = controls.delay.map { Double($0) } ?? .nan
    report.writes = writes
    let isMeasured = state == .adjusting || state == .converged || state == .limited
    report.error = isMeasured ? control.error : .nan
    report.lag = isMeasured ? UInt32(control.lag.longest) : 0
    report.leastLag = isMeasured ? UInt32(control.lag.shortest) : 0
    report.unsure = isMeasured ? control.unsure : .nan
    report.slope = isMeasured ? control.response.slope : .nan
    frame.write(report, writer)
  }
}

extension StageChoice {
  /// Steers exposure and gain; needs `.meter()` before it.
  public static func autoExposure(_ choose: (inout AutoExposure.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(AutoExposure.plugin, of: AutoExposure.self, choose)
  }
}
