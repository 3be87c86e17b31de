internal import SprocketCore

// What a camera counted, and what the user should know at the end.

extension CameraSource {
  public var counts: [(name: String, value: UInt64)] {
    [
      ("borrowed", borrowed), ("copied", copied), ("read_errors", readErrors),
      ("refused_controls", controls.refusedWrites), ("repeated_sequences", sequence.repeated),
      ("replaced_timestamps", clock.repaired), ("jitter_us", UInt64(clock.jitter / 1000)),
      ("interval_us", UInt64(max(0, clock.interval) / 1000)),
      ("frames_without_signal", signal.frames),
      ("undecodable", packets?.undecodable ?? 0), ("restarts", restarts),
      ("source_changes", sourceChanges), ("unplugs", unplugs),
      ("unplugged_ms", UInt64(away / 1_000_000)),
    ] + damage.counts
  }

  public var notes: [String] {
    firstNotes
      + [
        clock.note(title), signal.note(title), absenceNote, restartNote, sourceNote, silenceNote,
        rateNote,
      ].compactMap { $0 }
  }

  func often(_ count: UInt64) -> String { count == 1 ? "once" : "\(count) times" }

  private var restartNote: String? {
    guard restarts > 0 else { return nil }
    return "\(title) stalled or refused to stream, and was started again \(often(restarts))"
  }

  private var sourceNote: String? {
    guard sourceChanges > 0 else { return nil }
    return
      "the resolution at the input of \(title) changed \(often(sourceChanges)); an epoch began each time"
  }
}
