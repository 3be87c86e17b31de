/// Figures of a run in Prometheus' text format, version 0.0.4. Names only grow in number.
struct RunMetrics {
  private(set) var text = ""

  init(_ status: StatusDocument) {
    add(
      "frames_total", "Frames that the source produced.", "counter", [([], Double(status.produced))]
    )
    add("up_seconds", "Time since the run's start.", "gauge", [([], status.elapsed)])
    add(
      "lost_frames_total", "Frames that source and chain lost, by fate.", "counter",
      status.lost.sorted { $0.key < $1.key }.map { ([("fate", $0.key)], Double($0.value)) })
    add(
      "sink_frames_total", "Frames of each sink, by fate.", "counter",
      status.sinks.sorted { $0.key < $1.key }.flatMap { sink, counts in
        counts.sorted { $0.key < $1.key }.map {
          ([("sink", sink), ("fate", $0.key)], Double($0.value))
        }
      })
    add(
      "ring_positions", "Positions of the ring, by what they are.", "gauge",
      [
        ([("state", "used")], Double(status.ring.used)),
        ([("state", "free")], Double(status.ring.free)),
      ])
    let steps = status.lanes.flatMap(\.steps)
    add(
      "step_seconds_total", "Time in each step of the chain, over all threads.", "counter",
      steps.map { ([("step", $0.name)], $0.work) })
    add(
      "step_frames_total", "Frames in each step of the chain.", "counter",
      steps.map { ([("step", $0.name)], Double($0.frames)) })
    add(
      "control", "Values of the source's controls.", "gauge",
      (status.controls ?? [:]).sorted { $0.key < $1.key }.map { ([("name", $0.key)], $0.value) })
    add(
      "recordings", "Recordings under way.", "gauge", [([], Double(status.recording.count))])
  }

  private mutating func add(
    _ name: String, _ help: String, _ type: String,
    _ samples: [(labels: [(String, String)], value: Double)]
  ) {
    // One name may come several times: two steps of a name are summed.
    var sums: [(labels: String, value: Double)] = []
    for sample in samples {
      let labels = sample.labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
      if let place = sums.firstIndex(where: { $0.labels == labels }) {
        sums[place].value += sample.value
      } else {
        sums.append((labels, sample.value))
      }
    }
    guard !sums.isEmpty else { return }
    text += "# HELP sprocket_\(name) \(help)\n# TYPE sprocket_\(name) \(type)\n"
    for sum in sums {
      text += "sprocket_\(name)\(sum.labels.isEmpty ? "" : "{\(sum.labels)}") \(sum.value)\n"
    }
  }

  private static func escaped(_ text: String) -> String {
    text.map { $0 == "\\" ? "\\\\" : $0 == "\"" ? "\\\"" : $0.isNewline ? "\\n" : String($0) }
      .joined()
  }
}
