import Glibc
import SprocketCore
import SprocketEngine
import Synchronization

/// A source of frames without an end, 1 ms apart.
func endless(_ width: Int = 8, isLive: Bool = true, lends: Bool = false) -> ScriptedSource {
  ScriptedSource(
    [.frame(sequence: 0), .pause(nanoseconds: 1_000_000)], width: width, isLive: isLive,
    lends: lends, repeats: true)
}

/// A change of a run, which `body` fills in.
func change(_ body: (inout Reconfiguration) -> Void) -> Reconfiguration {
  var change = Reconfiguration()
  body(&change)
  return change
}

/// Waits until the source has delivered `count` more frames, for 10 s at most.
func frames(_ source: ScriptedSource, _ count: UInt64) {
  let end = source.served.load(ordering: .relaxed) + count
  for _ in 0..<10_000 where source.served.load(ordering: .relaxed) < end { usleep(1000) }
}

/// Whether a recording has each frame from its first to its last, or tells that the machine was too busy for
/// it: a change takes none.
func isWithoutGap(_ numbers: [UInt64], _ record: RecordingRecord) -> Bool {
  guard let first = numbers.first, let last = numbers.last else { return false }
  let counts = record.counts
  return numbers == numbers.sorted() && UInt64(numbers.count) == counts[.delivered]
    && last - first + 1 == counts.sum
    && counts.sum == counts[.delivered] + counts[.overrun] + counts[.behind]
}
