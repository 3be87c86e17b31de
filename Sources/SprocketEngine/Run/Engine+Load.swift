internal import SprocketCore
internal import SprocketRing
internal import Synchronization

extension Engine {
  /// What lanes and sinks have to do: from any thread, at any time. Costs the run nothing.
  public var load: RunLoad {
    let current = current
    let (lanes, epoch) = (current.summary.lanes, current.epoch)
    let ring = epoch.ring
    let level = ring.level
    return RunLoad(
      lanes: lanes.enumerated().map { index, lane in
        RunLoad.Lane(
          steps: lane.steps.map { shared.gauges.step($0) }, workers: lane.workers,
          behind: ring.behind(.lane(index)))
      },
      sinks: epoch.sinks.map { place in
        place.state.gauge.load(
          place.sink.name, behind: ring.behind(tap: RingPlan.TapIndex(place.index)))
      },
      ring: RunLoad.Ring(depth: level.depth, used: level.used, free: level.free),
      lost: progress.lost)
  }
}
