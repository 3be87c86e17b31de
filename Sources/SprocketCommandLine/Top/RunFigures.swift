/// What a run did between two answers to `status`: rates and means.
struct RunFigures: Encodable {
  /// Work per frame, the mean over the interval; `nil` if there was no frame.
  struct Step: Encodable {
    let name: String
    let work, cpu: Double?
    /// Share of the time of all workers of the lane, 0 to 1.
    let busy: Double
    let frames, late, rejected, corrupt: UInt64

    enum CodingKeys: String, CodingKey {
      case name, busy, frames, late, rejected, corrupt
      case work = "work_ms"
      case cpu = "cpu_ms"
    }
  }

  struct Lane: Encodable {
    let workers: Int
    let work, wait: Double?
    let busy: Double
    let behind, frames: UInt64
    let steps: [Step]

    enum CodingKeys: String, CodingKey {
      case workers, busy, behind, frames, steps
      case work = "work_ms"
      case wait = "wait_ms"
    }
  }

  struct Sink: Encodable {
    let name: String
    let work, wait: Double?
    let busy: Double
    let behind: UInt64
    /// Since the run's start, by fate.
    let frames: [String: UInt64]

    enum CodingKeys: String, CodingKey {
      case name, busy, behind, frames
      case work = "work_ms"
      case wait = "wait_ms"
    }
  }

  let socket: String
  let program: String
  let name: String?
  let pid: Int32
  let source, format: String
  let width, height: Int
  let live: Bool
  let elapsed: Double
  /// Time between the two answers.
  let interval: Double
  let rate: Double
  let produced: UInt64
  let lost: [String: UInt64]
  let ring: StatusDocument.Ring
  let lanes: [Lane]
  let sinks: [Sink]
  let recording: [RecordingDocument]
  let sound: [SoundState]?

  enum CodingKeys: String, CodingKey {
    case socket, program, name, pid, source, format, width, height, live, produced, lost, ring,
      lanes
    case sinks, recording, sound
    case elapsed = "elapsed_s"
    case interval = "interval_s"
    case rate = "frames_per_s"
  }

  /// `first` is an earlier answer of the same run; without one the interval begins with the run.
  init(socket: String, from first: StatusDocument?, to last: StatusDocument) {
    let first = first.flatMap { $0.pid == last.pid && $0.elapsed < last.elapsed ? $0 : nil }
    self.socket = socket
    program = last.program
    name = last.name
    pid = last.pid
    source = last.source
    format = last.format
    width = last.width
    height = last.height
    live = last.live
    elapsed = last.elapsed
    let interval = last.elapsed - (first?.elapsed ?? 0)
    self.interval = interval
    let came = growth(from: first?.produced, to: last.produced)
    rate = interval > 0 ? Double(came) / interval : 0
    produced = last.produced
    lost = last.lost
    ring = last.ring
    let earlier = first?.lanes.flatMap(\.steps) ?? []
    lanes = last.lanes.map { Lane($0, earlier, interval) }
    sinks = last.sinkLoads.map { sink in
      Sink(
        sink, first?.sinkLoads.first { $0.name == sink.name }, interval,
        frames: last.sinks[sink.name] ?? [:])
    }
    recording = last.recording
    sound = last.sound
  }
}

extension RunFigures.Step {
  fileprivate init(_ step: StatusDocument.Step, _ before: StatusDocument.Step?, share: Double) {
    name = step.name
    work = mean(step.work - (before?.work ?? 0), growth(from: before?.frames, to: step.frames))
    cpu = mean(step.cpu - (before?.cpu ?? 0), growth(from: before?.cpuFrames, to: step.cpuFrames))
    busy = max(0, step.work - (before?.work ?? 0)) * share
    frames = step.frames
    late = step.late
    rejected = step.rejected
    corrupt = step.corrupt
  }
}

extension RunFigures.Lane {
  /// `earlier` are the steps of the earlier answer. A step has its name in any lane, so that its rate is
  /// right also when lanes have changed.
  fileprivate init(
    _ lane: StatusDocument.Lane, _ earlier: [StatusDocument.Step], _ interval: Double
  ) {
    workers = lane.workers
    behind = lane.behind
    let share = interval > 0 ? 1 / (interval * Double(max(1, lane.workers))) : 0
    steps = lane.steps.map { step in
      .init(step, earlier.first { $0.name == step.name }, share: share)
    }
    busy = steps.reduce(0) { $0 + $1.busy }
    let first = lane.steps.first
    let before = earlier.first { $0.name == first?.name }
    let count = growth(from: before?.frames, to: first?.frames ?? 0)
    frames = first?.frames ?? 0
    wait = mean((first?.wait ?? 0) - (before?.wait ?? 0), count)
    work = mean(share > 0 ? busy / share : 0, count)
  }
}

extension RunFigures.Sink {
  fileprivate init(
    _ sink: StatusDocument.SinkLoad, _ before: StatusDocument.SinkLoad?, _ interval: Double,
    frames: [String: UInt64]
  ) {
    let count = growth(from: before?.frames, to: sink.frames)
    let worked = max(0, sink.work - (before?.work ?? 0))
    name = sink.name
    work = mean(worked, count)
    wait = mean(sink.wait - (before?.wait ?? 0), count)
    busy = interval > 0 ? worked / interval : 0
    behind = sink.behind
    self.frames = frames
  }
}

/// Milliseconds per frame; `nil` without frames.
private func mean(_ seconds: Double, _ frames: UInt64) -> Double? {
  frames > 0 ? max(0, seconds) * 1000 / Double(frames) : nil
}

/// A count may shrink, for example when frames of a sink that failed are no longer `delivered`.
private func growth(from first: UInt64?, to last: UInt64) -> UInt64 {
  let first = first ?? 0
  return last > first ? last - first : 0
}
