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

  /// Reads a packet of `format`, `.h264` or `.hevc`. If it has parameter sets before its picture, they
  /// replace `parameterSets`.
  public init(_ bytes: Span<UInt8>, _ format: PixelFormat, parameterSets: inout [UInt8]) {
    let isH264 = format == .h264
    var at = 0
    var count = 0
    while let unit = nextUnit(in: bytes, from: &at, lengthBytes: 0) {
      let kind = isH264 ? bytes[unit] & 31 : bytes[unit] >> 1 & 63
      if isH264 ? 7...8 ~= kind : 32...34 ~= kind {
        if count == 0 { parameterSets.removeAll(keepingCapacity: true) }
        count += 1
        Self.append(bytes, from: unit, to: &parameterSets)
      } else if isH264 ? 1...5 ~= kind : kind < 32 {
        hasPicture = true
        if isH264 {
          // Encoders without refreshes repeat the sets where a picture needs no other.
          let isIntra =
            sliceType(in: bytes, at: unit + 1).map { $0 % 5 == 2 || $0 % 5 == 4 } ?? false
          isKey = kind == 5 || (kind == 1 && isIntra && count > 0)
        } else {
          isKey = 16...23 ~= kind
        }
        return
      }
    }
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
