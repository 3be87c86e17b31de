public import SprocketCore
internal import SprocketFiles

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
/// Unchecked: all state is touched under the lock alone. It cannot be the lock's value, since a file cannot
/// be copied.
public final class FramePairing: @unchecked Sendable {
  private struct Pairing {
    var matcher: PairMatcher
    var statistics: PairStatistics
    /// JSON of `sources`.
    var names: [UInt8]
  }

  private let lock = Locked<Void>(())
  private var pairings: [Pairing]
  private var file: FileWriter?
  /// Sinks that have not finished.
  private var open: Int
  let hasFile: Bool
  private let sourceCount: Int

  /// `sources` are two or more names. `tolerance` is above 0; a larger one pairs frames that are farther
  /// apart. Throws where the file cannot be made; one that exists is refused unless `overwrite` is set.
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
    sourceCount = sources.count
    hasFile = path != nil
    if let path { file = try FileWriter(path: path, purpose: "pairs", overwrite: overwrite) }
  }

  /// The sink of a source's engine; `index` is the source's place in the list, from 0.
  public func sink(_ index: Int) -> any Sink {
    contract(
      0..<sourceCount ~= index, "pairs source \(index) of \(sourceCount); count from 0")
    return PairSink(self, index)
  }

  /// What was paired so far: the first source with each other one.
  public var statistics: [PairStatistics] { lock.withLock { _ in pairings.map(\.statistics) } }

  func add(_ number: UInt64, time: Int64, source: Int) throws(RunError) {
    try lock.withLock { _ throws(RunError) in
      let item = PairMatcher.Item(number: number, time: time)
      for index in pairings.indices where source == 0 || source == index + 1 {
        pairings[index].matcher.add(item, side: source == 0 ? 0 : 1)
        try takeOutcomes(index)
      }
      try file?.flush()
    }
  }

  /// The source gives no more frames. The last one completes the file.
  func end(source: Int) throws(RunError) {
    try lock.withLock { _ throws(RunError) in
      for index in pairings.indices where source == 0 || source == index + 1 {
        pairings[index].matcher.end(side: source == 0 ? 0 : 1)
        try takeOutcomes(index)
      }
      open -= 1
      if open == 0 { try file?.complete() }
    }
  }

  private func takeOutcomes(_ index: Int) throws(RunError) {
    while let outcome = pairings[index].matcher.next() {
      switch outcome {
      case .pair(let first, let second):
        let offset = second.time - first.time
        pairings[index].statistics.addPair(nanoseconds: offset)
        try write(index, first, second, offset: offset)
      case .alone(let side, let item):
        pairings[index].statistics.alone[side] += 1
        try write(index, side == 0 ? item : nil, side == 1 ? item : nil, offset: nil)
      }
    }
  }

  private func write(
    _ index: Int, _ first: PairMatcher.Item?, _ second: PairMatcher.Item?, offset: Int64?
  ) throws(RunError) {
    guard hasFile else { return }
    try file?.append(pairings[index].names)
    try append(first.map { Int64(clamping: $0.number) }, second.map { Int64(clamping: $0.number) })
    try file?.append("],\"captured_ns\":[")
    try append(first?.time, second?.time)
    try file?.append("],\"offset_us\":")
    if let offset {
      try file?.append(microsecondsFrom: offset)
    } else {
      try file?.append("null")
    }
    try file?.append("}\n")
  }

  private func append(_ first: Int64?, _ second: Int64?) throws(RunError) {
    try append(first)
    try file?.append(",")
    try append(second)
  }

  private func append(_ number: Int64?) throws(RunError) {
    guard let number else {
      try file?.append("null")
      return
    }
    try file?.append(decimal: number)
  }
}

/// Gives the times of a source's frames to a ``FramePairing``.
private final class PairSink: Sink {
  let name = "pair"
  private let pairing: FramePairing
  private let source: Int
  private var hasFinished = false

  init(_ pairing: FramePairing, _ source: Int) { (self.pairing, self.source) = (pairing, source) }

  func configure(_ setup: inout SinkSetup) throws(RunError) {}

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let record = frame.record
    try pairing.add(record.number, time: record.captured.nanoseconds, source: source)
  }

  func finish() throws(RunError) {
    guard !hasFinished else { return }
    hasFinished = true
    try pairing.end(source: source)
  }

  /// A file is a result of its own.
  var lasts: Bool { pairing.hasFile }
}
