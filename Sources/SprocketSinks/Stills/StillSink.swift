public import SprocketCodecs
public import SprocketCore
internal import SprocketFiles
internal import Synchronization

/// `--stills`: a file per frame, or one per so much time: the first frame, or the sharpest.
///
/// `path` is a folder, in which files are called `still-00000123.jpg`, by the running number of the frame
/// among all produced: the line of `--reports`, counted from 0. Or it names the files by a pattern, whose
/// ending says what they are (`StillName`, `StillFormat`). What the files hold stands in `docs/stills.md`.
///
/// JPEGs of Motion-JPEG that no stage changes are the camera's own bytes, with EXIF before them; those
/// without Huffman tables get them. All others, and two fields that come as an image each, are encoded, in
/// parallel, and what has limited range becomes full range, as every viewer expects (`JPEGPacker`).
///
/// A missing folder is made. A folder with stills is refused unless `overwrite` is set. Then the
/// stills of the earlier run that this run did not replace are removed at its end: a run that is
/// killed leaves stills of both, and a run without a still leaves the old ones. With a pattern no other files
/// are looked at: one of the same name is an error, or replaced with `overwrite`.
///
/// The sharpest frame of a period is known only when the period is over. Until then the bytes of the sharpest
/// one so far are kept, and no slot; a sharper one replaces them. The last period ends with the run.
///
/// On demand (`Recorder`) a recording is a number of photographs in the folder.
public final class StillSink: Recorder, RenamedSink {
  public internal(set) var name = "stills"
  private let path: String
  private let quality: Int
  private let overwrite: Bool
  public let isOnDemand: Bool
  public let preRoll: PreRoll?
  private var held = HeldStill()
  private var selector: StillSelector?
  /// `nil` if every frame is wanted.
  private let course: StillCourse?
  /// At most so many stills; 0 for any number.
  private let count: UInt64
  /// Stills that were written, and frames that came when there were enough.
  private var (made, surplus): (UInt64, UInt64) = (0, 0)
  /// `nil` unless frames are chosen by a condition.
  private let condition: String?
  /// `nil` unless the sharpest frame of each period is wanted.
  private let sharpest: SharpestSelector?
  private var kept = KeptStill()
  private var lessSharp: UInt64 = 0
  private let hasThumbnail: Bool
  private let mosaic: MosaicLevels
  private var content: StillContent?
  /// Names have the number of a bracket's step.
  private var hasStep = false
  private var completer = JPEGCompleter()
  private var folder: StillFolder?
  private var keptFrames: UInt64 = 0
  /// The photographs of the recording under way, on demand.
  private var batch: StillBatch?
  private let isSingle: Bool
  /// Path of the still of a sink that has one only, when the run is over.
  public private(set) var latestPath: String?
  public private(set) var notes: [String] = []

  /// Takes the first frame at or after each multiple of `interval` since the first frame; without one, every
  /// frame. With `sharpestOf` it takes the sharpest frame of each such interval instead, which needs the
  /// stage `focus` in the chain. With `when` only frames count for which a condition on the stages' reports
  /// holds (see `TriggerSink`), with `after` only those so long after the first. The sink is complete when
  /// it has `count` stills; 0: never. `quality` is 1 to 100, of frames that are encoded. `mosaic` is for DNG.
  /// `isSingle`: there will be one frame, so that a name without a place for its number will do. `preRoll`
  /// is for stills on demand: requests may choose one of the frames that it keeps.
  public init(
    path: String, every interval: Duration? = nil, sharpestOf period: Duration? = nil,
    quality: Int = 90, overwrite: Bool = false, isOnDemand: Bool = false, hasThumbnail: Bool = true,
    mosaic: MosaicLevels = MosaicLevels(), isSingle: Bool = false, when condition: String? = nil,
    after: Duration = .zero, count: UInt64 = 0, preRoll: PreRoll? = nil
  ) {
    self.preRoll = preRoll?.forChoices
    contract(
      period == nil || interval == nil && !isOnDemand,
      "takes the sharpest frames, and every so many or on demand; ask for one of them")
    (self.condition, self.count) = (condition, count)
    contract(1...100 ~= quality, "asks for a JPEG quality of \(quality); it is 1 to 100")
    self.path = path
    self.quality = quality
    self.overwrite = overwrite
    self.isOnDemand = isOnDemand
    self.hasThumbnail = hasThumbnail
    self.mosaic = mosaic
    self.isSingle = isSingle || count == 1 && !isOnDemand
    sharpest = period.map { SharpestSelector($0) }
    let chosen: (any FrameSelector)? = sharpest ?? interval.map { IntervalSelector($0) }
    let choosesAll = chosen == nil && condition == nil && after == .zero && count == 0
    course = choosesAll ? nil : StillCourse(after: after, chosen)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    if sharpest != nil, !setup.reports.contains(where: { $0.type == FocusReport.self }) {
      throw RunError(
        .usage,
        "the sharpest stills are chosen by the report of the stage focus, which is not in the chain; add "
          + "it", change: .stage)
    }
    let resolved = try condition.map { (text) throws(RunError) in
      try ReportCondition(parsing: text).resolved(setup.reports)
    }
    selector = course.map { StillSelector($0, resolved) }
    setup.backlog = setup.diskBacklog(of: setup.format)
    let naming = try StillName(path: path, isSingle: isSingle).of(setup.source.name)
    hasStep = naming.hasStep
    if hasStep, !setup.reports.contains(where: { $0.type == BracketReport.self }) {
      throw RunError(
        .usage,
        "{bracket} in a still's name is the step of the stage bracket, which is not in the chain",
        change: .stage)
    }
    content = try StillContent(naming.format, of: name, mosaic: mosaic, &setup, note)
    if folder == nil { folder = try StillFolder(naming, overwrite: overwrite) }
  }

  /// The folder that stills of a path go into.
  public static func folder(of path: String) -> String {
    (try? StillName(path: path, isSingle: true).folder) ?? path
  }

  /// Whether a file of that name in the folder is a still, whole or partial.
  public static func isStill(_ name: String) -> Bool { StillNumber(of: name) != nil }

  public func makeSelector() -> (any FrameSelector)? { selector }

  public var isComplete: Bool { count > 0 && made >= count }

  public var replacedCount: UInt64 { lessSharp + surplus }

  public func makePacker() throws(RunError) -> (any Packer)? {
    try content?.makePacker(quality: quality, hasThumbnail: hasThumbnail)
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    if isComplete {
      surplus += 1
      return
    }
    let bracket = hasStep ? frame.view.report(BracketReport.self) : nil
    var mark = StillMark(frame.record, step: bracket?.step ?? 0)
    try content?.withPieces(of: frame, &completer) { first, second, third throws(RunError) in
      try write(first, second, third, frame.record, &mark)
    }
  }

  private func write(
    _ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>, _ record: FrameRecord,
    _ mark: inout StillMark
  ) throws(RunError) {
    if let sharpest { return try keep(first, second, third, record, sharpest.starts) }
    try folder?.write(first, second, third, &mark)
    noteMade(mark)
    if batch?.byteCount == 0, let folder { batch?.path = folder.path(of: mark) }
    batch?.byteCount += UInt64(first.count + second.count + third.count)
  }

  /// Keeps a frame that is sharper than the kept one, or the first of the next period.
  private func keep(
    _ first: Span<UInt8>, _ second: Span<UInt8>, _ third: Span<UInt8>, _ record: FrameRecord,
    _ starts: PeriodStarts
  ) throws(RunError) {
    if starts.take(upTo: record.number) {
      try writeKept()
      if isComplete {
        surplus += 1
        return
      }
    } else if kept.record != nil {
      lessSharp += 1
    }
    kept.store(first, second, third, record)
  }

  private func writeKept() throws(RunError) {
    guard let record = kept.take() else { return }
    let bytes = kept.bytes
    var mark = StillMark(record)
    try folder?.write(bytes.span.extracting(0..<kept.count), Span(), Span(), &mark)
    noteMade(mark)
  }

  private func noteMade(_ mark: StillMark) {
    made += 1
    if isSingle { latestPath = folder?.path(of: mark) }
    if isComplete { course?.isOver.store(true, ordering: .relaxed) }
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
      note("\(name): no frame came; those of the earlier run are still in \(path)")
    }
    if folder.removedStills > 0 {
      note("\(name): \(folder.removedStills) of an earlier run were removed from \(path)")
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
    return StillBatch(Self.folder(of: path))
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
    batch.durableCount += folder.durableStills(since: batch.first)
    self.batch = nil
  }

  /// Always true: each photograph is a file of its own.
  public var fitsFile: Bool { true }

  public func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {
    let step = hasStep ? frame.view.report(BracketReport.self)?.step ?? 0 : 0
    content?.hold(frame, step: step, in: &held, &completer)
    let bytes = held.bytes
    body(bytes.span)
  }

  /// Writes a still that a request has chosen. A second one of the same frame gets a name with `-2`.
  public func write(held bytes: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    var mark = StillMark(record, step: HeldStill.step(of: bytes))
    mark.isChosen = true
    try write(
      bytes.extracting(0..<bytes.count - HeldStill.stepBytes), Span(), Span(), record, &mark)
  }
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
