internal import Glibc
public import SprocketCore
internal import SprocketFiles
internal import SprocketMCAP
internal import SprocketRecords

/// `--dump`: everything that the source delivered, byte for byte, in an MCAP file.
///
/// It taps the source: damaged frames and those of the start are in the file too, and what stages did
/// is not in the pictures. Beside each frame's bytes lies a record of it; `fates`, a sink of its own,
/// adds what became of it at the chain's end. What a run dropped, why, and what stages saw can be
/// played again with `--source replay:PATH`. `docs/dump.md` describes the file.
///
/// Sound is in it as it came, in blocks with their times.
///
/// Pictures that are not compressed are, by LZ4, on several threads; JPEGs are stored as they are.
/// A chunk of the file is written when it holds 8 MB or lasted 1 s, and a file that is cut off can be
/// read up to its last whole chunk. The file has its name when it is complete; before that it is
/// `NAME.partial.EXT`.
public final class DumpSink: Sink, RenamedSink {
  public internal(set) var name: String {
    didSet { fates.name = "\(name)-fates" }
  }
  /// The sink that records the end of the chain.
  let fates: DumpFateSink
  public var companions: [any Sink] { [fates] }
  private let file: DumpFile
  private let sound: DumpSound
  private let microphones: Int
  private var image: DumpImage?

  /// The file is created when the run is set up. An existing one is refused unless `overwrite` is set.
  /// `taps` are of the run's sound. With `sync` nothing that was recorded is off the disk for longer.
  /// `description` is what the run is, as JSON.
  public convenience init(
    path: String, overwrite: Bool = false, sound taps: [any AudioTap] = [], sync: Duration? = nil,
    description: String = ""
  ) {
    self.init(
      "dump", DumpOutput(path: path, overwrite: overwrite, description: description), .only, taps,
      sync: sync)
  }

  /// A dump in a file that the dumps of other sources share, with the topics `source/image`, `source/fate`
  /// and so on. `index` is the source's number among them, from 0.
  public convenience init(
    _ name: String = "dump", sharing output: DumpOutput, source: String, index: Int,
    sound taps: [any AudioTap] = [], sync: Duration? = nil
  ) {
    contract(
      0..<output.sources ~= index,
      "is source \(index) of a dump that \(output.sources) sources share; count from 0")
    self.init(name, output, DumpPart(source, index: index), taps, sync: sync)
  }

  private init(
    _ name: String, _ output: DumpOutput, _ part: DumpPart, _ taps: [any AudioTap], sync: Duration?
  ) {
    self.name = name
    file = DumpFile(output, part, sync: sync)
    fates = DumpFateSink("\(name)-fates", file)
    sound = DumpSound(taps, file)
    microphones = taps.count
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.tapsSource = true
    setup.backlog = setup.diskBacklog(of: setup.source.format)
    try setup.reads(.encoded)
    guard microphones <= DumpChannel.mostMicrophones else {
      throw RunError(
        .usage, "a dump has at most \(DumpChannel.mostMicrophones) microphones; leave some out",
        change: .microphone)
    }
    let image = DumpImage(setup.source.format, file.part)
    if !image.isStored { setup.packs(capacity: image.packedCapacity) }
    self.image = image
    try file.open()
    file.begin(SessionRecord(setup), image)
    let rate = setup.source.format.rate.framesPerSecond
    sound.pictureLength = rate > 0 ? Int64(1e9 / rate) : 0
  }

  public func makePacker() -> (any Packer)? {
    image.flatMap { $0.isStored ? nil : DumpPacker($0) }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    do throws(RunError) {
      try sound.take(upTo: frame.record.captured.nanoseconds)
      try add(frame)
    } catch {
      // Nothing more is written; the sound does not wait for this sink any longer.
      sound.fail()
      throw error
    }
  }

  private func add(_ frame: borrowing PackedFrame) throws(RunError) {
    if image?.isStored == true {
      try file.add(frame.view, stored: frame.view.encoded)
    } else {
      try file.add(frame.view, packed: frame.packed)
    }
  }

  /// Frames whose chunk is in the file.
  public var durableCount: UInt64 { file.durable.frames }

  public func account(_ lost: LostFrame) throws(RunError) { try file.add(lost) }

  public func idle() throws(RunError) {
    try sound.takeWhatCame()
    try file.syncIfDue()
  }

  public func finish() throws(RunError) {
    do throws(RunError) {
      try sound.finish()
      try file.flush()
    } catch {
      sound.fail()
      throw error
    }
    sound.settle()
    sound.close()
  }

  public var notes: [String] { file.keptPath.map { [PartialFile.note(kept: $0, name)] } ?? [] }

  /// Writes the ledger and the summary, syncs the file and gives it its name.
  public func seal(_ ledger: Ledger) throws(RunError) { try file.complete(ledger) }
}

/// The half of `DumpSink` at the chain's end: each produced frame's report and fate, as they come.
final class DumpFateSink: Sink {
  fileprivate(set) var name: String
  private let file: DumpFile
  private var line = ReportLine()

  init(_ name: String, _ file: DumpFile) { (self.name, self.file) = (name, file) }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.backlog = setup.diskBacklog(of: setup.source.format)
    line = ReportLine(setup)
    file.describe(setup)
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    let fate = LostFrame(
      number: record.number, sequence: record.sequence, epoch: record.epoch, fate: .delivered)
    try file.add(fate, frame.view, line)
  }

  /// Frames whose fate is in the file.
  var durableCount: UInt64 { file.durable.fates }

  func account(_ lost: LostFrame) throws(RunError) { try file.add(lost, line) }

  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    try file.add(lost, frame, line)
  }

  func finish() throws(RunError) { try file.flush() }

  /// Completes the file unless the sink of the frames has done so; both throw the same error.
  func seal(_ ledger: Ledger) throws(RunError) { try file.complete(ledger) }
}

extension DumpSink {
  public static let kind = SinkKind(
    "dump", "all that the source delivers, as MCAP, to be replayed or read", argument: "path",
    DumpSettings.self
  ) { (settings, request) throws(RunError) in
    let sink = DumpSink(
      path: settings.path.path, overwrite: request.overwrite, sound: try request.makeTaps("dump"),
      sync: settings.sync, description: request.describe())
    return request.naming(sink)
  }
}

/// What a user may choose about a dump.
public struct DumpSettings: KindSettings {
  public var path = OutputName()
  /// Longest time that what was recorded stays off the disk; `nil`: as long as the kernel likes.
  public var sync: Duration?

  public init() {}

  public static var settings: [Setting<Self>] {
    [Setting("path", \.path, "of the file"), .sync(\.sync)]
  }
}
