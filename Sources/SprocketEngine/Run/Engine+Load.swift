internal import SprocketCore
internal import SprocketRing
internal import Synchronization

extension Engine {
  /// What lanes and sinks have to do: from any thread, at any time. Costs the run nothing.
  public var load: RunLoad {
    let (lanes, ring) = published.withLock { ($0.summary.lanes, $0.ring) }
    let level = ring.level
    return RunLoad(
      lanes: lanes.enumerated().map { index, lane in
        RunLoad.Lane(
          steps: lane.steps.map { shared.gauges.step($0) }, workers: lane.workers,
          behind: ring.behind(.lane(index)))
      },
      sinks: sinks.map { state in
        state.gauge.load(
          state.sink.name, behind: ring.behind(tap: RingPlan.TapIndex(state.index)))
      },
      ring: RunLoad.Ring(depth: level.depth, used: level.used, free: level.free),
      lost: progress.lost)
  }
}
