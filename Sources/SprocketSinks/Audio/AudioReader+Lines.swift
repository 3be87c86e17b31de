internal import SprocketCore

extension AudioReader {
  /// The clock's line for a run; `nil` if it may still be placed, and more should be fetched.
  ///
  /// A block's own record may say that its segment is not placed. Then the first line of a later block of the
  /// segment holds, not the tap's newest, so that a replay gives the same. A segment that ended before it was
  /// placed has the tap's last word (``AudioClock/settle()``); without one it is placed by its neighbours, whose
  /// lines count missing samples, too; without these by when its blocks were read.
  func line(ofRun index: Int) -> AudioLine? {
    let run = runs[index]
    if run.line.isPlaced { return run.line }
    let segment = run.line.segment
    for later in runs[index...] where later.line.segment == segment && later.line.isPlaced {
      return later.line
    }
    let next = runs[index...].first { $0.line.segment != segment }
    guard next != nil || hasEnded || isFull else { return nil }
    if let line = tap.line(ofSegment: segment), line.isPlaced { return line }
    if let before = runs[..<index].last(where: { $0.line.isPlaced })?.line ?? lastLine {
      return placed(run, by: before)
    }
    if let after = runs[index...].first(where: { $0.line.isPlaced })?.line {
      return placed(run, by: after)
    }
    guard hasEnded || isFull else { return nil }
    var line = run.line
    (line.sample, line.time, line.isPlaced) = (run.first + UInt64(run.count), run.read, true)
    return line
  }

  private func placed(_ run: AudioRun, by neighbour: AudioLine) -> AudioLine {
    var line = neighbour
    (line.segment, line.first) = (run.line.segment, run.line.first)
    return line
  }
}
