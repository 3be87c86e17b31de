import SprocketCore
import SprocketEngine
import Synchronization
import TestExpectations

/// A source of frames without an end. `apart`: nanoseconds from one to the next.
func endless(
  _ width: Int = 8, isLive: Bool = true, lends: Bool = false, apart: Int64 = 1_000_000
) -> ScriptedSource {
  ScriptedSource(
    [.frame(sequence: 0), .pause(nanoseconds: apart)], width: width, isLive: isLive,
    lends: lends, repeats: true)
}

/// A change of a run, which `body` fills in.
func change(_ body: (inout Reconfiguration) -> Void) -> Reconfiguration {
  var change = Reconfiguration()
  body(&change)
  return change
}

/// Waits until the source has delivered `count` more frames.
func frames(_ source: ScriptedSource, _ count: UInt64) {
  let end = source.served.load(ordering: .relaxed) + count
  _ = waitUntil { source.served.load(ordering: .relaxed) >= end }
}
