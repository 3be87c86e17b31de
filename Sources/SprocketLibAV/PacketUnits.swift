public import SprocketPixels

/// What a packet of H.264 or HEVC with start codes (Annex B) is: units of ITU-T H.264, table 7-1, and of
/// H.265, table 7-1.
///
/// Cost: reads the packet up to its first slice.
public struct PacketUnits: Sendable {
  /// It has a part of a picture.
  public private(set) var hasPicture = false
  /// Decoding may begin with it, as soon as the parameter sets are known.
  public private(set) var isKey = false
  /// Its picture may refer to a later one (a B slice). Known of H.264 alone.
  public private(set) var isBidirectional = false

  /// Reads a packet of `format`, `.h264` or `.hevc`. `parameterSets` becomes those that it has before its
  /// picture, each with a start code of four bytes.
  public init(_ bytes: Span<UInt8>, _ format: PixelFormat, parameterSets: inout [UInt8]) {
    parameterSets.removeAll(keepingCapacity: true)
    let isH264 = format == .h264
    var at = 0
    while let unit = nextUnit(in: bytes, from: &at, lengthBytes: 0) {
      let kind = Self.kind(bytes[unit], format)
      if Self.isParameterSet(kind, format) {
        Self.append(bytes, from: unit, to: &parameterSets)
      } else if isH264 ? 1...5 ~= kind : kind < 32 {
        hasPicture = true
        guard isH264 else {
          isKey = 16...23 ~= kind
          return
        }
        let slices = sliceType(in: bytes, at: unit + 1) ?? 0
        isBidirectional = slices % 5 == 1
        // Encoders without refreshes repeat the sets where no slice of a picture refers to another (types 7
        // and 9 of table 7-6).
        isKey = kind == 5 || kind == 1 && (slices == 7 || slices == 9) && !parameterSets.isEmpty
        return
      }
    }
  }

  /// The kind of a unit by its first byte.
  static func kind(_ byte: UInt8, _ format: PixelFormat) -> UInt8 {
    format == .h264 ? byte & 31 : byte >> 1 & 63
  }

  private static func isParameterSet(_ kind: UInt8, _ format: PixelFormat) -> Bool {
    format == .h264 ? 7...8 ~= kind : 32...34 ~= kind
  }

  /// `sets` with those of the same kinds as in `new` replaced by them: a picture may come with some of its
  /// sets alone.
  public static func merge(_ sets: [UInt8], with new: [UInt8], _ format: PixelFormat) -> [UInt8] {
    var byKind: [UInt8: [UInt8]] = [:]
    for list in [sets, new] {
      var found: [UInt8: [UInt8]] = [:]
      var at = 0
      while let unit = nextUnit(in: list.span, from: &at, lengthBytes: 0) {
        let kind = kind(list[unit], format)
        // A start code at the end of a packet begins nothing.
        guard isParameterSet(kind, format) else { continue }
        append(list.span, from: unit, to: &found[kind, default: []])
      }
      byKind.merge(found) { _, new in new }
    }
    return byKind.sorted { $0.key < $1.key }.flatMap(\.value)
  }

  /// Appends the unit that begins at `start`, with a start code and without the zeros behind it.
  private static func append(_ bytes: Span<UInt8>, from start: Int, to sets: inout [UInt8]) {
    var at = start
    var end = bytes.count
    if let next = nextUnit(in: bytes, from: &at, lengthBytes: 0) { end = next - 3 }
    while end > start, bytes[end - 1] == 0 { end -= 1 }
    sets += [0, 0, 0, 1]
    for index in start..<end { sets.append(bytes[index]) }
  }
}
