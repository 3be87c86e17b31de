internal import Logging
internal import Sprocket

/// What a person is told on standard error: the plan, progress, the ledger.
struct Voice {
  let isQuiet: Bool
  let isVerbose: Bool
  /// Prints notes and lost frames only: for one file of a batch.
  let isBrief: Bool
  private let log: Logger

  /// Before each line: `front: `; empty in a run of one source.
  private let prefix: String

  init(isQuiet: Bool, isVerbose: Bool, isBrief: Bool = false, label: String? = nil) {
    self.isQuiet = isQuiet || isBrief
    self.isVerbose = isVerbose
    self.isBrief = isBrief
    let prefix = label.map { "\($0): " } ?? ""
    self.prefix = prefix
    var log = Logger(label: programName) { _ in LineHandler(prefix: prefix) }
    log.logLevel = isBrief ? .notice : isQuiet ? .error : isVerbose ? .debug : .info
    self.log = log
  }

  /// The same for the source with that label.
  func labelled(_ label: String?) -> Voice {
    Voice(isQuiet: isQuiet, isVerbose: isVerbose, isBrief: isBrief, label: label)
  }

  /// How lanes, ring and memory are laid out, as sums with a line per holder.
  func tell(plan: RunSummary) {
    let format = plan.source.format
    for sound in plan.audio {
      log.info("\(sound.source.line)")
      if let note = sound.source.note { log.warning("\(note)") }
    }
    guard plan.source.frameCount != 0 || plan.audio.isEmpty else { return }
    log.info(
      """
      \(plan.source.name): \(format.packets.map { "\($0.format.settingText), decoded to " } ?? "")\
      \(format.pixelFormat.settingText) \(format.width)x\(format.height)\
      \(format.rate.frames > 0 ? ", \(rateText(format.rate.framesPerSecond)) frames/s" : "")\
      \(plan.source.isLive ? ", live" : "")
      """)
    for (index, lane) in plan.lanes.enumerated() {
      log.debug(
        "lane \(index): \(lane.steps.joined(separator: ", ")); workers: \(lane.workers)")
    }
    let slots = plan.depth.reduce(0) { $0 + $1.frames }
    for line in plan.depth { log.debug("  \(padLeft("\(line.frames)", 4)) \(line.holder)") }
    log.debug("  \(padLeft("\(slots)", 4)) slots in all")
    var used = 0
    for line in plan.memory {
      log.debug(
        """
          \(padLeft(megabytes(line.bytesPerSlot * slots), 9)) MB \(line.what)\
        \(line.isReserve ? ", address space for the worst case" : "")
        """)
      if !line.isReserve { used += line.bytesPerSlot * slots }
    }
    log.debug("  \(padLeft(megabytes(used), 9)) MB in all, worst cases left out")
    if plan.lookahead > 0 { log.info("latency: \(plan.lookahead) frames of look-ahead") }
    for warning in plan.warnings { log.warning("\(warning)") }
  }

  func tellStopping() {
    log.info("stopping; once more to stop at once")
  }

  func tell(_ line: String) { log.info("\(line)") }

  func tell(notice: String) {
    log.warning("\(notice)")
  }

  /// On a terminal a line that changes, elsewhere one every five seconds.
  func wantsProgress(ticks: Int) -> Bool {
    !isQuiet && (Console.errors.isTerminal ? ticks % 5 == 0 : ticks % 100 == 0)
  }

  func tell(recording: RecordingRecord) {
    if let error = recording.error {
      log.warning("recording \(recording.id): \(error)")
    } else {
      log.info("\(recording.sentence)")
    }
  }

  func tell(refusal: RunError) { log.warning("\(refusal.told)") }

  /// The status line. `behind` is text at its end, such as the keys.
  /// A `limit` of 0 is that of a run without pictures. `silence`: seconds without a frame.
  func line(
    progress: Progress, limit: UInt64?, silence: Double? = nil, behind: String = ""
  ) -> String {
    let seconds = Double(progress.elapsed.nanosecondCount) / 1e9
    guard limit != 0 else { return prefix + "\(fixed(seconds, 1)) s" + behind }
    var line = "\(prefix)\(progress.produced)"
    if let limit { line += " of \(limit)" }
    line += " frames, \(fixed(seconds, 1)) s, "
    let rate = seconds > 0 ? Double(progress.produced) / seconds : 0
    line += "\(fixed(rate, 1)) frames/s"
    if let silence {
      line += ", no frame for \(fixed(silence, 0)) s"
    } else if let limit, rate > 0, limit > progress.produced {
      line += ", \(fixed(Double(limit - progress.produced) / rate, 0)) s left"
    }
    for fate in Fate.allCases where progress.lost[fate] > 0 {
      line += ", \(progress.lost[fate]) \(fate.name)"
    }
    return line + behind
  }

  /// The ledger, and what it took.
  func tell(end summary: RunSummary, digests: [String: String]) {
    for note in summary.notes { log.notice("\(note)") }
    if isBrief { tellLost(summary) }
    for line in summary.audio.flatMap(\.lines) { log.info("\(line)") }
    guard summary.source.frameCount != 0 || summary.audio.isEmpty else { return }
    let seconds = Double(summary.producing.nanosecondCount) / 1e9
    let rate = seconds > 0 ? Double(summary.ledger.produced) / seconds : 0
    log.info(
      """
      produced \(summary.ledger.produced) frames in \(fixed(seconds, 2)) s \
      (\(fixed(rate, 1)) frames/s)\(summary.epochs > 1 ? ", \(summary.epochs) epochs" : "")
      """)
    let fates = Fate.allCases.filter { fate in
      fate == .delivered || summary.ledger.entries.contains { $0.counts[fate] > 0 }
    }
    let names = fates.map { padLeft($0.name, 11) }.joined()
    let width = (summary.sinks + summary.detached).reduce(10) { max($0, $1.name.count + 1) }
    log.info("\(pad("sink", width))\(names)\(padLeft("p50 ms", 9))\(padLeft("p99 ms", 9))")
    for sink in summary.sinks + summary.detached {
      func milliseconds(_ microseconds: Double) -> String {
        sink.latency.count == 0 ? "-" : fixed(microseconds / 1000, 2)
      }
      let counts = fates.map { padLeft("\(sink.counts[$0])", 11) }.joined()
      log.info(
        """
        \(pad(sink.name, width))\(counts)\(padLeft(milliseconds(sink.latency.p50), 9))\
        \(padLeft(milliseconds(sink.latency.p99), 9))
        """)
    }
    for stage in summary.timedStages {
      log.debug(
        """
        \(pad(stage.name, 22))p50 \(fixed(stage.duration.p50, 1)) us, \
        p99 \(fixed(stage.duration.p99, 1)) us, CPU \(fixed(stage.duration.cpu, 1)) us
        """)
    }
    for (name, digest) in digests.sorted(by: { $0.key < $1.key }) {
      log.info("\(name) \(digest)")
    }
  }
}

extension Voice {
  /// Prints a line for each sink that lost frames, with their fates.
  private func tellLost(_ summary: RunSummary) {
    for sink in summary.sinks + summary.detached {
      let lost = Fate.allCases.filter {
        $0 != .delivered && $0 != .unselected && sink.counts[$0] > 0
      }
      guard !lost.isEmpty else { continue }
      let counts = lost.map { "\(sink.counts[$0]) \($0.name)" }.joined(separator: ", ")
      log.notice("\(sink.name): of \(summary.ledger.produced) frames \(counts)")
    }
  }
}

/// Log lines as plain lines on standard error.
private struct LineHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info
  let prefix: String

  init(prefix: String) { self.prefix = prefix }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let program = event.level >= .warning ? "\(programName): " : ""
    Console.errors.say("\(program)\(prefix)\(event.message)")
  }
}

extension RunSummary {
  /// Unpacking, the stages and packing, where there is something to tell.
  var timedStages: [RunSummary.Stage] {
    func line(_ name: String, _ duration: DurationSummary?) -> [RunSummary.Stage] {
      duration.map { [.init(name: name, duration: $0)] } ?? []
    }
    return line("unpack", unpack) + stages + line("pack", pack)
  }
}

/// A rate in frames per second, above 0: `29.97`, or `1/86400` where two decimals would say little.
func rateText(_ rate: Double) -> String {
  rate < 0.01 ? "1/\(fixed(1 / rate, 0))" : fixed(rate, 2)
}

/// `value` with so many decimals.
func fixed(_ value: Double, _ decimals: Int) -> String {
  let scale = (0..<decimals).reduce(1.0) { power, _ in power * 10 }
  let scaled = (abs(value) * scale).rounded()
  guard scaled < 1e15 else { return "\(value)" }
  let whole = Int64(scaled) / Int64(scale)
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard decimals > 0 else { return "\(sign)\(whole)" }
  let fraction = String(Int64(scaled) % Int64(scale))
  return "\(sign)\(whole)." + String(repeating: "0", count: decimals - fraction.count) + fraction
}

private func megabytes(_ bytes: Int) -> String { fixed(Double(bytes) / 1_048_576, 2) }
