/// What a stage says about a frame: plain bits, stored in the frame's own memory.
///
/// The fields named here are all that the command line, JSON Lines and the inspector know of it.
public protocol FrameReport: BitwiseCopyable, Sendable {
  /// A report with nothing measured: the stage fills it in.
  init()
  /// Its numbers and words, in the order in which they are told.
  static var fields: [ReportField<Self>] { get }
}

/// The report of a stage that has nothing to say.
public struct NoReport: FrameReport {
  public init() {}
  public static var fields: [ReportField<NoReport>] { [] }
}

/// 256 counts, one per level of luma.
public typealias LevelCounts = InlineArray<256, UInt32>

/// One number for each of 4x4 cells of a picture, row by row.
public typealias GridValues = InlineArray<16, Double>

/// A matrix of 3x3 numbers, row by row, for homogeneous coordinates.
public typealias MatrixValues = InlineArray<9, Double>

/// Four points, each x then y: where a thing lies in a picture.
public typealias CornerValues = InlineArray<8, Double>

/// The name, unit and place of one number, or row of numbers, of a report.
public struct ReportField<Report: FrameReport>: Sendable {
  public let description: ReportFieldDescription

  init(_ name: String, unit: String, _ path: PartialKeyPath<Report>, _ kind: FieldKind) {
    guard let offset = MemoryLayout<Report>.offset(of: path) else {
      contractBroken(
        "makes a report's field `\(name)` of a computed property; name a stored one")
    }
    description = ReportFieldDescription(name: name, unit: unit, kind: kind, offset: offset)
  }

  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, Double>) {
    self.init(name, unit: unit, path, .double)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, Float>) {
    self.init(name, unit: unit, path, .float)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, Int64>) {
    self.init(name, unit: unit, path, .int64)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, UInt32>) {
    self.init(name, unit: unit, path, .uint32)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, Bool>) {
    self.init(name, unit: unit, path, .bool)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, LevelCounts>) {
    self.init(name, unit: unit, path, .levelCounts)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, GridValues>) {
    self.init(name, unit: unit, path, .gridValues)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, MatrixValues>) {
    self.init(name, unit: unit, path, .matrixValues)
  }
  public init(_ name: String, unit: String = "", _ path: KeyPath<Report, CornerValues>) {
    self.init(name, unit: unit, path, .cornerValues)
  }
  public init<Words: ReportWords>(_ name: String, _ path: KeyPath<Report, Words>) {
    self.init(name, unit: "", path, .word(Words.byPlace))
  }
}

/// A closed set of words that a report's field may hold, such as the states of a controller: an enumeration
/// of 2 to 256 cases without values of their own. It lies in the report as one byte, and its raw value is the
/// word in files.
public protocol ReportWords: RawRepresentable, CaseIterable, Equatable, Sendable, BitwiseCopyable
where RawValue == String {}

extension ReportWords {
  /// The words, each at the place that its byte in memory says.
  fileprivate static var byPlace: [String] {
    let cases = allCases.map { $0 }
    guard MemoryLayout<Self>.size == 1 else {
      contractBroken(
        "makes a report's field of \(Self.self), a set of \(cases.count); give it 2 to 256 words")
    }
    let places = cases.map { word in Int(unsafe unsafeBitCast(word, to: UInt8.self)) }
    var words = [String](repeating: "", count: (places.max() ?? 0) + 1)
    for (place, word) in zip(places, cases) { words[place] = word.rawValue }
    return words
  }
}

/// How a field's bits are read.
public enum FieldKind: Sendable, Hashable {
  case double, float, int64, uint32, bool
  /// 256 `UInt32`: a JSON array.
  case levelCounts
  /// 16 `Double`: a JSON array.
  case gridValues
  /// 9 `Double`: a JSON array.
  case matrixValues
  /// 8 `Double`: a JSON array.
  case cornerValues
  /// One of these, by its place: a byte in memory, a JSON string.
  case word([String])
  /// A `ReportText` of an item of a list: a JSON string; `null` if the bytes are not UTF-8.
  case text
  /// The same in base64; `null` if the bytes are UTF-8.
  case binary
  /// Up to so many items: a JSON array of objects.
  case list(ReportListKind)
}

extension FieldKind {
  /// How many numbers a field has; of a list, the most items.
  @usableFromInline package var count: Int {
    switch self {
    case .double, .float, .int64, .uint32, .bool, .word, .text, .binary: 1
    case .levelCounts: 256
    case .gridValues: 16
    case .matrixValues: 9
    case .cornerValues: 8
    case .list(let list): list.capacity
    }
  }

  /// Bytes of each of them; of a list, of an item.
  @usableFromInline package var size: Int {
    switch self {
    case .double, .int64, .gridValues, .matrixValues, .cornerValues, .text, .binary: 8
    case .list(let list): list.stride
    case .float, .uint32, .levelCounts: 4
    case .bool, .word: 1
    }
  }
}

/// A field without its report's type.
public struct ReportFieldDescription: Sendable, Hashable {
  public let name: String
  public let unit: String
  public let kind: FieldKind
  /// Bytes from the start of the report.
  public let offset: Int
}

/// The right to store one stage's report; handed out by `StageSetup`.
public struct ReportWriter<Report: FrameReport>: Sendable {
  @usableFromInline let slot: ReportSlot
}

/// The right to read an earlier stage's report; handed out by `StageSetup`.
public struct ReportReader<Report: FrameReport>: Sendable {
  @usableFromInline let slot: ReportSlot
}

/// Where in a frame's memory a report lies, and its bit in `FrameRecord.reported`.
public struct ReportSlot: Sendable, Hashable, BitwiseCopyable {
  public let offset: Int
  public let bit: UInt64

  public init(offset: Int, bit: UInt64) {
    self.offset = offset
    self.bit = bit
  }
}

/// One report of the chain as sinks see it: whose it is, and what is in it.
public struct ReportLayout: Sendable {
  /// The plug-in's name: the key in JSON.
  public let plugin: String
  public let fields: [ReportFieldDescription]
  public let slot: ReportSlot
  package let type: any FrameReport.Type

  /// Bytes from the report's start to the end of its last field.
  package var byteCount: Int {
    fields.reduce(0) { max($0, $1.end) }
  }

  /// `type` is the report whose fields these are.
  public init(
    plugin: String, _ type: any FrameReport.Type, fields: [ReportFieldDescription],
    slot: ReportSlot
  ) {
    self.plugin = plugin
    self.type = type
    self.fields = fields
    self.slot = slot
  }
}
