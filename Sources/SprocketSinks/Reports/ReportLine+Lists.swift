internal import SprocketCore
internal import SprocketFiles

/// Lists of a report, and the texts of their items.
extension TextTarget where Self: ~Copyable {
  /// Appends a list as an array of objects.
  mutating func append(
    _ fields: [ReportLine.Field], of list: ReportListKind, at start: Int,
    in frame: borrowing FrameView
  ) throws(RunError) {
    try append(UInt8(ascii: "["))
    guard let layout = fields.first?.layout else { return try append(UInt8(ascii: "]")) }
    let count = frame.itemCount(list, of: layout)
    for item in 0..<count {
      if item > 0 { try append(UInt8(ascii: ",")) }
      for index in fields.indices {
        try append(UInt8(ascii: index == 0 ? "{" : ","))
        try append(fields[index].key)
        let offset = start + item * list.stride
        switch fields[index].description.kind {
        case .text, .binary:
          try append(text: fields[index].description.moved(by: offset), of: list, layout, in: frame)
        default: try append(fields[index], at: offset, in: frame)
        }
      }
      try append(UInt8(ascii: "}"))
    }
    try append(UInt8(ascii: "]"))
  }

  /// Appends text as a string if it is UTF-8, or bytes in base64 if they are not; else `null`.
  private mutating func append(
    text field: ReportFieldDescription, of list: ReportListKind, _ layout: ReportLayout,
    in frame: borrowing FrameView
  ) throws(RunError) {
    let text = frame.value(field, of: layout, as: ReportText.self) ?? ReportText()
    let bytes = frame.bytes(text, in: list, of: layout)
    guard bytes.isUTF8 == (field.kind == .text) else { return try append("null") }
    try append(UInt8(ascii: "\""))
    if field.kind == .text { try append(escaped: bytes) } else { try append(base64: bytes) }
    try append(UInt8(ascii: "\""))
  }
}

extension Span<UInt8> {
  fileprivate var isUTF8: Bool { (try? UTF8Span(validating: self)) != nil }
}
