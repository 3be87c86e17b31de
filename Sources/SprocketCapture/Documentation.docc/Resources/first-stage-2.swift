import SprocketCore

public struct Darkness: Stage {
  public static let plugin = Plugin("darkness", "how much of the picture is dark", Darkness.self)
  public static let order = Order.any
  public struct Settings: KindSettings {
    public var below = 32

    public init() {}

    public static var settings: [Setting<Self>] {
      [Setting("below", \.below, range: 1...255, unit: "levels", "luma below it is dark")]
    }
  }

  public struct Report: FrameReport {
    /// 0 to 1.
    public var share = 0.0

    public init() {}

    public static let fields: [ReportField<Self>] = [
      ReportField("share", unit: "fraction", \.share)
    ]
  }

  public var settings = Settings()
  private var writer: ReportWriter<Report>?

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.reads(.luma(.quarter))
    writer = setup.report(Report.self)
    return setup.format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
}
