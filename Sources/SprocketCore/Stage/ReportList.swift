// Lists in reports: up to a fixed number of items, which may have texts.

/// A text of an item: which of the bytes that the items of a list share are its own.
public struct ReportText: BitwiseCopyable, Equatable, Sendable {
  /// Index of the first byte.
  public var start: UInt32
  /// Number of bytes.
  public var count: UInt32

  public init(start: Int = 0, count: Int = 0) {
    self.start = UInt32(clamping: start)
    self.count = UInt32(clamping: count)
  }

  /// Indices of its bytes among `available`; those that are not there are left out.
  public func range(within available: Int) -> Range<Int> {
    let first = min(Int(start), available)
    return first..<min(first + Int(count), available)
  }
}

/// How a list lies in a report's memory. Offsets are bytes from the start of the report.
public struct ReportListKind: Sendable, Hashable {
  /// The most items.
  public let capacity: Int
  /// From one item to the next, in bytes.
  public let stride: Int
  /// Of the number of items, a `UInt32`.
  public let countOffset: Int
  /// Of the bytes that texts share, and how many there are; 0 and 0 if there are none.
  public let textsOffset: Int
  public let textsCapacity: Int
  /// Of an item; offsets from the item's start.
  public let fields: [ReportFieldDescription]
}

extension ReportField {
  /// A list of items. The items' type has fields, as a report has. `count` is the number of items in use.
  /// `texts` has the bytes of their `ReportText` fields.
  public init<let capacity: Int, let textBytes: Int, Item: FrameReport>(
    _ name: String, _ path: KeyPath<Report, InlineArray<capacity, Item>>,
    count: KeyPath<Report, UInt32>, texts: KeyPath<Report, InlineArray<textBytes, UInt8>>
  ) {
    let list = ReportListKind(
      capacity: capacity, stride: MemoryLayout<Item>.stride, countOffset: Self.offset(name, count),
      textsOffset: Self.offset(name, texts), textsCapacity: textBytes,
      fields: Item.fields.map(\.description))
    self.init(name, unit: "", path, .list(list))
  }

  /// The same without texts.
  public init<let capacity: Int, Item: FrameReport>(
    _ name: String, _ path: KeyPath<Report, InlineArray<capacity, Item>>,
    count: KeyPath<Report, UInt32>
  ) {
    let list = ReportListKind(
      capacity: capacity, stride: MemoryLayout<Item>.stride, countOffset: Self.offset(name, count),
      textsOffset: 0, textsCapacity: 0, fields: Item.fields.map(\.description))
    self.init(name, unit: "", path, .list(list))
  }

  /// A text of an item, for people and programs that read JSON; `null` if its bytes are not UTF-8. In an item
  /// of a list only: elsewhere there are no bytes, and it is `null`.
  public init(text name: String, _ path: KeyPath<Report, ReportText>) {
    self.init(name, unit: "", path, .text)
  }

  /// The bytes of a text in base64, for those that are not UTF-8; `null` if they are.
  public init(base64 name: String, _ path: KeyPath<Report, ReportText>) {
    self.init(name, unit: "base64", path, .binary)
  }

  private static func offset(_ name: String, _ path: PartialKeyPath<Report>) -> Int {
    Self(name, unit: "", path, .bool).description.offset
  }
}

extension FieldKind {
  /// Whether a condition can compare it.
  package var isNumberOrWord: Bool {
    switch self {
    case .double, .float, .int64, .uint32, .bool, .word: true
    case .levelCounts, .gridValues, .matrixValues, .cornerValues, .text, .binary, .list: false
    }
  }

  package var isList: Bool {
    if case .list = self { true } else { false }
  }
}

extension ReportFieldDescription {
  /// The same field of an item `offset` bytes further on.
  package func moved(by offset: Int) -> ReportFieldDescription {
    ReportFieldDescription(name: name, unit: unit, kind: kind, offset: self.offset + offset)
  }

  /// Bytes from the start of the report to its end, with what it refers to.
  package var end: Int {
    let own = offset + kind.count * kind.size
    guard case .list(let list) = kind else { return own }
    return max(own, list.countOffset + 4, list.textsOffset + list.textsCapacity)
  }
}

extension FrameView {
  /// How many items the list has; 0 if the stage made no report on this frame.
  package func itemCount(_ list: ReportListKind, of layout: ReportLayout) -> Int {
    let field = ReportFieldDescription(
      name: "", unit: "", kind: .uint32, offset: list.countOffset)
    return min(Int(value(field, of: layout, as: UInt32.self) ?? 0), list.capacity)
  }
}
