internal import SprocketCore

/// What is measured per stage, over all epochs.
struct StageTimers {
  struct Line {
    var name: String
    var histogram = DurationHistogram()
    var processor = CPUSample()
    var late: UInt64 = 0
    var rejected: UInt64 = 0

    var summary: DurationSummary {
      var summary = histogram.summary
      summary.cpu = processor.microseconds
      return summary
    }

    /// `nil` where nothing was measured.
    var presentSummary: DurationSummary? {
      let summary = summary
      return summary.count == 0 ? nil : summary
    }

    mutating func add(_ worker: LaneWorker, step: Int) {
      histogram.add(worker.meter.timers[step])
      processor.add(worker.meter.processor[step])
    }
  }
  private(set) var stages: [Line] = []
  var unpack = Line(name: "unpack")
  var pack = Line(name: "pack")

  init(stages: [ChainStage]) { add(stages) }

  /// Adds a line for each stage that has none: a stage of the same name may have run before.
  mutating func add(_ new: [ChainStage]) {
    for stage in new where !stages.contains(where: { $0.name == stage.name }) {
      stages.append(Line(name: stage.name))
    }
  }

  mutating func add(_ threads: EpochThreads, _ epoch: Epoch) {
    for (lane, worker) in threads.workers {
      for (index, step) in epoch.plan.lanes[lane].steps.enumerated() {
        switch step {
        case .stage(let stage):
          let name = epoch.stages[stage].name
          guard let line = stages.firstIndex(where: { $0.name == name }) else { continue }
          stages[line].add(worker, step: index)
          stages[line].late += worker.late[index]
          stages[line].rejected += worker.rejected[index]
        case .unpack, .unpackAsked: unpack.add(worker, step: index)
        case .pack, .packSource: pack.add(worker, step: index)
        case .select: break
        }
      }
    }
  }
}
