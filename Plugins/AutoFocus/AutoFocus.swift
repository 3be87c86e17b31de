public import SprocketCore

/// Moves the lens to where the picture is sharpest, by the score of `focus`: contrast autofocus.
///
/// What it decides, and when, is `FocusControl`'s; this reads the reports, writes the control and tells
/// how that went.
public struct AutoFocus: Stage {
  public static let plugin = Plugin(
    "autofocus", "moves the lens to where the picture is sharpest", AutoFocus.self)

  public static var order: Order { .sequence }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var mode = Mode.continuous
    /// In mode `custom`: 0, the nearest, to 1.
    public var position = 0.5
    /// Speed of the lens, in ways from end to end per second, 0 to 1000; 0: it is there at once.
    public var speed: Double {
      get { travel.speed }
      set { travel.speed = newValue }
    }
    /// Frames to wait when the lens has arrived, 0 to 100.
    public var settle: Int {
      get { travel.settle }
      set { travel.settle = newValue }
    }
    /// Play of the lens that is taken up, as a part of its way, 0 to 0.5.
    public var backlash: Double {
      get { travel.backlash }
      set { travel.backlash = newValue }
    }
    /// Averaged at each position, 1 to 100.
    public var frames = 1
    var travel = LensTravel.Settings()

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("mode", \.mode, "auto: once, then locked; custom: to `position`, then locked").live,
        Setting("position", \.position, range: 0...1, "of the lens in mode custom, 0 is nearest")
          .live,
        Setting(
          "speed", \.speed, range: 0...1000, unit: "1/s",
          "of the lens, in ways from end to end; 0: it is there at once"),
        Setting(
          "settle", \.settle, range: 0...100, unit: "frames",
          "to wait when the lens has arrived, for cameras that say too early that it moves"),
        Setting(
          "backlash", \.backlash, range: 0...0.5,
          "play of the lens that is taken up, as a part of its way, by coming from below"),
        Setting("frames", \.frames, range: 1...100, unit: "frames", "averaged at each position"),
      ]
    }
  }

  public var settings = Settings()

  /// Whether, and how often, the controller searches.
  public enum Mode: String, SettingValue, CaseIterable {
    /// The lens stays.
    case locked
    /// Until it is sharp, then locked.
    case auto
    case continuous
    /// To `position`, then locked.
    case custom
  }

  var focus: ReportReader<FocusReport>?
  var meter: ReportReader<ExposureReport>?
  private var writer: ReportWriter<Report>?
  var lens: SteeredControl?
  var control: FocusControl?
  var hasEnded = false
  /// What the camera decided by itself was switched off.
  private var hasTakenOver = false
  /// Where the lens is to be sent, until that could be written.
  var wanted: Double?
  /// The frame of the answer to the latest write; `nil` until it comes.
  var answer: UInt64? = 0
  public internal(set) var notes: [String] = []

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    focus = try setup.reader(FocusReport.self, from: "focus")
    // A scene without a meter is known by its score alone.
    meter = try? setup.reader(ExposureReport.self, from: "meter")
    writer = setup.report(Report.self)
    (wanted, answer) = (nil, 0)
    let isFirst = control == nil
    do throws(StageError) {
      var lens = try lens(of: &setup)
      hasTakenOver = settings.mode != .locked
      if hasTakenOver { noteAutomatics(lens.takeOver(at: 0)) }
      control = FocusControl(
        settings.mode.control(settings.position), lens: LensRange(lens), travel: settings.travel,
        frames: settings.frames, lag: lens.pictureDelay)
      self.lens = lens
    } catch {
      // A camera that was unplugged may come back as less. That ends the loop, not the run.
      if isFirst { throw error }
      lens = nil
      stop("the camera has come back without a control of its lens")
    }
    if hasEnded { control?.fail() }
    return setup.format
  }

  /// Begins what the mode says, also if it is the same mode: `auto` focuses once more.
  public mutating func retune() {
    if settings.mode != .locked, !hasTakenOver, let written = lens?.takeOver(at: 0) {
      hasTakenOver = true
      noteAutomatics(written)
    }
    wanted = nil
    control?.begin(settings.mode.control(settings.position))
  }

  private mutating func noteAutomatics(_ written: [String]) {
    let note = "autofocus has set \(written.joined(separator: ", ")), which stays so"
    if !written.isEmpty, !notes.contains(note) { notes.append(note) }
  }

  private func lens(of setup: inout StageSetup) throws(StageError) -> SteeredControl {
    guard let lens = SteeredControl(.lens, on: try setup.steers()) else {
      throw StageError(
        "moves the lens by a control `focus_absolute` or `lens`, and this source has neither; "
          + "`sprocket devices` lists what a camera has")
    }
    return lens
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    takeAnswers(frame)
    if let look = look(at: frame) { move(look, frame.record) }
    if let writer, let report = report(at: frame.record.number) { frame.write(report, writer) }
    return .keep
  }
}

extension StageChoice {
  /// Moves the lens to where the picture is sharpest; needs `.focus()` before it.
  public static func autoFocus(_ choose: (inout AutoFocus.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(AutoFocus.plugin, of: AutoFocus.self, choose)
  }
}
