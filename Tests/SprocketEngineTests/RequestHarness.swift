import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations

/// A recording in memory.
///
/// Unchecked: the engine uses it on one thread at a time, and tests look after the run.
final class MemoryFile: RecordingFile, @unchecked Sendable {
  let path: String
  var numbers: [UInt64] = []
  /// By frame, what stages have added to its bytes.
  var added: [UInt8] = []
  var lost: [UInt64] = []
  var isFinished = false
  var isAbandoned = false
  var finishing: () throws(RunError) -> Void = {}
  /// Called when the engine asks how many frames are safe.
  var counting: () -> Void = {}

  init(_ path: String) { self.path = path }

  var byteCount: UInt64 { UInt64(numbers.count) * 100 }
  var durableCount: UInt64 {
    counting()
    return isFinished ? .max : 0
  }
  var freeByteCount: UInt64? { 1 << 30 }

  func finish() throws(RunError) {
    try finishing()
    isFinished = true
  }

  func abandon() { isAbandoned = true }
}

/// Records into memory, when asked.
///
/// Unchecked: `prepare` is called by the thread that asks, everything else by the engine's threads in turn;
/// tests look after the run.
final class MemoryRecorder: Recorder, @unchecked Sendable {
  let name: String
  let isOnDemand = true
  var limits = RecordingLimits()
  var preRoll: PreRoll?
  var needsEarlierFrames = false
  let files = Locked<[MemoryFile]>([])
  let packs = Atomic<Int>(0)
  private let reads: FrameParts
  private let usesPacker: Bool
  private var file: MemoryFile?
  private var width = 0
  private var fileWidth = 0
  var failsAt: UInt64?
  var refusesWidth: Int?
  var refusesIndex: Int?
  var failsAtFinish = false
  var failsToAccount: UInt64?
  var finishDelay: UInt32 = 0
  /// Called when a file is completed.
  var finishing: () -> Void = {}
  var writeDelay: (UInt64) -> UInt32 = { _ in 0 }
  /// Microseconds that keeping a frame takes.
  var heldDelay: (UInt64) -> UInt32 = { _ in 0 }
  /// Bytes of a frame that is kept.
  var heldBytes: (UInt64) -> Int = { _ in 100 }
  /// Kept frames that were written between two that were kept.
  var mostWritesInARow = 0
  private var writesInARow = 0
  var isTorn = false
  /// A stage changes the frames' bytes.
  var isChanged = false
  /// Calls of `write` and `account` without a recording.
  var strayCalls = 0
  let prepared = Atomic<Int>(0)
  /// When the last frame was captured, and how long frames last, nanoseconds.
  private var lastCaptured: Int64 = 0
  var frameLength: Int64 = 0

  init(_ name: String = "movie", reads: FrameParts = .luma(.full), packs: Bool = true) {
    self.name = name
    self.reads = reads
    usesPacker = packs
  }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    if setup.format.width == refusesWidth { throw RunError(.failed, "another width; stop there") }
    try setup.reads(reads)
    if usesPacker { setup.packs(capacity: 64) }
    setup.needsEarlierFrames = needsEarlierFrames
    width = setup.format.width
  }

  func makePacker() -> (any Packer)? { usesPacker ? CountingPacker(self) : nil }

  func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile {
    if order.path == "refused" { throw RunError(.usage, "that name cannot be used; give another") }
    if order.index == refusesIndex { throw RunError(.failed, "no file can be made; look") }
    prepared.wrappingAdd(1, ordering: .relaxed)
    let file = MemoryFile(order.path.map { "\($0)-\(order.index)" } ?? "\(name)-\(order.index)")
    file.finishing = { [finishDelay, finishing] () throws(RunError) in
      if finishDelay > 0 { usleep(finishDelay) }
      finishing()
    }
    files.withLock { $0.append(file) }
    return file
  }

  func begin(_ file: any RecordingFile) throws(RunError) {
    precondition(self.file == nil, "begin without end")
    self.file = file as? MemoryFile
    fileWidth = width
  }

  func pause(before next: Timestamp?) -> Int64? { next?.nanoseconds ?? lastCaptured + frameLength }

  func end(before next: Timestamp?) {
    precondition(file != nil, "end without begin")
    file = nil
  }

  var fitsFile: Bool { width == fileWidth }

  func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {
    writesInARow = 0
    let delay = heldDelay(frame.record.number)
    if delay > 0 { usleep(delay) }
    // 100 bytes, so that a small memory is full soon.
    let byte = usesPacker ? frame.packed[0] : frame.view.luma()[row: 0][0]
    body([UInt8](repeating: byte, count: heldBytes(frame.record.number)).span)
  }

  func write(held: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    for index in held.indices where held[index] != UInt8(truncatingIfNeeded: record.sequence) {
      isTorn = true
    }
    if held.count != heldBytes(record.number) { isTorn = true }
    writesInARow += 1
    mostWritesInARow = max(mostWritesInARow, writesInARow)
    try write(record, byte: held[0])
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let byte = UInt8(truncatingIfNeeded: frame.record.sequence)
    if usesPacker, !isChanged, frame.packed[0] != byte { isTorn = true }
    try write(
      frame.record, byte: usesPacker ? frame.packed[0] : frame.view.luma()[row: 0][0])
  }

  private func write(_ record: FrameRecord, byte: UInt8) throws(RunError) {
    let number = record.number
    guard let file else {
      strayCalls += 1
      return
    }
    if number == failsAt {
      failsAt = nil
      throw RunError(.failed, "the disk is full; free some space")
    }
    let delay = writeDelay(number)
    if delay > 0 { usleep(delay) }
    lastCaptured = record.captured.nanoseconds
    file.numbers.append(number)
    file.added.append(byte &- UInt8(truncatingIfNeeded: record.sequence))
  }

  func account(_ lost: LostFrame) throws(RunError) {
    if lost.number == failsToAccount { throw RunError(.failed, "the disk is fuller; free more") }
    if let file { file.lost.append(lost.number) } else { strayCalls += 1 }
  }

  func finish() throws(RunError) {
    precondition(file == nil, "finish before end")
    if failsAtFinish { throw RunError(.failed, "cannot be synced; use another disk") }
  }

  /// The numbers in each file that has some, in the order in which the files were made.
  var contents: [[UInt64]] {
    files.withLock { $0.filter { !$0.numbers.isEmpty }.map(\.numbers) }
  }
}

final class CountingPacker: Packer {
  let sink: MemoryRecorder
  init(_ sink: MemoryRecorder) { self.sink = sink }
  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    sink.packs.wrappingAdd(1, ordering: .relaxed)
    bytes[0] = frame.luma()[row: 0][0]
    return 1
  }
}

/// Asks an engine that does not exist yet when the script is written.
final class Asker: @unchecked Sendable {
  // Unchecked: set before the run, used by the source's thread.
  var engine: Engine?
  var ids: [RecordingID] = []
  var errors: [RunError] = []
  var waiting: [RequestID] = []

  func ask(_ requests: Request..., at moment: Moment = .now) {
    do throws(RunError) {
      ids += try engine?.ask(requests, at: moment) ?? []
    } catch {
      errors.append(error)
    }
  }

  /// Asks for requests that may be withdrawn, by their places in `waiting`.
  func wait(_ requests: Request..., at moment: Moment) {
    keep { engine throws(RunError) in try engine.ask(requests, at: moment, by: .client(1)).id }
  }

  /// Asks for another `value` of the stage `addvalue`.
  func set(_ value: Int, at moment: Moment, by holder: RequestHolder = .client(1)) {
    keep { engine throws(RunError) in
      try engine.set(adding(["value": value]), at: moment, by: holder)
    }
  }

  func withdraw(_ place: Int) {
    do throws(RunError) { try engine?.withdraw(waiting[place]) } catch { errors.append(error) }
  }

  private func keep(_ body: (Engine) throws(RunError) -> RequestID) {
    guard let engine else { return }
    do throws(RunError) { waiting.append(try body(engine)) } catch { errors.append(error) }
  }

  /// Asks to end the latest recording, or that number of it in the order asked.
  func stop(_ index: Int? = nil, at moment: Moment = .now) {
    guard let id = index.map({ ids[$0] }) ?? ids.last else { return }
    ask(.stop(id), at: moment)
  }
}

extension [ScriptedSource.Step] {
  static func frames(_ numbers: Range<UInt64>) -> [ScriptedSource.Step] {
    numbers.map { .frame(sequence: $0) }
  }
}

/// Waits for four later frames.
struct FourAhead: Stage {
  static let order = Order.sequence
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.readsAhead(4)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict { .keep }
  static let plugin = Plugin("fourahead", "waits for four later frames", FourAhead.self)
}

/// Runs a script that asks, and checks what must hold of every run.
@discardableResult
func run(
  _ asker: Asker, _ steps: [ScriptedSource.Step], _ stages: [Plugin] = [],
  sinks: [any Sink], isLive: Bool = false, tick: Int64? = nil, workers: Int = 2,
  drain: Duration = longestWait, within limit: Duration = longestWait * 2,
  keyEvery period: UInt64 = 1, after: () -> Void = {}
) throws -> (summary: RunSummary, records: [RecordingRecord]) {
  let source = ScriptedSource(steps, isLive: isLive)
  source.tick = tick
  source.isKey = { $0 % period == 0 }
  var records: [RecordingRecord] = []
  defer { asker.engine = nil }
  let summary = try run(
    source, stages, sinks: sinks, workers: workers, drain: drain, within: limit,
    before: { asker.engine = $0 },
    after: {
      records = $0.recordingRecords
      after()
    })
  return (summary, records)
}
