public import SprocketCore
internal import SprocketZBar

/// Finds QR and bar codes: what they say, and where they lie in the sensor's picture.
///
/// The first frame of each `interval` is looked at; the others have no report. Which frame that is depends on
/// times of capture alone, so several workers find the same as one. Allocates in `configure` only; the README
/// says what libzbar allocates.
public struct Codes: Stage {
  public static let plugin = Plugin(
    "codes", "QR and bar codes: what they say, and where they are", Codes.self)

  public typealias Report = CodesReport

  public static var order: Order { .any }

  /// By how much the picture is reduced before codes are looked for.
  public enum Scale: String, SettingValue, CaseIterable {
    case full, half, quarter, eighth

    var luma: LumaScale {
      switch self {
      case .full: .full
      case .half: .half
      case .quarter: .quarter
      case .eighth: .eighth
      }
    }
  }

  /// What a user may choose.
  public struct Settings: KindSettings {
    /// The kinds to look for. More kinds: more false readings. Interleaved 2 of 5 and Codabar hardly check
    /// what they read, and the library writes warnings about half a DataBar to standard error; so these are
    /// off.
    public var types = CodeTypes(
      Set(CodeType.allCases).subtracting([.i25, .codabar, .databar, .databarExpanded]))
    /// Time between two frames that are looked at, 0 to 60 s. Larger: less work, and a code is found later.
    /// `nil`: 100 ms of a live source, and every picture of files, of which each may have another code.
    public var interval: Duration?
    /// Smaller: less work, and small codes are missed.
    public var scale = Scale.full
    /// The most codes of a frame, 1 to 16; more are counted.
    public var limit = CodesReport.capacity

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("types", \.types, "the kinds of codes to look for"),
        Setting(
          "interval", \.interval, range: .zero ... .seconds(60),
          "looks at one frame in each; 0s: at every frame; auto: 100ms live, else every frame"),
        Setting("scale", \.scale, "how large the picture is in which codes are looked for"),
        Setting("limit", \.limit, range: 1...CodesReport.capacity, "the most codes of a frame"),
      ]
    }
  }

  public var settings = Settings()

  private var writer: ReportWriter<Report>?
  private var scanner: CodeScanner?
  private var intervalNanoseconds: Int64 = 0

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(settings.scale.luma))
    setup.readsHistory(1)
    writer = setup.report(Report.self)
    let usual: Duration = setup.isLive ? .milliseconds(100) : .zero
    intervalNanoseconds = (settings.interval ?? usual).nanosecondCount
    let size = setup.format.lumaSize(settings.scale.luma)
    guard max(size.width, size.height) <= ZBarScanner.longestSide else {
      throw StageError(
        "looks for codes in pictures of up to \(ZBarScanner.longestSide) pixels a side; give it a smaller "
          + "scale",
        change: .stage)
    }
    do {
      scanner = try CodeScanner(
        settings.types.types, width: size.width, height: size.height, scale: settings.scale.luma)
    } catch {
      let isOfMachine = if case .unsupported = error { false } else { true }
      throw StageError(
        "cannot look for codes: \(error)", isOfMachine: isOfMachine, change: .stage)
    }
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    guard let writer, let scanner, isDue(frame) else { return .keep }
    frame.write(scanner.report(on: frame, limit: settings.limit), writer)
    return .keep
  }

  /// Whether the frame is the first intact one of its interval.
  private func isDue(_ frame: borrowing FrameView) -> Bool {
    guard intervalNanoseconds > 0, let before = frame.earlier(0) else { return true }
    return interval(of: frame.record) != interval(of: before.record)
  }

  private func interval(of record: FrameRecord) -> Int64 {
    let time = record.captured.nanoseconds
    // Rounded down, below 0 as well.
    return time / intervalNanoseconds - (time % intervalNanoseconds < 0 ? 1 : 0)
  }
}

extension StageChoice {
  /// Finds QR and bar codes: `CodesReport`.
  public static func codes(_ choose: (inout Codes.Settings) -> Void = { _ in }) -> StageChoice {
    StageChoice(Codes.plugin, of: Codes.self, choose)
  }
}
