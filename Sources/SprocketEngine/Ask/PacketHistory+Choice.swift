internal import SprocketCore

// A frame that is chosen by its time.
extension PacketHistory {
  enum Chosen: Hashable {
    /// Index of a kept frame's entry.
    case kept(Int)
    /// The frame that has just come, and is not kept yet.
    case newcomer
  }

  private struct Candidate {
    let chosen: Chosen
    /// Nanoseconds from the time that was asked for.
    let gap: Int64
  }

  /// Chooses the frame of a time by a rule. `newcomer` is when the frame was captured that has just come;
  /// `nil` if no more comes. Returns `nil` if the right frame is not kept any more, or never was: then no
  /// other one is given in its place. Costs a look at each kept frame.
  func choose(
    _ rule: FrameChoice.Rule, at time: Timestamp, newcomer: Timestamp?
  ) -> Chosen? {
    var before: Candidate?
    var after: Candidate?
    func look(_ captured: Timestamp, _ chosen: Chosen) {
      guard let gap = captured.nanoseconds(since: time) else { return }
      if gap <= 0, gap >= before?.gap ?? .min { before = Candidate(chosen: chosen, gap: gap) }
      if gap >= 0, gap < after?.gap ?? .max { after = Candidate(chosen: chosen, gap: gap) }
    }
    for index in first..<entries.count where entries[index].fate == nil {
      look(entries[index].record.captured, .kept(index))
    }
    if let newcomer { look(newcomer, .newcomer) }
    switch rule {
    case .atOrBefore: return before?.chosen
    case .atOrAfter:
      // The first frame after the time may be one that is not kept any more.
      return hasDropped(from: time) ? nil : after?.chosen
    case .nearest:
      guard let before else { return nil }
      guard let after, after.gap.magnitude < before.gap.magnitude else { return before.chosen }
      return after.chosen
    }
  }

  /// Returns when the first kept frame from `number` on was captured.
  func captured(from number: UInt64) -> Timestamp? {
    entries[first...].first { $0.fate == nil && $0.record.number >= number }?.record.captured
  }

  /// Returns when the first kept frame from `time` on was captured.
  func captured(from time: Timestamp) -> Timestamp? {
    entries[first...].first { $0.isKept(from: time) }?.record.captured
  }

  /// Whether a frame of that time or later is not kept any more.
  func hasDropped(from time: Timestamp) -> Bool {
    latestDropped?.nanoseconds(since: time).map { $0 >= 0 } ?? false
  }

  /// Nanoseconds from the oldest kept frame to `time`, or to the newest one; `nil` if none is kept.
  func reach(to time: Timestamp?) -> Int64? {
    guard let oldest = entries[first...].first(where: { $0.fate == nil }),
      let newest = entries.last(where: { $0.fate == nil })
    else { return nil }
    return (time ?? newest.record.captured).nanoseconds(since: oldest.record.captured)
  }
}
