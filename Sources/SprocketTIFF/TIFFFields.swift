/// Fields that are added to a file of TIFF's structure, little endian, when it is complete: EXIF, a TIFF, a
/// DNG.
///
/// Nothing of the file moves. Values and a new first directory are appended, and the header is made to point
/// at it; the old directory stays behind as some hundred bytes that nobody reads.
public struct TIFFFields: Sendable {
  /// A field's twelve bytes, or what becomes of them: its values may be too long for these.
  private struct Field {
    let tag: UInt16
    let type: TIFFType
    let count: Int
    let bytes: [UInt8]
  }

  private var fields: [Field] = []
  private var place: [Field] = []

  /// Nothing to be added.
  public init() {}

  public var isEmpty: Bool { fields.isEmpty && place.isEmpty }

  /// A text; nothing for an empty one.
  public mutating func add(_ tag: TIFFTag, text: String) {
    guard !text.isEmpty else { return }
    let bytes = Array(text.utf8) + [0]
    fields.append(Field(tag: tag.rawValue, type: .ascii, count: bytes.count, bytes: bytes))
  }

  /// A text in UTF-16, as Windows has its own fields; nothing for an empty one.
  public mutating func add(_ tag: TIFFTag, wideText text: String) {
    guard !text.isEmpty else { return }
    let bytes = (Array(text.utf16) + [0]).flatMap {
      [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
    }
    fields.append(Field(tag: tag.rawValue, type: .byte, count: bytes.count, bytes: bytes))
  }

  /// A place on the Earth: degrees north and east, and metres above the sea. EXIF 2.32, 4.6.6.
  public mutating func add(latitude: Double, longitude: Double, altitude: Double?) {
    addPlace(0, .byte, [2, 3, 0, 0])
    addPlace(1, .ascii, [UInt8(ascii: latitude < 0 ? "S" : "N"), 0])
    addPlace(2, .rational, Self.angle(latitude))
    addPlace(3, .ascii, [UInt8(ascii: longitude < 0 ? "W" : "E"), 0])
    addPlace(4, .rational, Self.angle(longitude))
    guard let altitude else { return }
    addPlace(5, .byte, [altitude < 0 ? 1 : 0])
    addPlace(6, .rational, Self.words([UInt32((altitude.magnitude * 1000).rounded()), 1000]))
  }

  private mutating func addPlace(_ tag: UInt16, _ type: TIFFType, _ bytes: [UInt8]) {
    place.append(Field(tag: tag, type: type, count: bytes.count / type.size, bytes: bytes))
  }

  /// Degrees, minutes and seconds, to 1/10000 s: 3 mm.
  private static func angle(_ degrees: Double) -> [UInt8] {
    // 180 degrees are more of these than 32 bits count.
    let parts = UInt64((degrees.magnitude * 36_000_000).rounded())
    let (minutes, seconds) = (parts / 600_000, parts % 600_000)
    return words([UInt32(minutes / 60), 1, UInt32(minutes % 60), 1, UInt32(seconds), 10_000])
  }

  private static func words(_ values: [UInt32]) -> [UInt8] {
    values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) } }
  }

  /// The file with these fields, each in place of one that it had. `nil` for what is no such file.
  public func added(to file: [UInt8]) -> [UInt8]? {
    guard file.starts(with: [0x49, 0x49, 42, 0]), let start = Self.long(file, 4),
      let count = Self.short(file, start), start + 2 + 12 * count + 4 <= file.count
    else { return nil }
    var made = file
    var entries: [UInt16: [UInt8]] = [:]
    for index in 0..<count {
      let entry = Array(file[(start + 2 + 12 * index)..<(start + 14 + 12 * index)])
      entries[UInt16(entry[0]) | UInt16(entry[1]) << 8] = entry
    }
    for field in fields { entries[field.tag] = Self.entry(field, &made) }
    if !place.isEmpty {
      let links = place.map { (tag: $0.tag, entry: Self.entry($0, &made)) }
      let directory = Self.append(links.map(\.entry), next: [0, 0, 0, 0], to: &made)
      let link = Field(
        tag: TIFFTag.gpsIFD.rawValue, type: .long, count: 1,
        bytes: Self.words([UInt32(directory)]))
      entries[link.tag] = Self.entry(link, &made)
    }
    let next = Array(file[(start + 2 + 12 * count)..<(start + 6 + 12 * count)])
    let sorted = entries.sorted { $0.key < $1.key }.map(\.value)
    let first = Self.append(sorted, next: next, to: &made)
    guard first + 6 + 12 * sorted.count <= Int(UInt32.max) else { return nil }
    made.replaceSubrange(4..<8, with: Self.words([UInt32(first)]))
    return made
  }

  /// A field's twelve bytes; values that they do not hold are appended to the file.
  private static func entry(_ field: Field, _ file: inout [UInt8]) -> [UInt8] {
    var entry = words([UInt32(field.tag) | UInt32(field.type.rawValue) << 16, UInt32(field.count)])
    guard field.bytes.count > 4 else {
      return entry + field.bytes + [UInt8](repeating: 0, count: 4 - field.bytes.count)
    }
    align(&file)
    entry += words([UInt32(truncatingIfNeeded: file.count)])
    file += field.bytes
    return entry
  }

  /// Appends a directory. Returns where it begins.
  private static func append(_ entries: [[UInt8]], next: [UInt8], to file: inout [UInt8]) -> Int {
    align(&file)
    let start = file.count
    file += words([UInt32(entries.count)]).prefix(2)
    for entry in entries { file += entry }
    file += next
    return start
  }

  /// Values begin at even bytes.
  private static func align(_ file: inout [UInt8]) { if file.count % 2 == 1 { file.append(0) } }

  private static func short(_ file: [UInt8], _ start: Int) -> Int? {
    start + 2 <= file.count ? Int(file[start]) | Int(file[start + 1]) << 8 : nil
  }

  private static func long(_ file: [UInt8], _ start: Int) -> Int? {
    guard let low = short(file, start), let high = short(file, start + 2) else { return nil }
    return low | high << 16
  }
}
