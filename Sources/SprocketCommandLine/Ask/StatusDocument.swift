internal import Glibc
internal import Sprocket

/// State of a run in JSON, as `status` answers and `top` reads it (docs/on-demand.md).
struct StatusDocument: Codable {
  struct Step: Codable {
    let name: String
    let work, wait, cpu: Double
    let frames, cpuFrames, late, rejected, corrupt: UInt64

    enum CodingKeys: String, CodingKey {
      case name, frames, late, rejected, corrupt
      case work = "work_s"
      case wait = "wait_s"
      case cpu = "cpu_s"
      case cpuFrames = "cpu_frames"
    }
  }

  struct Lane: Codable {
    let workers: Int
    let behind: UInt64
    let steps: [Step]
  }

  struct SinkLoad: Codable {
    let name: String
    let work, wait: Double
    let frames, behind: UInt64
    /// What the sink counted beside frames; `nil` where it counts nothing else.
    let counts: [String: UInt64]?

    enum CodingKeys: String, CodingKey {
      case name, frames, behind, counts
      case work = "work_s"
      case wait = "wait_s"
    }
  }

  struct Ring: Codable {
    let depth, used, free: Int
  }

  let `protocol`: Int
  let version, program: String
  /// Name of the socket's file without its ending; `nil` without a socket.
  let name: String?
  let pid: Int32
  let source, format: String
  let width, height, epochs: Int
  let live: Bool
  let elapsed, rate: Double
  let produced: UInt64
  /// What source and chain lost, by fate.
  let lost: [String: UInt64]
  let ring: Ring
  let lanes: [Lane]
  let sinks: [String: [String: UInt64]]
  let sinkLoads: [SinkLoad]
  let recording: [RecordingDocument]
  /// `nil` in a run without sound.
  let sound: [SoundState]?
  /// Values of the source's controls; `nil` if it has none.
  let controls: [String: Double]?
  let errors, notes: [String]

  enum CodingKeys: String, CodingKey {
    case `protocol`, version, program, name, pid, source, format, width, height, epochs, live
    case produced, lost, ring, lanes, sinks, recording, sound, controls, errors, notes
    case elapsed = "elapsed_s"
    case rate = "frames_per_s"
    case sinkLoads = "sink_loads"
  }

  /// `socket` is the path of the socket on which the run was asked.
  init(_ engine: Engine, socket: String?) {
    let load = engine.load
    // Read after the load, so that rates are not too high: it has the time.
    let summary = engine.summary
    `protocol` = RequestAnswerer.version
    version = sprocketVersion
    program = programName
    name = socket.map(Self.name)
    pid = getpid()
    source = summary.source.name
    format = summary.source.format.pixelFormat.settingText
    width = summary.source.format.width
    height = summary.source.format.height
    epochs = summary.epochs
    live = summary.source.isLive
    elapsed = Double(summary.elapsed.nanosecondCount) / 1e9
    produced = summary.ledger.produced
    rate = elapsed > 0 ? Double(produced) / elapsed : 0
    lost = load.lost.byName()
    ring = Ring(depth: load.ring.depth, used: load.ring.used, free: load.ring.free)
    lanes = load.lanes.map { lane in
      Lane(workers: lane.workers, behind: lane.behind, steps: lane.steps.map { Step($0) })
    }
    sinks = Dictionary(summary.sinks.map { ($0.name, $0.counts.byName(always: .delivered)) }) { $1 }
    let counts = Dictionary(summary.sinks.map { ($0.name, $0.others.byName) }) { $1 }
    sinkLoads = load.sinks.map { sink in
      SinkLoad(
        name: sink.name, work: sink.work.inSeconds, wait: sink.wait.inSeconds, frames: sink.frames,
        behind: sink.behind, counts: counts[sink.name].flatMap { $0.isEmpty ? nil : $0 })
    }
    recording = engine.recordingRecords.filter { $0.reason == nil }.map { RecordingDocument($0) }
    sound = engine.audio.isEmpty ? nil : engine.audio.map { SoundState($0.summary) }
    controls = summary.source.controls.map { port in
      let values = port.controls.indices.map { ($0, port.value(of: UInt16($0))) }
      return Dictionary(
        values.compactMap { index, value in value.map { (port.controls[index].name, $0) } }
      ) { first, _ in first }
    }
    errors = summary.errors.map(\.told)
    notes = summary.notes
  }

  /// The file's name without its ending: `front-door` of `/run/cameras/front-door.socket`.
  private static func name(ofSocket path: String) -> String {
    let file = path.split(separator: "/").last ?? ""
    guard let point = file.lastIndex(of: "."), point > file.startIndex else { return String(file) }
    return String(file[..<point])
  }
}

extension StatusDocument.Step {
  fileprivate init(_ step: RunLoad.Step) {
    name = step.name
    work = step.work.inSeconds
    wait = step.wait.inSeconds
    cpu = step.cpu.inSeconds
    frames = step.frames
    cpuFrames = step.cpuFrames
    late = step.late
    rejected = step.rejected
    corrupt = step.corrupt
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(nanosecondCount) / 1e9 }
}
