import SprocketCore
internal import SprocketFiles
internal import SprocketRecords

/// The parts of a line that stay the same within an epoch, ready to be copied.
struct ReportLine {
  /// One plug-in: its key, and the fields of all its reports.
  struct Object {
    /// `,"meter":{`
    var opening: [UInt8]
    var fields: [Field]
    /// The bits of its reports in `FrameRecord.reported`.
    var bits: UInt64
  }

  struct Field {
    /// `"mean":`
    var key: [UInt8]
    var description: ReportFieldDescription
    var layout: ReportLayout
    /// As JSON strings, where the field is one of them.
    var words: [[UInt8]] = []
    /// The fields of an item, where the field is a list.
    var items: [Field] = []

    init(_ description: ReportFieldDescription, of layout: ReportLayout) {
      key = jsonString(description.name) + [UInt8(ascii: ":")]
      self.description = description
      self.layout = layout
      if case .word(let words) = description.kind { self.words = words.map(jsonString) }
      if case .list(let list) = description.kind {
        items = list.fields.map { Field($0, of: layout) }
      }
    }
  }

  var objects: [Object] = []
  /// Names as JSON strings, by `Fate.rawValue` and by index in the chain.
  let fates = Fate.allCases.map { jsonString($0.name) }
  var stages: [[UInt8]] = []
  var changedSettings: SettingsLookup = { _ in nil }

  init() {}

  init(_ setup: SinkSetup) {
    self.init(reports: setup.reports, stages: setup.stageNames)
    changedSettings = setup.changedSettings
  }

  /// Reports of one plug-in become one object, at the place of its first.
  init(reports: [ReportLayout], stages: [String]) {
    self.stages = stages.map(jsonString)
    var places: [String: Int] = [:]
    for layout in reports where !layout.fields.isEmpty {
      let fields = layout.fields.map { Field($0, of: layout) }
      if let place = places[layout.plugin] {
        objects[place].fields += fields
        objects[place].bits |= layout.slot.bit
      } else {
        places[layout.plugin] = objects.count
        let opening = [UInt8(ascii: ",")] + jsonString(layout.plugin) + Array(":{".utf8)
        objects.append(Object(opening: opening, fields: fields, bits: layout.slot.bit))
      }
    }
  }
}

/// Significant digits: 12 keep 1e-12 of a measurement, 9 keep every bit of a `Float`, and 7 all
/// that a `Float` was set to (FLT_DIG is 6).
enum Digits {
  static let double = 12
  static let float = 9
  static let control = 7
}

extension TextTarget where Self: ~Copyable {
  /// Appends what every line has, open at its end.
  mutating func append(
    _ sequence: UInt64, _ epoch: UInt32, _ fate: Fate, _ record: FrameRecord?,
    _ line: borrowing ReportLine
  ) throws(RunError) {
    let isDropped = fate == .late || fate == .rejected
    let place = Int(record?.droppedBy ?? 0)
    try appendFate(
      sequence, epoch, line.fates[Int(fate.rawValue)], record,
      stage: isDropped && place < line.stages.count ? line.stages[place] : nil,
      controlDigits: Digits.control)
  }

  /// Appends the frame's reports and events.
  mutating func append(
    _ frame: borrowing FrameView, _ line: borrowing ReportLine
  ) throws(RunError) {
    let reported = frame.record.reported
    // By index: an array's iterator allocates in a debug build.
    for place in line.objects.indices where line.objects[place].bits & reported != 0 {
      try append(line.objects[place].opening)
      var isFirst = true
      for index in line.objects[place].fields.indices {
        let field = line.objects[place].fields[index]
        guard field.layout.slot.bit & reported != 0 else { continue }
        if !isFirst { try append(UInt8(ascii: ",")) }
        isFirst = false
        try append(field.key)
        try append(field, in: frame)
      }
      try append(UInt8(ascii: "}"))
    }
    try appendEvents(of: frame, line.changedSettings, digits: Digits.double)
  }

  /// Appends the events of a lost frame.
  mutating func appendEvents(
    of lost: LostFrame, _ line: borrowing ReportLine
  ) throws(RunError) {
    try appendEvents(of: lost, line.changedSettings, digits: Digits.double)
  }

  /// Appends a value; that of a list's item is `offset` bytes further on.
  mutating func append(
    _ line: ReportLine.Field, at offset: Int = 0, in frame: borrowing FrameView
  ) throws(RunError) {
    let field = line.description.moved(by: offset)
    let layout = line.layout
    switch field.kind {
    case .double:
      let value = frame.value(field, of: layout, as: Double.self)
      try append(value ?? .nan, digits: Digits.double)
    case .float:
      let value = frame.value(field, of: layout, as: Float.self)
      try append(Double(value ?? .nan), digits: Digits.float)
    case .int64: try append(decimal: frame.value(field, of: layout, as: Int64.self) ?? 0)
    case .uint32: try append(decimal: frame.value(field, of: layout, as: UInt32.self) ?? 0)
    case .bool:
      let value = frame.value(field, of: layout, as: Bool.self) ?? false
      try append(value ? "true" : "false")
    case .levelCounts:
      for index in 0..<256 {
        try append(UInt8(ascii: index == 0 ? "[" : ","))
        try append(decimal: frame.value(field, of: layout, index: index, as: UInt32.self) ?? 0)
      }
      try append(UInt8(ascii: "]"))
    case .gridValues: try append(field, of: layout, count: 16, in: frame)
    case .matrixValues: try append(field, of: layout, count: 9, in: frame)
    case .cornerValues: try append(field, of: layout, count: 8, in: frame)
    case .list(let list): try append(line.items, of: list, at: field.offset, in: frame)
    // `append(_:of:at:in:)` writes them.
    case .text, .binary: try append("null")
    case .word:
      let place = Int(frame.value(field, of: layout, as: UInt8.self) ?? 0)
      try append(line.words[place])
    }
  }

  /// Appends a field of `count` numbers.
  private mutating func append(
    _ field: ReportFieldDescription, of layout: ReportLayout, count: Int,
    in frame: borrowing FrameView
  ) throws(RunError) {
    for index in 0..<count {
      try append(UInt8(ascii: index == 0 ? "[" : ","))
      let value = frame.value(field, of: layout, index: index, as: Double.self)
      try append(value ?? .nan, digits: Digits.double)
    }
    try append(UInt8(ascii: "]"))
  }
}
