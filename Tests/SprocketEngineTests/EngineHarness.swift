import Glibc
import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations

/// A source that does what a script says: small grey frames whose every byte is the frame's number.
///
/// Unchecked: the engine uses it on one thread at a time.
final class ScriptedSource: Source, @unchecked Sendable {
  enum Step {
    case frame(sequence: UInt64, corrupt: Bool = false, startup: Bool = false)
    case epoch(width: Int)
    case pause(nanoseconds: Int64)
    case fail
    /// Sends no frame while the closure says so.
    case hold(@Sendable () -> Bool)
    /// Runs a closure before the step that follows.
    case call(@Sendable () -> Void)
  }

  static let height = 4
  private var steps: [Step]
  private var index = 0
  private var announced: ArrivedFrame?
  private var width: Int
  private let isLive: Bool
  private let lends: Bool
  private let rate: Int32
  private(set) var outstanding = 0
  /// While the script paused.
  private(set) var leastOutstanding = Int.max
  /// Ends the script at a pause, once no more than so many are out.
  var endsWhenHome: Int?
  private(set) var isClosed = false
  private(set) var isLentWritten = false
  private let repeats: Bool
  /// Grey, or a mosaic of 8 bits.
  var pixels = PixelFormat.grey
  /// Nothing arrives of frames that it does not lend, and it does not say so.
  var isEmpty = false
  /// Nanoseconds from frame to frame, for times that do not depend on the machine.
  var tick: Int64?
  /// Whether the frame of that number is a key frame.
  var isKey: (UInt64) -> Bool = { _ in true }
  let keyFrames = KeyFrameRequest()
  /// What happened up to a frame.
  var happens: (ArrivedFrame, inout EventQueue) -> Void = { _, _ in }

  init(
    _ steps: [Step], width: Int = 8, isLive: Bool = false, lends: Bool = false, rate: Int32 = 0,
    repeats: Bool = false
  ) {
    self.steps = steps
    self.width = width
    self.isLive = isLive
    self.lends = lends
    self.rate = rate
    self.repeats = repeats
  }

  convenience init(frames: Int, isLive: Bool = false, lends: Bool = false) {
    self.init(
      (0..<frames).map { .frame(sequence: UInt64($0)) }, isLive: isLive, lends: lends)
  }

  private var description: SourceDescription {
    var description = SourceDescription(
      name: "script",
      format: FrameFormat(
        pixelFormat: pixels, width: width, height: Self.height, color: .jpeg,
        rate: FrameRate(frames: rate)),
      isLive: isLive, clock: .monotonic, capacity: lends ? 0 : width * Self.height)
    description.keyFrames = keyFrames
    return description
  }

  func open() throws(RunError) -> SourceDescription { description }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    precondition(announced == nil, "the engine left a frame untaken")
    if index == steps.count {
      guard repeats else { return .end }
      index = 0
    }
    defer { index += 1 }
    switch steps[index] {
    case .frame(let sequence, let corrupt, let startup):
      var frame = ArrivedFrame(
        sequence: repeats ? served.load(ordering: .relaxed) : sequence,
        captured: Timestamp(
          nanoseconds: tick.map { Int64(sequence) * $0 } ?? monotonicNow(), clock: .monotonic),
        isCorrupt: corrupt,
        isStartup: startup)
      frame.isKey = isKey(sequence)
      served.wrappingAdd(1, ordering: .relaxed)
      announced = frame
      return .frame(frame)
    case .epoch(let width):
      self.width = width
      return .epoch(description, .formatChange)
    case .pause(let nanoseconds):
      leastOutstanding = min(leastOutstanding, outstanding)
      if let endsWhenHome, outstanding <= endsWhenHome {
        index = steps.count
        return .end
      }
      usleep(UInt32(nanoseconds / 1000))
      return .nothing
    case .hold(let isHeld):
      if isHeld() {
        index -= 1
        usleep(1000)
        return .nothing
      }
      index += 1
      defer { index -= 1 }
      return try next(timeout: timeout)
    case .call(let body):
      body()
      index += 1
      defer { index -= 1 }
      return try next(timeout: timeout)
    case .fail:
      throw RunError(.failed, "the script says so; write another")
    }
  }
  let served = Atomic<UInt64>(0)
  /// Number of frames that got a slot.
  let taken = Atomic<UInt64>(0)

  func takeEvents(into events: inout EventQueue) {
    guard let frame = announced else { preconditionFailure("nothing was announced") }
    happens(frame, &events)
  }

  func take(into slot: inout CaptureSlot) {
    guard let frame = announced else { preconditionFailure("nothing was announced") }
    announced = nil
    taken.wrappingAdd(1, ordering: .relaxed)
    let byte = UInt8(truncatingIfNeeded: frame.sequence)
    let count = width * Self.height
    if lends {
      // One byte more, behind the frame: what each byte must be when the memory comes home.
      let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: count + 1)
      unsafe memory.initialize(repeating: byte, count: count + 1)
      outstanding += 1
      let image = unsafe ImageStorage(
        packedAt: memory, byteCount: count, slot.format)
      unsafe slot.lend(image, byteCount: count, handle: UnsafeMutableRawPointer(memory))
    } else {
      var bytes = slot.bytes
      for index in 0..<count { bytes[index] = byte }
      slot.filled(isEmpty ? 0 : count)
    }
  }

  func discard() { announced = nil }

  func reclaim(_ lent: UnsafeMutableRawPointer) {
    let bytes = unsafe lent.assumingMemoryBound(to: UInt8.self)
    let count = width * Self.height
    for index in 0..<count where unsafe bytes[index] != bytes[count] { isLentWritten = true }
    // Who still looks is to see it.
    unsafe bytes[0] = ~bytes[0]
    unsafe lent.deallocate()
    outstanding -= 1
  }

  func close() { isClosed = true }
}

/// Grey frames are their own image and luma.
final class GreyUnpacker: Unpacker {
  func plan(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    UnpackPlan(borrowsImage: true, borrowsLuma: true)
  }
  func configure(format: FrameFormat, parts: FrameParts) -> UnpackPlan {
    plan(format: format, parts: parts)
  }
  func unpack(_ slot: UnsafeMutablePointer<FrameStorage>) -> Bool {
    unsafe slot.pointee.versions[0].image = slot.pointee.source
    unsafe slot.pointee.versions[0].luma[0] = slot.pointee.source.planes[0]
    return true
  }
  func deriveLuma(
    _ slot: UnsafeMutablePointer<FrameStorage>, version: VersionIndex, format: FrameFormat,
    parts: FrameParts
  ) {
    let plane = unsafe slot.pointee.versions[version].image.planes[0]
    unsafe slot.pointee.versions[version].luma[0] = unsafe plane
  }
}

/// Writes down what it was given, in order.
///
/// Unchecked: the engine uses it on one thread at a time, and tests look after the run.
final class RecordingSink: Sink, @unchecked Sendable {
  struct Line: Equatable {
    var number: UInt64
    var sequence: UInt64
    var fate: Fate
    /// First byte of the luma, of delivered frames.
    var byte: UInt8 = 0
    /// Where the frame could still be read.
    var droppedBy: UInt8?
  }

  let name: String
  var lines: [Line] = []
  var isTorn = false
  var finishes = 0
  var delay: (UInt64) -> Int64 = { _ in 0 }
  var failsAt: UInt64?
  var failure = RunError(.failed, "the disk is full; free some space")
  var failsToFinish = false
  var takesLatest = false
  var needsEarlierFrames = false
  var selectsEvery: UInt64?
  var refusesWidth: Int?
  var durableCount = UInt64.max
  /// How often it was asked to return soon.
  let interrupts = Atomic<Int>(0)
  let packs: Bool

  init(_ name: String = "record", packs: Bool = false) {
    self.name = name
    self.packs = packs
  }

  func interrupt() { interrupts.add(1, ordering: .relaxed) }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    if setup.format.width == refusesWidth { throw RunError(.failed, "another width; stop there") }
    try setup.reads(.luma(.full))
    setup.takesLatest = takesLatest
    setup.needsEarlierFrames = needsEarlierFrames
    if packs { setup.packs(capacity: 64) }
  }

  func makePacker() -> (any Packer)? { packs ? FirstByte() : nil }
  func makeSelector() -> (any FrameSelector)? { selectsEvery.map { EveryNth($0) } }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    if failsAt == record.number { throw failure }
    let row = frame.view.luma()[row: 0]
    let first = row[0]
    let wait = delay(record.number)
    if wait > 0 { usleep(UInt32(wait / 1000)) }
    for index in row.indices where row[index] != first { isTorn = true }
    if packs, frame.packed[0] != first { isTorn = true }
    lines.append(
      Line(number: record.number, sequence: record.sequence, fate: .delivered, byte: first))
  }

  func account(_ lost: LostFrame) throws(RunError) {
    lines.append(Line(number: lost.number, sequence: lost.sequence, fate: lost.fate))
  }

  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    try account(lost)
    if frame.record.number == lost.number, frame.record.sequence == lost.sequence {
      lines[lines.count - 1].droppedBy = frame.record.droppedBy
    }
  }

  func finish() throws(RunError) {
    finishes += 1
    if failsToFinish { throw RunError(.failed, "cannot be synced; use another disk") }
  }
}

final class FirstByte: Packer {
  func pack(_ frame: borrowing FrameView, into bytes: inout MutableSpan<UInt8>) -> Int? {
    bytes[0] = frame.luma()[row: 0][0]
    return 1
  }
}

final class EveryNth: FrameSelector {
  let count: UInt64
  init(_ count: UInt64) { self.count = count }
  func selects(_ frame: borrowing FrameView) -> Bool { frame.record.number % count == 0 }
}

/// Runs to the end, within a bound, and checks what must hold of every run.
func run(
  _ source: ScriptedSource, _ stages: [Plugin] = [], sinks: [any Sink], workers: Int = 2,
  wait: WaitStrategy = .park, frames: UInt64? = nil, drain: Duration = longestWait,
  within limit: Duration = longestWait * 2, before: (Engine) -> Void = { _ in },
  during: (Engine) -> Void = { _ in }, after: (Engine) -> Void = { _ in }
) throws -> RunSummary {
  let options = RunOptions(workers: workers, wait: wait, frameLimit: frames, drainLimit: drain)
  let engine = try Engine(
    source: source, stages: stages.map { StageChoice($0) }, sinks: sinks, options: options
  ) { GreyUnpacker() }
  before(engine)
  try engine.start()
  during(engine)
  precondition(engine.wait(for: limit), "the run did not end within \(limit)")
  after(engine)
  let summary = engine.summary
  precondition(source.isClosed, "the source was not closed")
  precondition(source.outstanding == 0, "lent memory did not come home")
  precondition(!source.isLentWritten, "lent memory was written to")
  precondition(summary.ledger.isBalanced, "unbalanced: \(summary.ledger)")
  return summary
}

/// A stage that reads no pixels: it needs only `process`.
protocol PlainStage: Stage {}

extension PlainStage {
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    setup.format
  }
}

/// `any` order: passes frames on after some microseconds of work that differ from frame to frame.
struct Jitter: PlainStage {
  static let order = Order.any
  mutating func process(_ frame: inout FrameView) -> Verdict {
    usleep(UInt32(frame.record.number &* 2_654_435_761 % 97))
    return .keep
  }
  static let plugin = Plugin("jitter", "waits a little", Jitter.self)
}

/// Adds one to every byte.
struct AddOne: Stage {
  static let order = Order.any
  mutating func configure(_ setup: inout StageSetup) throws(StageError) -> FrameFormat {
    try setup.writes(.inPlace)
    return setup.format
  }
  mutating func process(_ frame: inout FrameView) -> Verdict {
    var picture = frame.edit()
    for y in 0..<picture.rows(plane: 0) {
      var row = picture.row(y, plane: 0)
      for x in row.indices { row[x] &+= 1 }
    }
    return .keep
  }
  static let plugin = Plugin("addone", "adds one to every byte", AddOne.self)
}

/// Rejects every third frame.
struct RejectThirds: PlainStage {
  static let order = Order.sequence
  mutating func process(_ frame: inout FrameView) -> Verdict {
    frame.record.number % 3 == 2 ? .drop(.rejected) : .keep
  }
  static let plugin = Plugin("thirds", "rejects every third frame", RejectThirds.self)
}

/// SplitMix64: the same numbers on every machine for one seed.
struct TestRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
