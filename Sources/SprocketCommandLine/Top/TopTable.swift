internal import Sprocket

/// The figures of a run as lines of text.
struct TopTable {
  /// Width of the names' column in characters. Larger: longer names are shown in full, and less of other
  /// columns on a narrow terminal.
  private static let nameWidth = 30

  /// Fates that are no loss: the sink or a stage did not want these frames.
  private static let wanted: Set<String> = Set(
    [Fate.delivered, .startup, .rejected, .skipped, .unselected].map(\.name))

  static func lines(_ run: RunFigures) -> [String] {
    let columns = row("LANE", ["WORK", "WAIT", "BUSY", "BEHIND", "FRAMES", "LOST"])
    var lines = [head(run), columns]
    for lane in run.lanes { lines += Self.lines(lane) }
    for sink in run.sinks { lines.append(line(sink)) }
    for sound in run.sound ?? [] { lines.append(line(sound)) }
    return lines
  }

  /// For a run without an answer.
  static func line(socket: String, pid: Int32?, problem: String) -> String {
    "PID \(pid.map { "\($0)" } ?? "-")  \(socket)  \(problem)"
  }

  private static func head(_ run: RunFigures) -> String {
    var parts = ["PID \(run.pid)"]
    if let name = run.name { parts.append(name) }
    parts += [
      "\(run.source) \(run.width)x\(run.height) \(run.format)", "\(fixed(run.rate, 2))/s",
      "ring \(run.ring.used)/\(run.ring.depth), \(run.ring.free) free", lost(run.lost),
    ]
    parts += run.recording.map { file in
      let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
      return "recording \(name) \(clock(file.duration)) "
        + "\(fixed(Double(file.bytes) / 1_048_576, 1)) MB"
    }
    return parts.joined(separator: "  ")
  }

  private static func lost(_ counts: [String: UInt64]) -> String {
    let losses = Fate.allCases.map(\.name).filter {
      !wanted.contains($0) && counts[$0] ?? 0 > 0
    }
    let sum = losses.reduce(0) { $0 + (counts[$1] ?? 0) }
    let parts = losses.map { "\($0) \(grouped(counts[$0] ?? 0))" }.joined(separator: ", ")
    return "lost \(grouped(sum))" + (parts.isEmpty ? "" : " (\(parts))")
  }

  private static func lines(_ lane: RunFigures.Lane) -> [String] {
    let names = lane.steps.map(\.name).joined(separator: "+")
    let lost = lane.steps.reduce(0) { $0 + $1.late + $1.corrupt }
    let whole = row(
      lane.workers > 1 ? "\(names) (\(lane.workers))" : names,
      [
        milliseconds(lane.work), milliseconds(lane.wait), percent(lane.busy), grouped(lane.behind),
        grouped(lane.frames), grouped(lost),
      ])
    guard lane.steps.count > 1 else { return [whole] }
    return [whole]
      + lane.steps.map { step in
        row(
          "  \(step.name)",
          [
            milliseconds(step.work), "", percent(step.busy), "", grouped(step.frames),
            grouped(step.late + step.corrupt),
          ])
      }
  }

  private static func line(_ sink: RunFigures.Sink) -> String {
    let lost = sink.frames.reduce(0) { $0 + (wanted.contains($1.key) ? 0 : $1.value) }
    return row(
      "sink \(sink.name)",
      [
        milliseconds(sink.work), milliseconds(sink.wait), percent(sink.busy), grouped(sink.behind),
        grouped(sink.frames[Fate.delivered.name] ?? 0), grouped(lost),
      ])
  }

  private static func line(_ sound: SoundState) -> String {
    let name = printable("sound \(sound.name)")
    let peaks = sound.peak.map { fixed(max($0, -99), 0) }.joined(separator: " ")
    let gaps = sound.gaps > 0 ? " in \(sound.gaps) gap\(sound.gaps == 1 ? "" : "s")" : ""
    return "  " + pad(name, nameWidth) + padLeft("\(peaks) dB", 12)
      + "  \(grouped(sound.produced)) samples, \(grouped(sound.missing)) missing\(gaps)"
  }

  private static func row(_ name: String, _ values: [String]) -> String {
    let name = printable(name)
    let shown = name.count > nameWidth ? String(name.prefix(nameWidth - 1)) + "~" : name
    let widths = [12, 12, 7, 8, 12, 9]
    return "  " + pad(shown, nameWidth) + zip(values, widths).map { padLeft($0, $1) }.joined()
  }

  private static func milliseconds(_ value: Double?) -> String {
    value.map { "\(fixed($0, 2)) ms" } ?? "-"
  }

  private static func percent(_ share: Double) -> String { "\(fixed(share * 100, 0)) %" }

  /// Minutes and seconds, with hours from one hour on.
  static func clock(_ seconds: Double) -> String {
    let whole = UInt64(min(max(0, seconds), 1e9))
    func two(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let rest = "\(two(whole / 60 % 60)):\(two(whole % 60))"
    return whole < 3600 ? rest : "\(whole / 3600):\(rest)"
  }

  /// A number with commas between its groups of three digits.
  static func grouped(_ number: UInt64) -> String {
    var text = ""
    let digits = "\(number)"
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// The beginning of a line, without control characters.
  static func cut(_ line: String, to width: Int) -> String { String(printable(line).prefix(width)) }
}
