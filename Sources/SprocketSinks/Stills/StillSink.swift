internal import SprocketCodecs
public import SprocketCore
internal import SprocketFiles

/// `--stills`: a JPEG file per frame, or one per so much time: the first frame, or the sharpest.
///
/// Files are called `still-00000123.jpg`, by the running number of the frame among all produced: the line
/// of `--reports`, counted from 0. Frames of Motion-JPEG that no stage changes are the camera's own
/// bytes; those without Huffman tables get them. All others, and two fields that come as an image each, are
/// encoded, in parallel, and what has limited
/// range becomes full range, as every viewer expects (`JPEGPacker`).
///
/// A missing folder is made. A folder with stills is refused unless `overwrite` is set. Then the
/// stills of the earlier run that this run did not replace are removed at its end: a run that is
/// killed leaves stills of both, and a run without a still leaves the old ones.
///
/// The sharpest frame of a period is known only when the period is over. Until then the bytes of the sharpest
/// one so far are kept, and no slot; a sharper one replaces them. The last period ends with the run.
///
/// On demand (`Recorder`) a recording is a number of photographs in the folder.
public final class StillSink: Recorder {
  public let name = "stills"
  private let path: String
  private let quality: Int
  private let overwrite: Bool
  public let isOnDemand: Bool
  private let selector: (any FrameSelector)?
  /// `nil` unless the sharpest frame of each period is wanted.
  private let sharpest: SharpestSelector?
  private var kept = KeptStill()
  public private(set) var replacedCount: UInt64 = 0
  /// What frames are encoded with; `nil` where they are the camera's own bytes.
  private var needs: JPEGPacker.Requirements?
  private var completer = JPEGCompleter()
  private var folder: StillFolder?
  private var keptFrames: UInt64 = 0
  /// The photographs of the recording under way, on demand.
  private var batch: StillBatch?
  public private(set) var notes: [String] = []

  /// Takes the first frame at or after each multiple of `interval` since the first frame; without one,
  /// every frame. With `sharpestOf` it takes the sharpest frame of each such interval instead, which needs
  /// the stage `focus` in the chain. `quality` is 1 to 100, for frames that are encoded.
  public init(
    path: String, every interval: Duration? = nil, sharpestOf period: Duration? = nil,
    quality: Int = 90, overwrite: Bool = false, isOnDemand: Bool = false
  ) {
    contract(
      period == nil || interval == nil && !isOnDemand,
      "takes the sharpest frames, and every so many or on demand; ask for one of them")
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    self.path = path
    self.quality = quality
    self.overwrite = overwrite
    self.isOnDemand = isOnDemand
    sharpest = period.map { SharpestSelector($0) }
    selector = sharpest ?? interval.map { IntervalSelector($0) }
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    if sharpest != nil, !setup.reports.contains(where: { $0.type == FocusReport.self }) {
      throw RunError(
        .usage,
        "the sharpest stills are chosen by the report of the stage focus, which is not in the chain; add "
          + "it", change: .stage)
    }
    setup.backlog = setup.diskBacklog(of: setup.format)
    // A file of two images, a field each, is half a picture to every viewer.
    needs = try setup.readsJPEGs(
      name, passesOn: !setup.source.format.hasFieldImages, note)
    if setup.format.presentation.orientation != .upright {
      note("stills: pictures are turned, which the files do not say yet; they lie as they are")
    }
    if let matrix = setup.format.color.matrixUnknownToJPEG, needs?.isGray == false {
      note("stills: colours are \(matrix)'s; viewers take BT.601's for granted")
    }
    if folder == nil { folder = try StillFolder(path: path, overwrite: overwrite) }
  }

  /// Whether a file of that name in the folder is a still, whole or partial.
  public static func isStill(_ name: String) -> Bool { StillFolder.number(of: name) != nil }

  public func makeSelector() -> (any FrameSelector)? { selector }

  public func makePacker() throws(RunError) -> (any Packer)? {
    guard let needs else { return nil }
    return try JPEGPacker(needs, quality: quality)
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    if needs != nil {
      try write(frame.packed, record)
    } else {
      try completer.complete(frame.view.encoded) { image throws(RunError) in
        try write(image, record)
      }
    }
  }

  private func write(_ image: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    if let sharpest { return try keep(image, record, sharpest.starts) }
    if batch?.byteCount == 0, let folder { batch?.path = folder.path(of: record.number) }
    try folder?.write(image, record)
    batch?.byteCount += UInt64(image.count)
  }

  /// Keeps a frame that is sharper than the kept one, or the first of the next period.
  private func keep(
    _ image: Span<UInt8>, _ record: FrameRecord, _ starts: PeriodStarts
  ) throws(RunError) {
    if starts.take(upTo: record.number) {
      try writeKept()
    } else if kept.record != nil {
      replacedCount += 1
    }
    kept.store(image, record)
  }

  private func writeKept() throws(RunError) {
    guard let record = kept.take() else { return }
    let bytes = kept.bytes
    try folder?.write(bytes.span.extracting(0..<kept.count), record)
  }

  /// Of the whole run. On demand the engine asks each recording instead.
  public var durableCount: UInt64 { isOnDemand ? .max : folder?.keptStills ?? keptFrames }

  public func finish() throws(RunError) {
    guard let folder else { return }
    defer {
      keptFrames = folder.keptStills
      self.folder = nil
    }
    try writeKept()
    try folder.finish()
    if folder.keepsOld, !isOnDemand {
      note("stills: no frame came; those of the earlier run are still in \(path)")
    }
    if folder.removedStills > 0 {
      note("stills: \(folder.removedStills) of an earlier run were removed from \(path)")
    }
  }

  private func note(_ text: String) {
    if !notes.contains(text) { notes.append(text) }
  }
}

// Recordings on demand.
extension StillSink {
  public func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile {
    guard order.path == nil else {
      throw RunError(.usage, "photographs go into \(path); ask for them without a path")
    }
    return StillBatch(path)
  }

  public func begin(_ file: any RecordingFile) throws(RunError) {
    guard let file = file as? StillBatch, let folder else {
      contractBroken("begins stills that its `prepare` did not make; begin what it returned")
    }
    batch = file
    file.first = folder.beginBatch()
    file.freeByteCount = folder.freeByteCount
  }

  /// Gives the photographs their names, on the sink's thread: one thread alone uses the folder.
  public func end(before next: Timestamp?) {
    guard let batch, let folder else { return }
    do throws(RunError) { try folder.endBatch() } catch { batch.failure = error }
    batch.durableCount = folder.durableStills(since: batch.first)
    self.batch = nil
  }

  /// Always true: each photograph is a file of its own.
  public var fitsFile: Bool { true }
}

/// The photographs of one recording.
private final class StillBatch: RecordingFile {
  /// Path of the first photograph; of the folder until there is one.
  var path: String
  var byteCount: UInt64 = 0
  var durableCount: UInt64 = 0
  var freeByteCount: UInt64?
  /// Number of stills that had their names when the recording began.
  var first: UInt64 = 0
  var failure: RunError?

  init(_ path: String) { self.path = path }

  func finish() throws(RunError) { if let failure { throw failure } }
  func abandon() {}
}

/// Picks the first frame at or after each multiple of an interval, counted from the first frame.
final class IntervalSelector: FrameSelector {
  private let interval: UInt64
  private var origin: Int64?
  /// The multiple that the last frame picked stands for.
  private var last: UInt64 = 0

  init(_ interval: Duration) { self.interval = UInt64(max(1, interval.nanosecondCount)) }

  func selects(_ frame: borrowing FrameView) -> Bool {
    selects(at: frame.record.captured.nanoseconds)
  }

  /// `time` in nanoseconds. A clock that goes back, as after a replug, begins anew.
  func selects(at time: Int64) -> Bool {
    // Also a difference that no signed number holds.
    let multiple = origin.map { UInt64(bitPattern: time &- $0) / interval }
    guard let start = origin, let multiple, time >= start, multiple >= last else {
      (origin, last) = (time, 0)
      return true
    }
    guard multiple > last else { return false }
    last = multiple
    return true
  }
}

/// What a user may choose about stills.
public struct StillSettings: KindSettings {
  /// Zero for a still of every frame.
  public var every = Duration.zero
  /// Zero for none.
  public var sharpest = Duration.zero
  public var quality = 90

  public init() {}

  public static var settings: [Setting<StillSettings>] {
    [
      Setting("every", \.every, "one per so much time, the first frame at or after each; 0s: all"),
      Setting(
        "sharpest", \.sharpest,
        "one per so much time, the sharpest frame, by the stage focus; 0s: none"),
      Setting("quality", \.quality, range: 1...100, "of JPEG that is encoded"),
    ]
  }
}

extension StillSink {
  public static let kind = SinkKind(
    "stills", "a JPEG file per frame", argument: "FOLDER", StillSettings.self
  ) { (path, settings, request) throws(RunError) in
    let every = settings.every > .zero ? settings.every : nil
    let sharpest = settings.sharpest > .zero ? settings.sharpest : nil
    if sharpest != nil, every != nil || request.isOnDemand {
      throw RunError(
        .usage,
        "stills: the sharpest are not taken together with every, nor on demand; leave one out",
        change: .sink)
    }
    return StillSink(
      path: path, every: every, sharpestOf: sharpest, quality: settings.quality,
      overwrite: request.overwrite,
      isOnDemand: request.isOnDemand)
  }
}
