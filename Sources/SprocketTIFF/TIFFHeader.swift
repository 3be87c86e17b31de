/// The first directory of a TIFF structure, such as a JPEG's EXIF segment. All offsets and lengths are
/// checked: entries outside of the bytes are left out.
public struct TIFFHeader: Equatable, Sendable {
  /// EXIF's orientation, 1 to 8; `nil` where there is none.
  public let orientation: UInt8?
  /// Where texts lie in the bytes, without their closing zero; `nil` where there is none.
  public let make: Range<Int>?
  public let model: Range<Int>?

  /// `nil` where `bytes` do not begin with a TIFF header and a directory.
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count >= 8, bytes[0] == bytes[1], bytes[0] == 0x49 || bytes[0] == 0x4D else {
      return nil
    }
    let order = ByteOrder(isBig: bytes[0] == 0x4D)
    guard order.number(bytes, at: 2, size: 2) == 42,
      let start = order.number(bytes, at: 4, size: 4),
      let count = order.number(bytes, at: start, size: 2)
    else { return nil }
    var (orientation, make, model): (UInt8?, Range<Int>?, Range<Int>?) = (nil, nil, nil)
    for index in 0..<min(count, (bytes.count - start - 2) / 12) {
      let place = start + 2 + 12 * index
      let tag = TIFFTag(rawValue: UInt16(order.number(bytes, at: place, size: 2) ?? 0))
      switch tag {
      case .orientation: orientation = orientation ?? order.orientation(bytes, at: place)
      case .make: make = make ?? order.text(bytes, at: place)
      case .model: model = model ?? order.text(bytes, at: place)
      default: break
      }
    }
    (self.orientation, self.make, self.model) = (orientation, make, model)
  }
}

private struct ByteOrder {
  let isBig: Bool

  /// `nil` outside of the bytes.
  func number(_ bytes: Span<UInt8>, at place: Int, size: Int) -> Int? {
    guard place >= 0, place <= bytes.count - size else { return nil }
    var value = 0
    for index in 0..<size {
      value = value << 8 | Int(bytes[place + (isBig ? index : size - 1 - index)])
    }
    return value
  }

  /// `place` is that of the field.
  func orientation(_ bytes: Span<UInt8>, at place: Int) -> UInt8? {
    guard number(bytes, at: place + 2, size: 2) == Int(TIFFType.short.rawValue),
      let value = number(bytes, at: place + 8, size: 2), 1...8 ~= value
    else { return nil }
    return UInt8(value)
  }

  func text(_ bytes: Span<UInt8>, at place: Int) -> Range<Int>? {
    guard number(bytes, at: place + 2, size: 2) == Int(TIFFType.ascii.rawValue),
      let count = number(bytes, at: place + 4, size: 4), count > 0
    else { return nil }
    let start = count <= 4 ? place + 8 : number(bytes, at: place + 8, size: 4) ?? bytes.count
    guard start <= bytes.count, count <= bytes.count - start else { return nil }
    var end = start
    while end < start + count, bytes[end] != 0 { end += 1 }
    return start..<end
  }
}
