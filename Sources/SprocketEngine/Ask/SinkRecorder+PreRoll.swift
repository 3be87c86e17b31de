internal import SprocketCore

/// What is kept for a recording that begins before it was asked for.
///
/// Keeps of the contract of requests:
/// - A14: frames between recordings are kept, and get their fate once: `delivered` if a recording begins
///   with them, `unselected` when they are dropped. A recording never has frames from before the end of the
///   previous one. A new epoch begins with nothing kept.
extension SinkRecorder {
  /// Keeps a frame that no recording takes. False if the sink has no pre-roll, or cannot write such frames.
  func holds(_ frame: borrowing PackedFrame) -> Bool {
    guard let history, suspension == nil else { return false }
    let record = frame.record
    var dropped: UInt64 = 0
    recorder.withHeldBytes(of: frame) { bytes in dropped = history.add(record, bytes) }
    state.counts[.unselected] += dropped
    return true
  }

  /// Writes the kept frames that the recording under way begins with; earlier ones are dropped. `record` is
  /// the frame that comes next, if that is known.
  func writeHistory(before record: FrameRecord? = nil) {
    owesHistory = false
    guard let history, let job = jobs.first else { return }
    let asked = min(job.askedFrame ?? .max, job.record.begin ?? .max)
    let start = history.start(from: asked, captured: record?.captured)
    while let entry = history.oldest, !entry.isKept(from: start) { drop(history.removeOldest()) }
    guard let first = history.oldest else { return }
    job.record.begin = first.record.number
    let late = start.flatMap { first.record.captured.nanoseconds(since: $0) } ?? 0
    if history.wasShortened, late > history.duration / 10 {
      shared.note(
        "\(recorder.name): the pre-roll of recording \(job.record.id) was shorter than asked, for want of "
          + "memory; give it more (--pre-roll-memory)")
    }
    history.wasShortened = false
    // A recording that begins meanwhile, behind one that ended, goes on with the next entry.
    isWritingHistory = true
    while let entry = history.removeOldest() { take(entry, history) }
    isWritingHistory = false
  }

  /// Gives an entry to the recording under way.
  private func take(_ entry: PacketHistory.Entry, _ history: PacketHistory) {
    let number = entry.record.number
    if let fate = entry.fate {
      guard let job = jobs.first else { return }
      job.record.counts[fate] += 1
      let lost = LostFrame(
        number: number, sequence: entry.record.sequence, epoch: entry.record.epoch, fate: fate)
      do throws(RunError) { try recorder.account(lost) } catch { fail(error, at: number + 1) }
      return
    }
    guard isTaken(entry.record) else { return drop(entry) }
    do throws(RunError) {
      try history.withBytes(of: entry) { bytes throws(RunError) in
        try recorder.write(held: bytes, entry.record)
      }
      state.counts[.delivered] += 1
      shared.counters.delivered[state.index].add()
      noteWritten(entry.record)
    } catch {
      state.counts[.failed] += 1
      fail(error, at: number + 1, loses: 1)
    }
  }

  private func drop(_ entry: PacketHistory.Entry?) {
    if let entry, entry.fate == nil { state.counts[.unselected] += 1 }
  }

  /// What is kept will not be recorded.
  func dropHistory() {
    while let entry = history?.removeOldest() { drop(entry) }
  }
}
