internal import Sprocket

// What a person, and a summary, are told of sound.

extension AudioDescription {
  /// Such as `scene: 48000 Hz, 2 channels, s16, live`.
  var line: String {
    "\(name): \(format.rate) Hz, \(format.channels) channel\(format.channels == 1 ? "" : "s"), "
      + "\(format.number.rawValue)\(isLive ? ", live" : "")\(setup.map { "; \($0)" } ?? "")"
  }
}

extension AudioSummary {
  /// The lines at the end of a run.
  var lines: [String] {
    let seconds = fixed(Double(ledger.produced) / Double(source.format.rate), 2)
    var line = "sound of \(source.name): \(ledger.produced) samples (\(seconds) s)"
    let gaps = self.line.segment
    if missing > 0 { line += ", \(missing) missing in \(gaps) gap\(gaps == 1 ? "" : "s")" }
    if let drift, abs(drift) >= 0.05 { line += ", its clock is \(Self.text(drift))" }
    if clipped > 0 { line += ", \(clipped) numbers clipped" }
    return [line]
      + ledger.entries.map { entry in
        let fates = Fate.allCases.filter { entry.counts[$0] > 0 }
        let counts = fates.map { "\(entry.counts[$0]) \($0.name)" }.joined(separator: ", ")
        return "  \(entry.sink): \(counts.isEmpty ? "nothing" : counts)"
      }
  }

  private static func text(_ drift: Double) -> String {
    "\(fixed(abs(drift), 1)) ppm \(drift > 0 ? "fast" : "slow")"
  }

  /// Peaks as a status line shows them: `-12 -13 dB`, or `clipped` at full scale.
  var meter: String {
    let peaks = (0..<source.format.channels).map { channel -> String in
      let peak = levels.peak[channel]
      // The largest whole number of 16 bits is a unit below 1.
      return peak >= 1 - 0x1p-15 ? "CLIP" : fixed(max(levels.peakDecibels(channel), -99), 0)
    }
    return peaks.joined(separator: " ") + " dB"
  }
}

/// The summary's keys of one source of sound; counts are samples.
struct SoundDocument: Encodable {
  enum CodingKeys: String, CodingKey {
    case name, rate, channels, number, live, produced, missing, gaps, clipped, sinks,
      files
    case drift = "drift_ppm"
  }
  let name, number: String
  let rate, channels: Int
  let live: Bool
  let produced, missing, clipped: UInt64
  let gaps: UInt32
  let drift: Double?
  let sinks: [String: [String: UInt64]]
  let files: [File]

  struct File: Encodable {
    let sink, path: String
    let samples, delivered, silence: UInt64
    let corrected: Int64
  }

  init(_ sound: AudioSummary) {
    let format = sound.source.format
    (name, number) = (sound.source.name, format.number.rawValue)
    (rate, channels, live) = (format.rate, format.channels, sound.source.isLive)
    (produced, missing, clipped) = (sound.ledger.produced, sound.missing, sound.clipped)
    gaps = sound.line.segment
    drift = sound.drift
    files = sound.files.map { sink, file in
      File(
        sink: sink, path: file.path, samples: file.samples, delivered: file.delivered,
        silence: file.silence, corrected: file.corrected)
    }
    var sinks: [String: [String: UInt64]] = [:]
    for entry in sound.ledger.entries {
      // Sinks that were attached one after the other may have the same name.
      let earlier = sinks.keys.count { $0 == entry.sink || $0.hasPrefix(entry.sink + "-") }
      let name = earlier == 0 ? entry.sink : "\(entry.sink)-\(earlier + 1)"
      sinks[name] = Dictionary(
        uniqueKeysWithValues: Fate.allCases.map { ($0.name, entry.counts[$0]) })
    }
    self.sinks = sinks
  }
}
