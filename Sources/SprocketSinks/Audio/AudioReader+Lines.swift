internal import SprocketCore

extension AudioReader {
  /// The clock's line for a run; `nil` if it may still be placed, and more should be fetched.
  ///
  /// A block's own record may say that its segment is not placed. Then the first line of a later block of
  /// the segment holds, not the tap's newest, so that a replay gives the same. A segment that ended
  /// before it was placed has the tap's last word (``AudioClock/settle()``); without one it is placed by
  /// its neighbours, whose lines count missing samples, too; without these by when its blocks were read.
  func line(ofRun index: Int) -> AudioLine? {
    let run = runs[index]
    if run.line.isPlaced { return run.line }
    let segment = run.line.segment
    var isOver = hasEnded || isFull
    var after: AudioLine?
    for later in index + 1..<max(index + 1, runCount) {
      let line = runs[later].line
      if line.segment != segment { isOver = true }
      guard line.isPlaced else { continue }
      if line.segment == segment { return line }
      after = after ?? line
    }
    guard isOver else { return nil }
    if let line = tap.line(ofSegment: segment), line.isPlaced { return line }
    var before = lastLine
    for earlier in 0..<index where runs[earlier].line.isPlaced { before = runs[earlier].line }
    if let line = before ?? after { return placed(run, by: line) }
    guard hasEnded || isFull else { return nil }
    var line = run.line
    (line.sample, line.time, line.isPlaced) = (run.first &+ UInt64(run.count), run.read, true)
    return line
  }

  /// When the last sample ended that was fetched; `nil` if it is consumed, or its time may still be known
  /// better.
  var knownEnd: Int64? {
    guard runCount > 0, let line = line(ofRun: runCount - 1) else { return nil }
    return line.time(of: runs[runCount - 1].first &+ UInt64(runs[runCount - 1].count))
  }

  private func placed(_ run: AudioRun, by neighbour: AudioLine) -> AudioLine {
    var line = neighbour
    (line.segment, line.first) = (run.line.segment, run.line.first)
    return line
  }
}
