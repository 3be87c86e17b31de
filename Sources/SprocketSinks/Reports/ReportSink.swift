public import SprocketCore
internal import SprocketFiles

/// `--reports`: JSON Lines, one line per produced frame, in order, whatever became of it.
///
/// - `sequence`: the source's own number.
/// - `epoch`: counts changes of format, replugs and jumps backwards.
/// - `captured_ns`: nanoseconds, when light became this frame; `null` where it never arrived.
/// - `clock`: that of `captured_ns`: `monotonic`, `media` or `recorded`.
/// - `fate`: see `Fate`; `delivered` is what went through the whole chain to this file.
/// - `latency_us`: microseconds from `captured` to the chain's end where that clock is monotonic,
///   else from the source's hand-over; `null` where it did not pass the chain.
/// - `stage`: which one dropped it, where `fate` is `late` or `rejected`.
/// - `exposure_us`, `gain` (a factor), `lens` (0 nearest to 1 furthest): in force, where known.
/// - One object per plug-in, with the fields of its report, where it made one; also of a frame
///   that a later stage dropped.
/// - `events`: what happened just before, where something did: each event once, whatever became of the
///   frame.
///
/// An event has a `kind`: `control_applied` and `control_refused` come with `control`, `ticket` and
/// `value`, `stalled` with `wait_us`, `settings_changed` with `stage` and `settings` (texts by name),
/// `replugged` with `wait_us` or nothing. Real numbers have 12 significant
/// digits, single precision 9; what is not finite is `null`. Keys are only ever added.
///
/// A live run writes each line at once, else 64 KiB are collected. The file has its name when the run
/// has ended; until then `tail -f` may follow `reports.partial.jsonl`.
public final class ReportSink: Sink, RenamedSink {
  public internal(set) var name = "reports"
  private let path: String
  private let overwrite: Bool
  private let sync: Duration?
  private var file: FileWriter?
  private var framesOfClosedFile: UInt64 = 0
  private var line = ReportLine()
  private var isLive = false

  /// The file is opened when the run is set up. An existing one is refused unless `overwrite` is set.
  /// With `sync` no line is off the disk for longer, unless none follows.
  public init(path: String, overwrite: Bool = false, sync: Duration? = nil) {
    self.path = path
    self.sync = sync
    self.overwrite = overwrite
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    line = ReportLine(setup)
    isLive = setup.isLive
    if file == nil {
      file = try FileWriter(path: path, purpose: "reports", overwrite: overwrite)
      file?.syncInterval = sync?.nanosecondCount
    }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    try file?.append(record.sequence, record.epoch, .delivered, record, line)
    try file?.append(frame.view, line)
    try end(isDelivered: true)
  }

  /// Frames whose line is in the file.
  public var durableCount: UInt64 { file?.keptFrames ?? framesOfClosedFile }

  public func account(_ lost: LostFrame) throws(RunError) {
    try file?.append(lost.sequence, lost.epoch, lost.fate, nil, line)
    try file?.appendEvents(of: lost, line)
    try end()
  }

  public func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    try file?.append(lost.sequence, lost.epoch, lost.fate, frame.record, line)
    try file?.append(frame, line)
    try end()
  }

  private func end(isDelivered: Bool = false) throws(RunError) {
    try file?.append("}\n")
    if isDelivered { file?.endFrame() }
    if isLive { try file?.flush() }
    try file?.syncIfDue()
  }

  public func finish() throws(RunError) {
    notes = file?.keptPath.map { [PartialFile.note(kept: $0, name)] } ?? []
    try file.close(keeping: &framesOfClosedFile)
  }

  public private(set) var notes: [String] = []
}

extension ReportSink {
  public static let kind = SinkKind(
    "reports", "JSON Lines: one per produced frame; - is standard output", argument: "path",
    ReportSettings.self
  ) { (settings, request) throws(RunError) in
    request.naming(
      ReportSink(path: settings.path.path, overwrite: request.overwrite, sync: settings.sync))
  }
}

/// What a user may choose about reports in a file.
public struct ReportSettings: KindSettings {
  /// `-` is standard output.
  public var path = OutputName()
  /// Longest time that a line stays off the disk; `nil`: as long as the kernel likes.
  public var sync: Duration?

  public init() {}

  public static var settings: [Setting<Self>] {
    [
      Setting("path", \.path, "of the file; - is standard output"),
      .sync(\.sync),
    ]
  }
}
