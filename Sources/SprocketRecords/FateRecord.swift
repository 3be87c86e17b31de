package import SprocketCore
package import SprocketFiles
internal import SprocketMCAP

private enum Key {
  static let latency: StaticString = "latency_us"
  static let stage: StaticString = "stage"
}

/// Record of a frame at the chain's end: its fate and its reports. A line of `--reports` has the same keys
/// except for the number.
package enum FateRecord {
  package static func schema(_ reports: [ReportLayout]) -> JSONProperties {
    var keys = JSONProperties()
    keys.add(FrameKey.number, "integer", "as in source")
    keys.add(FrameKey.sequence, "integer", "as in source")
    keys.add(FrameKey.epoch, "integer", "as in source")
    keys.add(FrameKey.captured, "integer|null", "ns; null where the frame never arrived")
    keys.add(FrameKey.clock, "string|null", "of captured_ns")
    keys.add(
      FrameKey.fate, of: Fate.allCases.map(\.name), "where the frame ended, at the chain's end")
    keys.add(Key.latency, "number|null", "us to the chain's end; null if it did not get there")
    keys.add(Key.stage, "string", "which one dropped it", isRequired: false)
    keys.addControls()
    for (name, fields) in plugins(reports) { keys.add(name, schema: fields, isRequired: false) }
    return keys
  }

  /// Schema of each plug-in's report fields, in the order of the plug-ins.
  private static func plugins(_ reports: [ReportLayout]) -> [(name: String, fields: String)] {
    var names: [String] = []
    for report in reports where !report.fields.isEmpty && !names.contains(report.plugin) {
      names.append(report.plugin)
    }
    return names.map { name in
      var keys = JSONProperties()
      for field in reports.filter({ $0.plugin == name }).flatMap(\.fields) { add(field, &keys) }
      return (name, keys.schema())
    }
  }

  private static func add(_ field: ReportFieldDescription, _ keys: inout JSONProperties) {
    switch field.kind {
    case .double, .float: keys.add(field.name, "number|null", field.unit, isRequired: false)
    case .int64, .uint32: keys.add(field.name, "integer", field.unit, isRequired: false)
    case .bool: keys.add(field.name, "boolean", field.unit, isRequired: false)
    case .text, .binary: keys.add(field.name, "string|null", field.unit, isRequired: false)
    case .levelCounts:
      keys.add(
        field.name, schema: JSONProperties.array(of: #"{"type":"integer"}"#, field.unit),
        isRequired: false)
    case .gridValues, .matrixValues, .cornerValues:
      let number = #"{"type":["number","null"]}"#
      keys.add(
        field.name, schema: JSONProperties.array(of: number, field.unit), isRequired: false)
    case .word(let words): keys.add(field.name, of: words, field.unit, isRequired: false)
    case .list(let list):
      var item = JSONProperties()
      for field in list.fields { add(field, &item) }
      keys.add(
        field.name, schema: JSONProperties.array(of: item.schema(), field.unit), isRequired: false)
    }
  }

  /// The number of a frame that a stage dropped because it came too late; `nil` for all others.
  package static func lateNumber(_ bytes: Span<UInt8>) -> UInt64? {
    var number: UInt64?
    var isLate = false
    do throws(JSONScanner.Failure) {
      var json = JSONScanner()
      try json.begin("{", bytes)
      while let key = try json.nextKey(bytes) {
        if bytes.equals(FrameKey.number, key) {
          number = try json.integer(UInt64.self, bytes)
        } else if bytes.equals(FrameKey.fate, key) {
          isLate = try json.string(bytes) == Fate.late.name
        } else {
          try json.skip(bytes)
        }
      }
    } catch {
      return nil
    }
    return isLate ? number : nil
  }
}

extension TextTarget where Self: ~Copyable {
  /// Appends the keys at a record's start. `fateName` is the fate and `stage` is the stage that dropped the
  /// frame, both as JSON strings.
  package mutating func appendFate(
    _ sequence: UInt64, _ epoch: UInt32, _ fateName: [UInt8], _ record: FrameRecord?,
    stage: [UInt8]?, controlDigits: Int
  ) throws(RunError) {
    try append(key: FrameKey.sequence, isFirst: true)
    try append(decimal: sequence)
    try append(key: FrameKey.epoch)
    try append(decimal: epoch)
    try append(key: FrameKey.captured)
    if let record {
      try append(decimal: record.captured.nanoseconds)
    } else {
      try append("null")
    }
    try append(key: FrameKey.clock)
    if let record { try append(record.captured.clock) } else { try append("null") }
    try append(key: FrameKey.fate)
    try append(fateName)
    try append(key: Key.latency)
    if let latency = record?.latencyNanoseconds {
      try append(microsecondsFrom: latency)
    } else {
      try append("null")
    }
    guard let record else { return }
    if let stage {
      try append(key: Key.stage)
      try append(stage)
    }
    try append(record.inForce, digits: controlDigits)
  }

  /// Appends the frame's number, which only dumps have, and ends the record.
  package mutating func endFate(number: UInt64) throws(RunError) {
    try append(key: FrameKey.number)
    try append(decimal: number)
    try append(UInt8(ascii: "}"))
  }
}

extension FrameRecord {
  /// Time from capture to the chain's end. If the capture time has another clock or is impossible, time from
  /// the source's hand-over. `nil` if the frame did not reach the chain's end.
  fileprivate var latencyNanoseconds: Int64? {
    guard processed != 0 else { return nil }
    let end = Timestamp(nanoseconds: processed, clock: .monotonic)
    return end.nanoseconds(since: captured) ?? (dequeued == 0 ? nil : processed - dequeued)
  }
}
