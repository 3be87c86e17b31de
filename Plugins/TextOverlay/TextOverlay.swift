public import SprocketCore

/// Writes a line of text into the picture: the time of capture, the frame's number, the source, any words.
public struct TextOverlay: Stage {
  public static let plugin = Plugin(
    "overlay", "writes time, frame number or a text into the picture", TextOverlay.self)

  public static var order: Order { .any }

  /// What a user may choose.
  public struct Settings: KindSettings {
    public var text: OutputName = "{date} {time} {zone}"
    public var zone = Zone.local
    public var place = Place.bottomLeft
    /// Pixels for each of the font's, 1 to 64; `nil`: by the picture's size.
    public var size: Int?
    public var color = TextColor.white
    public var box = TextColor.black
    /// How much the box hides of the picture, 0 to 1.
    public var opacity = 0.5

    public init() {}

    public static var settings: [Setting<Self>] {
      [
        Setting("text", \.text, places: TextPlace.names, use: nil, "what is written, in ASCII"),
        Setting("zone", \.zone, "time zone of {date} and {time}: local, or utc"),
        Setting("place", \.place, "where it stands"),
        Setting(
          "size", \.size, range: 1...64, unit: "pixels",
          "for each dot of the letters, which are 5 wide and 7 high; auto: by the picture's size"),
        Setting("color", \.color, "of the letters"),
        Setting("box", \.box, "colour of the box behind the letters"),
        Setting("opacity", \.opacity, range: 0...1, "of the box; 0: none"),
      ]
    }
  }

  /// The clock that shows the time.
  public enum Zone: String, SettingValue, CaseIterable { case local, utc }

  /// Where the line stands in the picture.
  public enum Place: String, SettingValue, CaseIterable {
    case topLeft = "top-left"
    case top
    case topRight = "top-right"
    case bottomLeft = "bottom-left"
    case bottom
    case bottomRight = "bottom-right"
  }

  public var settings = Settings()

  private var line = TextLine()
  private var painter = TextPainter()
  private var isCut = false

  public init() {}

  public mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace, depth: .any)
    let format = setup.format
    line = TextLine(settings.text, inUTC: settings.zone == .utc)
    painter = TextPainter(settings, for: format, glyphs: line.usualCount)
    return format
  }

  public mutating func process(_ frame: inout FrameView) -> Verdict {
    line.write(frame.record)
    if !painter.place(glyphs: line.count) { isCut = true }
    painter.paint(line, &frame)
    return .keep
  }

  public var notes: [String] {
    guard isCut else { return [] }
    return [
      "overlay: the text is wider than the picture, and its end is left out; give a smaller size, or a "
        + "shorter text"
    ]
  }
}

extension StageChoice {
  /// Writes a line of text into the picture.
  public static func overlay(_ choose: (inout TextOverlay.Settings) -> Void = { _ in })
    -> StageChoice
  {
    StageChoice(TextOverlay.plugin, of: TextOverlay.self, choose)
  }
}
