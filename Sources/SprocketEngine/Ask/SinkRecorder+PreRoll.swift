internal import SprocketCore

/// Pre-roll: frames that are kept until a recording begins with them, or until they are too old.
///
/// Keeps of the contract of requests:
/// - A14: frames between recordings are kept, and get their fate once: `delivered` if a recording begins
///   with them, `unselected` when they are dropped. A recording never has frames from before the end of the
///   previous one. A new epoch begins with nothing kept.
extension SinkRecorder {
  /// Frames that belong to the recording under way are kept and not written yet.
  var isCatchingUp: Bool { isTaking && history?.oldest != nil }

  /// Nanoseconds that the thread spends on kept frames for each frame that arrives, until the recording has
  /// caught up; it writes two at least. Larger: kept frames are written sooner, and new frames wait longer.
  /// Chosen: less than a fifth of a frame's time at 60 frames/s.
  private static let stride: Int64 = 3_000_000

  /// Keeps a frame that no recording takes yet, and writes some earlier ones if a recording takes those.
  /// Returns false if the sink has no pre-roll, or cannot write frames of this format.
  func holds(_ frame: borrowing PackedFrame) -> Bool {
    if choices != nil { return keep(frame, isCounted: false) }
    guard let history, suspension == nil else { return false }
    let record = frame.record
    recorder.withHeldBytes(of: frame) { bytes in
      // Kept frames belong to the recording: it writes them to make room, and drops none.
      while isCatchingUp, !history.hasRoom(for: bytes.count) { writeKept(1) }
      if isTaking, !history.hasRoom(for: bytes.count), isTaken(record) {
        // The frame is larger than the whole memory. All frames before it are written, so it can be written
        // at once.
        return write(bytes, record)
      }
      state.counts[.unselected] += history.add(
        record, bytes, forgets: !isTaking, byKeys: state.dependence.isOn)
    }
    let end = monotonicNow() + Self.stride
    writeKept(2)
    while isCatchingUp, monotonicNow() < end { writeKept(1) }
    return true
  }

  /// Drops the kept frames that are older than the pre-roll of the recording under way. `record` is the
  /// frame that comes next, if that is known.
  func beginWithKept(before record: FrameRecord? = nil) {
    owesHistory = false
    guard let history, let job = jobs.first else { return }
    let asked = min(job.askedFrame ?? .max, job.record.begin ?? .max)
    let start = history.start(from: asked, captured: record?.captured)
    let key = state.dependence.isOn ? history.key(for: start) : nil
    while let entry = history.oldest,
      key.map({ entry.record.number < $0 }) ?? !entry.isKept(from: start)
    {
      dropOldest()
    }
    guard let first = history.oldest else { return }
    job.record.begin = first.record.number
    let late = start.flatMap { first.record.captured.nanoseconds(since: $0) } ?? 0
    if history.wasShortened, late > history.duration / 10 {
      shared.note(
        "\(recorder.name): the pre-roll of recording \(job.record.id) was shorter than asked, for want of "
          + "memory; give the pre-roll more")
    }
    history.wasShortened = false
  }

  /// Writes kept frames, the oldest first, while a recording takes them.
  func writeKept(_ most: Int = .max) {
    var left = most
    while left > 0, isTaking, let history {
      if owesHistory { beginWithKept() }
      guard let entry = history.oldest else { return }
      if entry.fate == nil {
        // If a limit ends the recording, the frames that are left are for the next one, which may begin
        // now.
        guard isTaken(entry.record) else { return }
        if owesHistory { continue }
      }
      _ = history.removeOldest()
      take(entry, history)
      left -= 1
    }
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
    history.withBytes(of: entry) { write($0, entry.record) }
  }

  private func write(_ bytes: Span<UInt8>, _ record: FrameRecord) {
    guard state.dependence.admits(record) else {
      state.counts[.unselected] += 1
      jobs.first?.record.counts[.unselected] += 1
      return
    }
    do throws(RunError) {
      try recorder.write(held: bytes, record)
      state.counts[.delivered] += 1
      state.delivered.add()
      noteWritten(record)
    } catch {
      state.counts[.failed] += 1
      fail(error, at: record.number + 1, loses: 1)
    }
  }

  private func dropOldest() { state.counts[.unselected] += history?.dropOldest() ?? 0 }

  /// Drops all kept frames.
  func dropHistory() {
    while history?.oldest != nil { dropOldest() }
    while let choices, choices.oldest != nil { state.counts[.unselected] += choices.dropOldest() }
  }
}
