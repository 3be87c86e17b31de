internal import SprocketCore
internal import SprocketFiles

// The records of a dump as JSON. `docs/dump.md` has the keys with their units.

extension TextTarget where Self: ~Copyable {
  /// Appends what the source said of a frame, of which `count` bytes are in the file.
  mutating func append(
    _ frame: borrowing FrameView, bytes count: Int, _ lookup: SettingsLookup
  ) throws(RunError) {
    let record = frame.record
    try append("{\"number\":")
    try append(decimal: record.number)
    try append(",\"sequence\":")
    try append(decimal: record.sequence)
    try append(",\"epoch\":")
    try append(decimal: record.epoch)
    try append(",\"captured_ns\":")
    try append(decimal: record.captured.nanoseconds)
    try append(",\"clock\":")
    try append(record.captured.clock)
    try append(",\"point\":")
    switch record.capturePoint {
    case .unknown: try append("\"unknown\"")
    case .startOfExposure: try append("\"start_of_exposure\"")
    case .endOfFrame: try append("\"end_of_frame\"")
    case .estimated: try append("\"estimated\"")
    }
    try append(",\"dequeued_ns\":")
    try append(decimal: record.dequeued)
    try append(",\"bytes\":")
    try append(decimal: count)
    try append(",\"driver_flags\":")
    try append(decimal: record.driverFlags)
    if record.chainFate == .corrupt { try append(",\"fate\":\"corrupt\"") }
    if record.chainFate == .startup { try append(",\"fate\":\"startup\"") }
    // As many digits as give back every bit of a `Float` and of a `Double`: replays depend on it.
    try append(record.inForce, digits: 9)
    try appendEvents(of: frame, lookup, digits: 17)
    try append(UInt8(ascii: "}"))
  }

  /// Appends frames, next to each other, that are not in the file for the same reason.
  mutating func append(_ range: DumpRange, _ lookup: SettingsLookup) throws(RunError) {
    try append("{\"fate\":\"")
    try append(range.first.fate == .overrun ? "overrun" : "behind")
    if range.first.sourceFate == .corrupt { try append("\",\"source_fate\":\"corrupt") }
    if range.first.sourceFate == .startup { try append("\",\"source_fate\":\"startup") }
    try append("\",\"epoch\":")
    try append(decimal: range.first.epoch)
    try append(",\"first_number\":")
    try append(decimal: range.first.number)
    try append(",\"first_sequence\":")
    try append(decimal: range.first.sequence)
    try append(",\"frames\":")
    try append(decimal: range.count)
    try appendEvents(of: range.first, lookup, digits: 17)
    try append(UInt8(ascii: "}"))
  }

  mutating func append(_ ledger: Ledger) throws(RunError) {
    try append("{\"produced\":")
    try append(decimal: ledger.produced)
    try append(",\"sinks\":{")
    for (index, entry) in ledger.entries.enumerated() {
      if index > 0 { try append(UInt8(ascii: ",")) }
      try append(jsonString(entry.sink))
      for (place, fate) in Fate.allCases.enumerated() {
        try append(place == 0 ? ":{" : ",")
        try append(jsonString(fate.name))
        try append(UInt8(ascii: ":"))
        try append(decimal: entry.counts[fate])
      }
      try append(UInt8(ascii: "}"))
    }
    try append("}}")
  }
}

/// Frames, next to each other, of which there are no bytes. The first alone may have events.
struct DumpRange: Sendable {
  var first: LostFrame
  var count: UInt64

  /// Takes the frame in, if it belongs to the others.
  mutating func extend(_ next: LostFrame) -> Bool {
    guard next.fate == first.fate, next.sourceFate == first.sourceFate, next.epoch == first.epoch,
      next.number == first.number + count, next.events.isEmpty
    else { return false }
    count += 1
    return true
  }
}
