/// A kind of code, by the name that settings and reports use.
public enum CodeType: String, ReportWords {
  case qr
  case ean13
  case ean8
  case upca
  case upce
  case code128
  case code39
  case code93
  /// Interleaved 2 of 5, also called ITF.
  case i25
  case codabar
  /// GS1 DataBar, once RSS-14.
  case databar
  /// GS1 DataBar Expanded.
  case databarExpanded = "databar_expanded"
}

/// One code that a stage found in a frame.
public struct FoundCode: FrameReport {
  /// What kind of code it is.
  public var type = CodeType.qr
  /// The corners top left, top right, bottom right and bottom left of the code as one reads it, however it is
  /// turned: x and y of each in pixels of the sensor's picture, (0, 0) being the middle of its first pixel.
  public var corners = CornerValues(repeating: 0)
  /// Which of the report's `payloads` are this code's.
  public var payload = ReportText()
  /// Bytes of the whole payload. More than in `payload` if there was no room for all.
  public var byteCount: UInt32 = 0
  /// Number of scan lines that read a bar code; 1 for a QR code, whose errors are corrected. A larger number
  /// makes an error less likely.
  public var quality: UInt32 = 0

  public init() {}

  /// Whether the end of the payload is missing.
  public var isCut: Bool { payload.count < byteCount }

  public static var fields: [ReportField<Self>] {
    [
      ReportField("type", \.type),
      ReportField(text: "text", \.payload),
      ReportField(base64: "base64", \.payload),
      ReportField("bytes", \.byteCount),
      ReportField("corners", unit: "px of the sensor", \.corners),
      ReportField("quality", unit: "scan lines", \.quality),
    ]
  }
}

/// The codes in a frame, as the stage `codes` finds them.
public struct CodesReport: FrameReport {
  /// The most codes of a frame.
  public static let capacity = 16
  /// Bytes that the payloads of a frame share. The longest payload of a QR code has 2,953 bytes.
  public static let payloadCapacity = 4096

  /// Number of codes, 0 to `capacity`.
  public private(set) var count: UInt32 = 0
  /// Codes that were found and not reported, because `capacity` or the stage's limit was reached.
  public var omitted: UInt32 = 0
  /// The first `count` are in use.
  public private(set) var codes = InlineArray<16, FoundCode>(repeating: FoundCode())
  /// The bytes of all payloads: `payload(of:)` has those of one code.
  public private(set) var payloads = InlineArray<4096, UInt8>(repeating: 0)
  /// Bytes of `payloads` in use.
  private var usedBytes: UInt32 = 0

  public init() {}

  public static var fields: [ReportField<Self>] {
    [
      ReportField("count", \.count),
      ReportField("omitted", \.omitted),
      ReportField("codes", \.codes, count: \.count, texts: \.payloads),
    ]
  }

  /// The codes, in the order in which they were found.
  public var found: [FoundCode] { (0..<Int(count)).map { codes[$0] } }

  /// The payload of one of the codes, as its bytes are.
  public func payload(of code: FoundCode) -> [UInt8] {
    code.payload.range(within: Self.payloadCapacity).map { payloads[$0] }
  }

  /// The payload as text; `nil` if it is not UTF-8.
  public func text(of code: FoundCode) -> String? {
    String(validating: payload(of: code), as: UTF8.self)
  }

  /// Adds a code, with as much of its payload as there is room for. UTF-8 is cut between two characters.
  /// Counts the code in `omitted` if there are `capacity` already.
  public mutating func add(_ code: FoundCode, payload: Span<UInt8>) {
    guard Int(count) < Self.capacity else {
      omitted += 1
      return
    }
    var added = code
    let room = Self.payloadCapacity - Int(usedBytes)
    let kept = payload.count <= room ? payload.count : Self.cut(payload, to: room)
    added.payload = ReportText(start: Int(usedBytes), count: kept)
    added.byteCount = UInt32(clamping: payload.count)
    for index in 0..<kept { payloads[Int(usedBytes) + index] = payload[index] }
    codes[Int(count)] = added
    usedBytes += UInt32(kept)
    count += 1
  }

  /// Replaces each corner by what `move` makes of its x and y.
  public mutating func moveCorners(
    _ move: (_ x: Double, _ y: Double) -> (x: Double, y: Double)
  ) {
    for index in 0..<Int(count) {
      var corners = codes[index].corners
      for corner in 0..<4 {
        (corners[2 * corner], corners[2 * corner + 1]) = move(
          corners[2 * corner], corners[2 * corner + 1])
      }
      codes[index].corners = corners
    }
  }

  /// The largest length up to `room` that does not end within a character of UTF-8.
  private static func cut(_ bytes: Span<UInt8>, to room: Int) -> Int {
    var end = room
    while end > 0, room - end < 3, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return bytes[end] & 0xC0 == 0x80 ? room : end
  }
}
