internal import SprocketCodecs
public import SprocketCore
internal import SprocketFiles

/// `--page`: pictures for a browser. While nobody watches it gets no frame: who serves the pages asks the run
/// for a recording of this sink, which is no file. The camera's own JPEGs where no stage changes them, else
/// they are encoded, once for all who watch.
public final class PageSink: Recorder, RenamedSink {
  public internal(set) var name = "page"
  package let settings: PageSettings
  package let feed = PageFeed()
  private var needs: JPEGPacker.Requirements?
  private var resize: PictureResize?
  private var line = ReportLine()
  private var text = TextBuffer()
  private var completer = JPEGCompleter()
  private var pictures: PagePictures?
  public private(set) var notes: [String] = []

  public init(_ settings: PageSettings = PageSettings()) { self.settings = settings }

  public var isOnDemand: Bool { true }
  public var makesFiles: Bool { false }
  public var fitsFile: Bool { true }
  /// False: a run does not continue for who watches after all else has ended.
  public var lasts: Bool { false }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.takesLatest = true
    line = ReportLine(setup)
    let format = setup.format
    let own = TargetSize(width: format.width, height: format.height)
    let shape = MovieShape(size: settings.size.isBelow(own) ? settings.size : .none)
    resize = shape.resize(format)
    needs = try setup.readsJPEGs(
      name, passesOn: resize == nil && !setup.source.format.hasFieldImages
    ) { text in
      if !notes.contains(text) { notes.append(text) }
    }
    if let resize, let needs {
      setup.packs(
        capacity: needs.capacity, packerBytes: needs.packerBytes + resize.byteCount * 5 / 4)
    }
    pictures = PagePictures(feed, format, of: setup.source)
  }

  public func makeSelector() -> (any FrameSelector)? {
    settings.rate.map { IntervalSelector(.seconds(1 / $0.framesPerSecond)) }
  }

  public func makePacker() throws(RunError) -> (any Packer)? {
    guard let needs else { return nil }
    guard let resize else { return try JPEGPacker(needs, quality: settings.quality) }
    return try ResizedJPEGPacker(resize, needs, quality: settings.quality)
  }

  public func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile { Watching() }

  public func begin(_ file: any RecordingFile) throws(RunError) {}

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    guard needs == nil else {
      try pictures?.publish(frame, frame.packed, line, &text)
      return
    }
    try completer.complete(frame.view.encoded) { jpeg throws(RunError) in
      try pictures?.publish(frame, jpeg, line, &text)
    }
  }

  public func end(before next: Timestamp?) { pictures?.clear() }
}

extension TargetSize {
  /// Whether a side that is named is shorter than that of `other`, which has both.
  fileprivate func isBelow(_ other: TargetSize) -> Bool {
    width > 0 && width < other.width || height > 0 && height < other.height
  }
}

/// The time in which somebody watches.
private final class Watching: RecordingFile {
  let path = "page"
  let byteCount: UInt64 = 0
  let durableCount = UInt64.max
  let freeByteCount: UInt64? = nil

  func finish() throws(RunError) {}
  func abandon() {}
}

/// What a user may choose about the page.
public struct PageSettings: KindSettings {
  /// Where browsers find it.
  public var address = PageAddress.usual
  /// Largest size of its pictures; `none`: as they leave the stages.
  public var size = TargetSize.none
  /// Pictures per second at most; `nil`: every one.
  public var rate: FrameRate?
  public var quality = 80
  /// Names, beside those of the address, by which browsers may call it: of a proxy, or of the machine.
  public var hosts = PageHosts()
  /// A file with the token that every browser beyond this machine has to show; without a name: made for each
  /// run.
  public var token: InputName = ""

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting("address", \.address, "of the page: a port, ADDRESS:PORT or unix:PATH"),
      Setting("size", \.size, "of its pictures at most; of one side, the other by the aspect"),
      Setting("rate", \.rate, "pictures per second at most; auto: every one"),
      Setting("quality", \.quality, range: 1...100, "of JPEG that is encoded"),
      Setting(
        "hosts", \.hosts, "more names of this page, as a proxy's, with commas between them"),
      Setting(
        "token", \.token,
        "a file with the token that browsers of other machines show; empty: a new one"),
    ]
  }
}

extension PageSink {
  public static let kind = SinkKind(
    "page", "the camera in a browser", argument: "address", isArgumentOptional: true,
    PageSettings.self
  ) { (settings, request) throws(RunError) in request.naming(PageSink(settings)) }
}
