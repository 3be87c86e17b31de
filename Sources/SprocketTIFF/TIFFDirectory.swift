/// A directory of a TIFF structure, such as a JPEG's EXIF segment. All offsets and lengths are checked: a
/// field outside of the bytes is as none. `bytes` are the same in all calls.
///
/// Cost: fields are looked up one after the other; nothing is allocated.
public struct TIFFDirectory: Sendable {
  private let isBig: Bool
  /// Where it begins, in bytes.
  public let start: Int
  private let count: Int
  /// The file ends before the directory's last field.
  private let isCut: Bool

  /// The first directory; `nil` where `bytes` do not begin with a TIFF header and a directory.
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count >= 8, bytes[0] == bytes[1], bytes[0] == 0x49 || bytes[0] == 0x4D else {
      return nil
    }
    let isBig = bytes[0] == 0x4D
    guard Self.number(bytes, at: 2, size: 2, isBig) == 42,
      let start = Self.number(bytes, at: 4, size: 4, isBig)
    else { return nil }
    self.init(bytes, at: start, isBig)
  }

  private init?(_ bytes: Span<UInt8>, at start: Int, _ isBig: Bool) {
    guard let count = Self.number(bytes, at: start, size: 2, isBig) else { return nil }
    (self.start, self.isBig) = (start, isBig)
    self.count = min(count, (bytes.count - start - 2) / 12)
    isCut = self.count < count
  }

  /// The directories of a file's pages with the bytes where they begin, in the order of their links; copies
  /// of less resolution are left out. The list ends at a link to a directory that was seen, and where
  /// directories have more bytes than the file.
  public static func pages(
    of bytes: Span<UInt8>
  ) -> (pages: [(start: Int, directory: TIFFDirectory)], isCut: Bool) {
    guard let first = TIFFDirectory(bytes) else { return ([], false) }
    var (directory, found) = (first, [(start: Int, directory: TIFFDirectory)]())
    var (seen, room) = (Set<Int>(), bytes.count)
    while seen.insert(directory.start).inserted {
      room -= 6 + 12 * directory.count
      guard room >= 0 else { break }
      // Bit 0: a copy of another page (TIFF 6.0, section 8).
      if (directory.integer(.newSubfileType, in: bytes) ?? 0) & 1 == 0 {
        found.append((directory.start, directory))
      }
      if directory.isCut { return (found, true) }
      // Some writers leave the last link out.
      let link = directory.start + 2 + 12 * directory.count
      guard let next = directory.number(bytes, at: link, size: 4), next > 0 else { break }
      guard let following = TIFFDirectory(bytes, at: next, first.isBig) else {
        return (found, true)
      }
      directory = following
    }
    return (found, false)
  }

  /// Makes the page that begins at a byte the file's first, for readers that see no other.
  public static func showPage(at start: Int, in bytes: inout MutableSpan<UInt8>) {
    guard bytes.count >= 8 else { return }
    for index in 0..<4 {
      let shift = bytes[0] == 0x4D ? 24 - 8 * index : 8 * index
      bytes[4 + index] = UInt8(truncatingIfNeeded: start >> shift)
    }
  }

  /// The directory that a field links, such as `exifIFD`.
  public func directory(_ tag: TIFFTag, in bytes: Span<UInt8>) -> TIFFDirectory? {
    guard let start = integer(tag, in: bytes) else { return nil }
    return TIFFDirectory(bytes, at: start, isBig)
  }

  /// The first value of a field of bytes, shorts or longs.
  public func integer(_ tag: TIFFTag, in bytes: Span<UInt8>) -> Int? {
    guard let (type, range) = values(tag, bytes), [.byte, .short, .long].contains(type) else {
      return nil
    }
    return number(bytes, at: range.lowerBound, size: type.size)
  }

  /// The first value of a field of rationals; `nil` for a denominator of 0, too.
  public func ratio(_ tag: TIFFTag, in bytes: Span<UInt8>) -> Double? {
    guard let (type, range) = values(tag, bytes), type == .rational,
      let above = number(bytes, at: range.lowerBound, size: 4),
      let below = number(bytes, at: range.lowerBound + 4, size: 4), below > 0
    else { return nil }
    return Double(above) / Double(below)
  }

  /// Where a text lies, without its closing zero.
  public func text(_ tag: TIFFTag, in bytes: Span<UInt8>) -> Range<Int>? {
    guard let (type, range) = values(tag, bytes), type == .ascii else { return nil }
    var end = range.lowerBound
    while end < range.upperBound, bytes[end] != 0 { end += 1 }
    return range.lowerBound..<end
  }

  /// Where bytes of no type lie.
  public func undefined(_ tag: TIFFTag, in bytes: Span<UInt8>) -> Range<Int>? {
    guard let (type, range) = values(tag, bytes), type == .undefined else { return nil }
    return range
  }

  /// The type of a field and the bytes of its values, at least one value; `nil` if the directory does not
  /// have the field.
  private func values(_ tag: TIFFTag, _ bytes: Span<UInt8>) -> (TIFFType, Range<Int>)? {
    for index in 0..<count {
      let place = start + 2 + 12 * index
      guard number(bytes, at: place, size: 2) == Int(tag.rawValue) else { continue }
      guard
        let type = number(bytes, at: place + 2, size: 2).flatMap({ TIFFType(rawValue: UInt16($0)) }
        ),
        let count = number(bytes, at: place + 4, size: 4), count > 0
      else { return nil }
      let size = count * type.size
      guard let start = size <= 4 ? place + 8 : number(bytes, at: place + 8, size: 4),
        start <= bytes.count, size <= bytes.count - start
      else { return nil }
      return (type, start..<start + size)
    }
    return nil
  }

  private func number(_ bytes: Span<UInt8>, at place: Int, size: Int) -> Int? {
    Self.number(bytes, at: place, size: size, isBig)
  }

  /// `nil` outside of the bytes.
  private static func number(
    _ bytes: Span<UInt8>, at place: Int, size: Int, _ isBig: Bool
  ) -> Int? {
    guard place >= 0, place <= bytes.count - size else { return nil }
    var value = 0
    for index in 0..<size {
      value = value << 8 | Int(bytes[place + (isBig ? index : size - 1 - index)])
    }
    return value
  }
}
