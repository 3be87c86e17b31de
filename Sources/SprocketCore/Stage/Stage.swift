/// An algorithm that sees every frame.
///
/// Life: `init · (configure · (retune? · process)*)+ · finish`. A stage is made once per worker; instances
/// share nothing, so a stage needs no lock. It is configured again at each epoch.
///
/// `init` sets the defaults; the engine then applies what the user chose. `configure` checks that
/// against the frames to come, declares what it will read and write, allocates what it needs, and
/// turns fractions and milliseconds into pixels and nanoseconds. `process` is called once per
/// frame and allocates nothing. `finish` ends the run; `notes` are asked after it.
public protocol Stage: SendableMetatype {
  /// What it says of a frame; nothing by default.
  associatedtype Report: FrameReport = NoReport
  /// What a user may choose; nothing by default.
  associatedtype Settings: KindSettings = NoSettings

  /// Whether frames have to come in order, to one instance.
  static var order: Order { get }

  /// Sets the defaults, and does nothing else: the engine then sets `settings`.
  init()

  /// What the user chose. The engine sets it before `configure`, and where live settings have changed.
  var settings: Settings { get set }

  /// Returns the format that flows on: `setup.format` unless the stage changes it.
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat
  /// Looks at a frame, or changes its pixels, and says what becomes of it. Called once for each frame that is
  /// intact and that no stage before dropped, on a thread of the lane; allocates nothing.
  mutating func process(_ frame: inout FrameView) -> Verdict
  /// Called after live settings have changed (`Setting.live`), between two frames. Computes again what
  /// `configure` derived from them, and allocates nothing. By default does nothing.
  mutating func retune()
  /// Called once, after the last frame. By default does nothing.
  mutating func finish()
  /// What a user should know of how the run went, each a sentence.
  var notes: [String] { get }
  /// What the stage was asked to do and could not, each a sentence: errors of the run, which went on all the
  /// same. Read after `finish`.
  var failures: [String] { get }
}

extension Stage where Settings == NoSettings {
  public var settings: NoSettings {
    get { NoSettings() }
    set {}
  }
}

extension Stage {
  public var notes: [String] { [] }
  public var failures: [String] { [] }
  public mutating func retune() {}
  public mutating func finish() {}
}

/// Whether a stage keeps state between frames.
public enum Order: String, Sendable {
  /// No state between frames: several workers, each with an instance, in any order.
  case any
  /// One worker, frames in order.
  case sequence
}

/// What becomes of a frame.
public enum Verdict: Sendable, Hashable, BitwiseCopyable {
  case keep
  case drop(Reason)

  /// Why a stage drops a frame: the frame's fate has the same name.
  public enum Reason: Sendable, BitwiseCopyable {
    /// It came too late to be of use.
    case late
    /// What it shows is not wanted.
    case rejected
  }
}

/// A stage cannot do what was asked of it; the text says what the user can do.
public struct StageError: Error, Sendable, CustomStringConvertible {
  public let description: String
  /// The settings to change.
  public let settings: [SettingPath]
  /// Whether the machine lacks something, such as a library: other settings do not help.
  public let isOfMachine: Bool

  /// The sentence follows the stage's name: "has a window of 9 pixels; give 8 or less".
  public init(
    _ description: String, isOfMachine: Bool = false, change settings: SettingPath...
  ) {
    self.description = description
    self.isOfMachine = isOfMachine
    self.settings = settings
  }
}

/// What a stage declares, and what it is given for it, in `configure`.
public struct StageSetup: ~Copyable {
  /// How the stage writes pixels.
  public enum Writing: Sendable {
    /// Each pixel from itself alone: `edit()` holds the frame as it came. Costs no second picture
    /// unless somebody still reads the first; then the engine copies it beforehand.
    case inPlace
    /// From one picture into another.
    case nextImage
    /// The first picture, from the frame as the source delivered it, where the engine can make none of it: of
    /// a mosaic. `edit().source` has the source's planes, in the source's pixel format.
    case firstImage
  }

  /// Frames as they reach this stage.
  public let format: FrameFormat
  /// True for a camera, or a scene or file at real pace: frames do not wait.
  public let isLive: Bool
  /// How the source is controlled; `nil` where it cannot be (files, replays).
  let controls: ControlPort?
  /// How long a frame takes from here to the end of chain and pack; a live reading.
  public let remaining: Remaining

  /// What `reads` and `writes` declared.
  public internal(set) var parts: FrameParts = []
  /// What `writes` declared; `nil` for a stage that changes no pixels.
  public internal(set) var writing: Writing?
  /// In frames.
  public private(set) var history = 0
  /// In frames.
  public private(set) var lookahead = 0
  /// Whether `steers` was called.
  public private(set) var isSteering = false
  /// Whether `readsRemaining` was called.
  public private(set) var usesRemaining = false
  /// What `allowsAge` declared.
  public private(set) var ageBudget: Duration?
  /// The reports of stages before this one.
  let earlier: [String: (type: any FrameReport.Type, slot: ReportSlot)]
  let ownSlot: ReportSlot
  /// The report that there is room for; `nil` for any.
  let ownReport: (any FrameReport.Type)?
  /// What `report` declared.
  public private(set) var reportType: (any FrameReport.Type)?

  public init(
    format: FrameFormat, isLive: Bool, controls: ControlPort?, remaining: Remaining,
    earlier: [String: (type: any FrameReport.Type, slot: ReportSlot)], ownSlot: ReportSlot,
    ownReport: (any FrameReport.Type)? = nil
  ) {
    self.format = format
    self.isLive = isLive
    self.controls = controls
    self.remaining = remaining
    self.earlier = earlier
    self.ownSlot = ownSlot
    self.ownReport = ownReport
  }

  /// The samples that a stage is made for.
  public enum Depth: Sendable {
    /// 8 bits: rows are `[row: y]` and `row(_:plane:)`.
    case eight
    /// Also those in 16-bit words, where `PixelFormat.isDeep` is true of the image's format: rows are then
    /// `[row16: y]` and `row16(_:plane:)`.
    case any
  }

  /// Declares what this stage reads of each frame's pixels. `depth` is about the image: luma always has 8
  /// bits.
  public mutating func reads(_ parts: FrameParts, depth: Depth = .eight) throws(StageError) {
    if !parts.isDisjoint(with: .pixels), format.image == nil {
      guard !format.pixelFormat.isBayer else {
        throw StageError(
          "reads pixels, and \(format.pixelFormat.name) frames are a sensor's mosaic; put the stage debayer, "
            + "which makes pictures of them, before it, or choose another format",
          change: .stage, .format)
      }
      throw StageError(
        "reads pixels, and \(format.pixelFormat.fourcc) frames cannot be unpacked; choose another "
          + "format", change: .format)
    }
    if parts.contains(.encoded), !format.pixelFormat.isEncoded, !format.pixelFormat.isBayer {
      throw StageError(
        "reads encoded bytes, and \(format.pixelFormat.fourcc) frames are not encoded; let it read "
          + "the image")
    }
    if parts.contains(.image), depth == .eight, let image = format.image, image.isDeep {
      throw StageError(
        "takes samples of 8 bits, and those of \(image.name) lie in words of 16; choose another format "
          + "(\(PixelFormat.namesOfEightBits)), or leave the stage out", change: .format, .stage)
    }
    self.parts.formUnion(parts)
  }

  /// Declares that this stage writes pixels, and reads those that are there, or, for the first picture, the
  /// source's own.
  public mutating func writes(_ writing: Writing, depth: Depth = .eight) throws(StageError) {
    if writing == .firstImage, format.image != nil {
      throw StageError(
        "makes pictures of what has none, and \(format.pixelFormat.name) frames have one; leave the stage "
          + "out", change: .stage)
    }
    try reads(writing == .firstImage ? .encoded : .image, depth: depth)
    self.writing = writing
  }

  /// Asks for up to `frames` earlier frames, as the lane before sealed them: with 2, `frame.earlier(0)` is
  /// the frame just before and `frame.earlier(1)` the one before that.
  public mutating func readsHistory(_ frames: Int) {
    contract(
      frames >= 0, "declares a history of \(frames) frames; it is a number of frames, 0 for none")
    history = frames
  }

  /// Asks for up to `frames` later frames: with 1, `frame.later(0)` is the frame just after. It is latency:
  /// declared, added up, printed.
  public mutating func readsAhead(_ frames: Int) {
    contract(
      frames >= 0, "declares a look-ahead of \(frames) frames; it is a number of frames, 0 for none"
    )
    lookahead = frames
  }

  /// The right to store this stage's report.
  public mutating func report<Report: FrameReport>(_ type: Report.Type) -> ReportWriter<Report> {
    contract(
      ownReport.map { $0 == type } ?? true,
      "declares a report of the type \(type), and its `Report` is \(ownReport.map { "\($0)" } ?? ""); "
        + "declare that one")
    reportType = type
    return ReportWriter(slot: ownSlot)
  }

  /// The right to read the report that the plug-in `name`, earlier in the chain, makes.
  public mutating func reader<Report: FrameReport>(_ type: Report.Type, from name: String)
    throws(StageError) -> ReportReader<Report>
  {
    guard let found = earlier[name] else {
      throw StageError(
        "needs the report of `\(name)`; put the stage \(name) before it", change: .stage)
    }
    guard found.type == type else {
      throw StageError("needs another kind of report than `\(name)` makes")
    }
    return ReportReader(slot: found.slot)
  }

  /// Declares that this stage writes to the source's controls, and returns the way there. The stage has
  /// the order `.sequence`.
  ///
  /// A source that is not live then delivers the next frame only when this stage has processed all frames
  /// that it can process without it, so a write takes effect at the same frame in every run. In return, the
  /// source and the stages up to this one do not work in parallel.
  public mutating func steers() throws(StageError) -> ControlPort {
    guard let controls else {
      throw StageError(
        "writes to the source's controls, and this source has none: files and replays are as they "
          + "were recorded, cached frames of the scene as they were drawn; give it a camera, or the "
          + "scene without cached=N")
    }
    isSteering = true
    controls.willBeSteered()
    return controls
  }

  /// Declares how old a frame may be at the end of the chain; the engine refuses to start when the
  /// chain's look-ahead alone makes it older.
  public mutating func allowsAge(_ budget: Duration) { ageBudget = budget }

  /// Declares that this stage looks at `remaining`, so that it is measured.
  public mutating func readsRemaining() -> Remaining {
    usesRemaining = true
    return remaining
  }
}

extension PixelFormat {
  fileprivate var name: String { String(fourcc.prefix { $0 != " " }) }

  /// Those whose image has samples of 8 bits, as `--format` takes them.
  fileprivate static var namesOfEightBits: String {
    allCases.filter { !$0.isBayer && !$0.isPackets && $0.imageFormat?.isDeep != true }.map(\.name)
      .joined(separator: ", ")
  }
}
