import SprocketCore
import SprocketEngine
import TestExpectations
import Testing

/// Delivers each frame in the way that a list says: whole frames are as their number, and all memory that it
/// had before is 255.
@safe
private final class PartSource: Source {
  enum Hand: CaseIterable {
    case whole, part, none, silent, beyond, lentWhole, lentRows, lentColumns, lentBytes
  }

  static let bytes = 32
  private let hands: [Hand]
  private let pixels: PixelFormat
  private let isStartup: Bool
  private let capacity: Int
  private var next: UInt64 = 0
  private let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes)

  init(
    _ hands: [Hand], _ pixels: PixelFormat = .grey, isStartup: Bool = false, capacity: Int = 40
  ) {
    (self.hands, self.pixels, self.isStartup) = (hands, pixels, isStartup)
    self.capacity = capacity
    unsafe memory.initialize(repeating: 255, count: Self.bytes)
  }

  deinit { unsafe memory.deallocate() }

  func open() throws(RunError) -> SourceDescription {
    SourceDescription(
      name: "parts",
      format: FrameFormat(
        pixelFormat: pixels, width: 8, height: 4, color: .jpeg, rate: FrameRate(frames: 0)),
      isLive: false, clock: .media, capacity: capacity)
  }

  func next(timeout: Int64) throws(RunError) -> Arrival {
    guard next < hands.count else { return .end }
    return .frame(
      ArrivedFrame(
        sequence: next, captured: Timestamp(nanoseconds: Int64(next), clock: .media),
        isStartup: isStartup))
  }

  func take(into slot: inout CaptureSlot) {
    defer { next += 1 }
    let hand = hands[Int(next)]
    var bytes = slot.bytes
    if hand == .whole || hand == .beyond {
      for index in bytes.indices { bytes[index] = UInt8(next) }
    } else {
      for index in bytes.indices { bytes[index] = 255 }
    }
    switch hand {
    case .whole: slot.filled(Self.bytes)
    case .part: slot.filled(10)
    case .none: slot.filled(0)
    case .silent: break
    case .beyond: slot.filled(40)
    case .lentWhole: lend(8, 4, Self.bytes, to: &slot)
    case .lentRows: lend(8, 3, Self.bytes, to: &slot)
    case .lentColumns: lend(7, 4, Self.bytes, to: &slot)
    case .lentBytes: lend(8, 4, 31, to: &slot)
    }
  }

  private func lend(_ columns: Int, _ rows: Int, _ count: Int, to slot: inout CaptureSlot) {
    var image = unsafe ImageStorage()
    unsafe image.planes[0] = PlaneStorage(
      base: memory, stride: 8, bytesPerRow: columns, rows: rows)
    unsafe slot.lend(image, byteCount: count, handle: UnsafeMutableRawPointer(memory))
  }

  func discard() { next += 1 }
  func reclaim(_ lent: UnsafeMutableRawPointer) {}
  func close() {}
}

/// Taps the source: keeps all bytes of each frame.
private final class ByteSink: Sink {
  let name = "bytes"
  var fates: [Fate] = []
  var bytes: [[UInt8]] = []
  var counts: [Int] = []

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(.encoded)
    setup.tapsSource = true
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    note(frame.record.chainFate, frame.view)
  }

  func account(_ lost: LostFrame, frame: borrowing FrameView) throws(RunError) {
    note(lost.fate, frame)
  }

  private func note(_ fate: Fate, _ view: borrowing FrameView) {
    let plane = view.sourcePlane(0)
    var all: [UInt8] = []
    for y in 0..<plane.rows {
      let row = plane[row: y]
      for x in row.indices { all.append(row[x]) }
    }
    fates.append(fate)
    bytes.append(all)
    counts.append(view.record.byteCount)
  }
}

@Suite struct ShortFrameTests {
  private func run(_ source: PartSource, _ sinks: [any Sink]) throws -> RunSummary {
    let engine = try Engine(source: source, stages: [], sinks: sinks, options: RunOptions()) {
      GreyUnpacker()
    }
    try engine.start()
    #expect(engine.wait(for: longestWait))
    expectEqual(engine.summary.ledger.isBalanced, true)
    return engine.summary
  }

  @Test func aRawFrameThatIsNotWholeIsCorrupt() throws {
    let hands = PartSource.Hand.allCases
    let sink = RecordingSink()
    let summary = try run(PartSource(hands), [sink])
    let whole: Set<PartSource.Hand> = [.whole, .beyond, .lentWhole]
    expectEqual(sink.lines.map(\.fate), hands.map { whole.contains($0) ? .delivered : .corrupt })
    expectEqual(summary.ledger.entries[0].counts[.corrupt], UInt64(hands.count - whole.count))
    expectEqual(sink.isTorn, false)
  }

  @Test func nothingThatAnEarlierFrameLeftIsSeen() throws {
    // More frames than slots, so that each slot held a frame before.
    let hands = (0..<40).map {
      [.whole, .part, .none, .silent, .beyond][$0 % 5] as PartSource.Hand
    }
    let sink = ByteSink()
    _ = try run(PartSource(hands), [sink])
    for (index, hand) in hands.enumerated() {
      let frame = [UInt8](repeating: UInt8(index), count: 32)
      switch hand {
      case .whole, .beyond:
        expectEqual(sink.bytes[index], frame)
        expectEqual(sink.counts[index], 32)
      case .part:
        expectEqual(
          sink.bytes[index], Array(repeating: 255, count: 10) + Array(repeating: 0, count: 22))
        expectEqual(sink.counts[index], 10)
      default:
        expectEqual(sink.bytes[index], [])
        expectEqual(sink.counts[index], 0)
      }
    }
  }

  @Test func anEncodedFrameMayHaveAnyLengthButNone() throws {
    let sink = ByteSink()
    _ = try run(PartSource([.part, .none, .silent, .beyond, .whole], .mjpeg), [sink])
    expectEqual(sink.counts, [10, 0, 0, 40, 32])
    expectEqual(sink.fates, [.delivered, .corrupt, .corrupt, .delivered, .delivered])
  }

  /// If a source declares less memory than a frame needs, each of its frames is corrupt.
  @Test func memoryThatIsTooSmallIsNeverReadBeyondItsEnd() throws {
    let sink = ByteSink()
    _ = try run(PartSource([.part, .none], capacity: 10), [sink])
    expectEqual(sink.fates, [.corrupt, .corrupt])
    expectEqual(sink.bytes, [[], []])
  }

  @Test func aFrameOfTheStartThatIsNotWholeIsCorrupt() throws {
    let sink = RecordingSink()
    _ = try run(PartSource([.part, .whole], isStartup: true), [sink])
    expectEqual(sink.lines.map(\.fate), [.corrupt, .startup])
  }
}
