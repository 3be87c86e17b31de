import SprocketCore
internal import SprocketFiles

/// The lines that a movie has of its frames, the same as `--reports` writes: of each picture its own, behind
/// those of frames that were lost since the picture before.
///
/// Grows to the longest that there were, and allocates nothing from then on.
struct MovieReports: ~Copyable {
  private var line = ReportLine()
  private var text = TextBuffer()

  mutating func describe(_ setup: SinkSetup) { line = ReportLine(setup) }

  var isEmpty: Bool { text.used == 0 }

  mutating func add(_ frame: borrowing PackedFrame) throws(RunError) {
    try Self.put(frame, line, into: &text)
  }

  mutating func add(_ lost: LostFrame) throws(RunError) {
    try text.append(lost.sequence, lost.epoch, lost.fate, nil, line)
    try text.appendEvents(of: lost, line)
    try text.append("}\n")
  }

  mutating func add(_ lost: LostFrame, _ frame: borrowing FrameView) throws(RunError) {
    try text.append(lost.sequence, lost.epoch, lost.fate, frame.record, line)
    try text.append(frame, line)
    try text.append("}\n")
  }

  /// Adds lines that `keep` made.
  mutating func add(lines: Span<UInt8>) { text.append(lines) }

  private static func put(
    _ frame: borrowing PackedFrame, _ line: borrowing ReportLine, into text: inout TextBuffer
  ) throws(RunError) {
    let record = frame.record
    try text.append(record.sequence, record.epoch, .delivered, record, line)
    try text.append(frame.view, line)
    try text.append("}\n")
  }

  mutating func removeAll() { text.removeAll() }

  /// Passes on all lines, which are then forgotten.
  mutating func take<Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    defer { text.removeAll() }
    try text.withBytes(body)
  }

  /// Stores a frame's bytes, its line, and the count of its bytes, for `parts(of:)`, in `kept`.
  func keep(
    _ frame: borrowing PackedFrame, _ bytes: Span<UInt8>, in kept: inout TextBuffer
  ) throws(RunError) {
    kept.removeAll()
    kept.append(bytes)
    try Self.put(frame, line, into: &kept)
    for byte in 0..<4 {
      try kept.append(UInt8(truncatingIfNeeded: bytes.count >> (8 * byte)))
    }
  }

  /// Which bytes of what `keep` passed on are the frame's, and which its line.
  static func parts(of kept: Span<UInt8>) -> (frame: Range<Int>, lines: Range<Int>) {
    let end = kept.count - 4
    let count = (0..<4).reduce(0) { $0 | Int(kept[end + $1]) << (8 * $1) }
    return (0..<count, count..<end)
  }
}
