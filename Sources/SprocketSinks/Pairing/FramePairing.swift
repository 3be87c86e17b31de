public import SprocketCore
internal import SprocketFiles
internal import Synchronization

/// Pairs the frames of several sources by the times at which they were captured: those of each further source
/// with those of the first.
///
///     let pairing = try FramePairing(["left", "right"], within: .milliseconds(5))
///     let left = try Engine(source: one, sinks: [pairing.sink(0)])
///     let right = try Engine(source: other, sinks: [pairing.sink(1)])
///
/// Pairs are of frames that came to the end of their chains. With `path` a line of JSON is written for each
/// pair and for each frame without a partner:
///
/// - `sources`: both names.
/// - `numbers`, `captured_ns`: of both frames, `null` where there is none.
/// - `offset_us`: time of the second less that of the first, microseconds; `null` without a partner.
///
/// Reads no pixels. Costs some 100 ns per frame, and a line 1 us.
///
/// Where no source is live, one that is ahead by many frames waits for the others.
///
/// Unchecked: what is paired is touched under `lock` alone, the file under `fileLock`. Neither can be the
/// lock's value, since they cannot be copied. `lock` is never held while the file is written.
public final class FramePairing: @unchecked Sendable {
  private struct Pairing {
    var matcher: PairMatcher
    var statistics: PairStatistics
    /// JSON of `sources`.
    var names: [UInt8]
  }

  private let lock = Locked<Void>(())
  private var pairings: [Pairing]
  /// Lines that are not in the file.
  private var lines = TextBuffer()
  /// The clock of the first source that was configured, and its name.
  private var clock: (Timestamp.Clock, String)?
  private let fileLock = Locked<Void>(())
  private var file: FileWriter?
  private var failure: RunError?
  private var moved = TextBuffer()
  /// Sinks that have not finished.
  private var open: Int
  let hasFile: Bool
  private let sources: [String]

  /// `sources` are two or more names. `tolerance` is above 0; a larger one pairs frames that are farther
  /// apart. Throws for other values, and where the file cannot be made; one that exists is refused unless
  /// `overwrite` is set.
  public init(
    _ sources: [String], within tolerance: Duration, path: String? = nil, overwrite: Bool = false
  ) throws(RunError) {
    guard sources.count >= 2, tolerance > .zero else {
      throw RunError(
        .usage, "frames are paired of two sources or more, within a time above 0, such as 5ms")
    }
    let nanoseconds = tolerance.nanosecondCount
    pairings = sources.dropFirst().map { other in
      let names = [sources[0], other]
      let text = names.map { String(decoding: jsonString($0), as: UTF8.self) }
      return Pairing(
        matcher: PairMatcher(tolerance: nanoseconds),
        statistics: PairStatistics(names, tolerance: nanoseconds),
        names: Array(#"{"sources":[\#(text.joined(separator: ","))],"numbers":["#.utf8))
    }
    open = sources.count
    self.sources = sources
    hasFile = path != nil
    if let path { file = try FileWriter(path: path, purpose: "pairs", overwrite: overwrite) }
  }

  /// The sink of a source's engine; `index` is the source's place in the list, from 0.
  public func sink(_ index: Int) -> any Sink {
    contract(
      sources.indices.contains(index), "pairs source \(index) of \(sources.count); count from 0")
    return PairSink(self, index)
  }

  /// What was paired so far: the first source with each other one.
  public var statistics: [PairStatistics] { lock.withLock { _ in pairings.map(\.statistics) } }

  /// Frames of different clocks cannot be paired.
  func configure(_ clock: Timestamp.Clock, source: Int) throws(RunError) {
    let known = lock.withLock { _ in
      self.clock = self.clock ?? (clock, sources[source])
      return self.clock
    }
    guard let known, known.0 != clock else { return }
    throw RunError(
      .usage,
      "the times of \(known.1) and \(sources[source]) are on different clocks, \(known.0) and "
        + "\(clock): their frames cannot be paired; leave pairing out")
  }

  func add(_ number: UInt64, time: Int64, source: Int) throws(RunError) {
    lock.withLock { _ in
      let item = PairMatcher.Item(number: number, time: time)
      for (index, side) in places(of: source) {
        pairings[index].matcher.add(item, side: side)
        takeOutcomes(index)
      }
    }
    try writeLines()
  }

  /// The source gives no more frames. The last one completes the file.
  func end(source: Int) throws(RunError) {
    let isLast = lock.withLock { _ in
      for (index, side) in places(of: source) {
        pairings[index].matcher.end(side: side)
        takeOutcomes(index)
      }
      open -= 1
      return open == 0
    }
    try writeLines(completes: isLast)
  }

  /// Whether many frames of the source wait for others that are not over.
  func isAhead(source: Int) -> Bool {
    lock.withLock { _ in
      places(of: source).contains { pairings[$0].matcher.isAhead(side: $1) }
    }
  }

  private func places(of source: Int) -> [(pairing: Int, side: Int)] {
    source == 0 ? pairings.indices.map { ($0, 0) } : [(source - 1, 1)]
  }

  private func takeOutcomes(_ index: Int) {
    while let outcome = pairings[index].matcher.next() {
      switch outcome {
      case .pair(let first, let second):
        let offset = second.time - first.time
        pairings[index].statistics.addPair(nanoseconds: offset)
        append(index, first, second, offset: offset)
      case .alone(let side, let item):
        pairings[index].statistics.alone[side] += 1
        let miss = pairings[index].matcher.leastMiss
        if miss < .max { pairings[index].statistics.nearest = Double(miss) / 1000 }
        append(index, side == 0 ? item : nil, side == 1 ? item : nil, offset: nil)
      }
    }
  }

  // MARK: The file

  private func append(
    _ index: Int, _ first: PairMatcher.Item?, _ second: PairMatcher.Item?, offset: Int64?
  ) {
    guard hasFile else { return }
    // Memory takes all.
    do throws(RunError) {
      try lines.append(pairings[index].names)
      try append(
        first.map { Int64(clamping: $0.number) }, second.map { Int64(clamping: $0.number) })
      try lines.append("],\"captured_ns\":[")
      try append(first?.time, second?.time)
      try lines.append("],\"offset_us\":")
      if let offset {
        try lines.append(microsecondsFrom: offset)
      } else {
        try lines.append("null")
      }
      try lines.append("}\n")
    } catch {}
  }

  private func append(_ first: Int64?, _ second: Int64?) throws(RunError) {
    try append(first)
    try lines.append(",")
    try append(second)
  }

  private func append(_ number: Int64?) throws(RunError) {
    guard let number else {
      try lines.append("null")
      return
    }
    try lines.append(decimal: number)
  }

  /// Writes the lines that have gathered. After a failure each source gets the same error.
  private func writeLines(completes: Bool = false) throws(RunError) {
    guard hasFile else { return }
    try fileLock.withLock { _ throws(RunError) in
      if let failure { throw failure }
      lock.withLock { _ in swap(&lines, &moved) }
      defer { moved.removeAll() }
      do throws(RunError) {
        try moved.withBytes { (bytes) throws(RunError) in try file?.append(bytes) }
        try file?.flush()
        if completes { try file?.complete() }
      } catch {
        failure = error
        throw error
      }
    }
  }
}

/// Gives the times of a source's frames to a ``FramePairing``.
private final class PairSink: Sink {
  let name = "pair"
  private let pairing: FramePairing
  private let source: Int
  private var isLive = true
  private var hasFinished = false
  private let isInterrupted = Atomic<Bool>(false)

  /// Longest time that a source waits for the others, nanoseconds. Larger: a slower one is waited for; a
  /// source that hangs stops the others for so long.
  private static let patience: Int64 = 10_000_000_000
  /// Nanoseconds between two looks at the others. Larger: fewer wake-ups, more waiting.
  private static let tick: Int64 = 1_000_000

  init(_ pairing: FramePairing, _ source: Int) { (self.pairing, self.source) = (pairing, source) }

  func configure(_ setup: inout SinkSetup) throws(RunError) {
    isLive = setup.isLive
    try pairing.configure(setup.source.clock, source: source)
  }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    try pairing.add(record.number, time: record.captured.nanoseconds, source: source)
    guard !isLive else { return }
    let end = monotonicNow() + Self.patience
    while pairing.isAhead(source: source), !isInterrupted.load(ordering: .relaxed),
      monotonicNow() < end
    {
      sleep(until: monotonicNow() + Self.tick)
    }
  }

  func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  func finish() throws(RunError) {
    guard !hasFinished else { return }
    hasFinished = true
    try pairing.end(source: source)
  }

  /// A file is a result of its own.
  var lasts: Bool { pairing.hasFile }
}
