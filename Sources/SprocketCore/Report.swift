/// What a stage says about a frame: plain bits, stored in the frame's own memory.
///
/// The fields named here are all that the command line, JSON Lines and the inspector know of it.
public protocol FrameReport: BitwiseCopyable, Sendable {
  init()
  static var fields: [ReportField<Self>] { get }
}

/// The report of a stage that has nothing to say.
public struct NoReport: FrameReport {
  public init() {}
  public static var fields: [ReportField<NoReport>] { [] }
}

/// 256 counts, one per level of luma.
public typealias LevelCounts = InlineArray<256, UInt32>

/// The name, unit and place of one number, or row of numbers, of a report.
public struct ReportField<Report: FrameReport>: Sendable {
  public let description: ReportFieldDescription

  init(_ name: String, unit: String, _ path: PartialKeyPath<Report>, _ kind: FieldKind) {
    guard let offset = MemoryLayout<Report>.offset(of: path) else {
      preconditionFailure("field \(name): name a stored property, not a computed one")
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
}

/// How a field's bits are read.
public enum FieldKind: Sendable, Hashable {
  case double, float, int64, uint32, bool
  /// 256 `UInt32`: a JSON array.
  case levelCounts
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

  public init(plugin: String, fields: [ReportFieldDescription], slot: ReportSlot) {
    self.plugin = plugin
    self.fields = fields
    self.slot = slot
  }
}
