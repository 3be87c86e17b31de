import SprocketCore

/// The boxes of an AVIF's file (ISO/IEC 14496-12, 4.2): a length, four letters, contents.
struct PictureBoxes {
  /// Returns the orientation that the properties `irot` and `imir` give (ISO/IEC 23008-12, 6.5.10 and
  /// 6.5.12). It uses the first of each, because files have one for all their images. Returns upright if
  /// there is none, and for other files. Cost: boxes are skipped; nothing is allocated.
  static func orientation(_ bytes: Span<UInt8>) -> Orientation {
    guard let range = properties(bytes) else { return .upright }
    func property(_ name: String) -> Int? {
      box(name, in: range, bytes).flatMap { $0.isEmpty ? nil : Int(bytes[$0.lowerBound]) }
    }
    // Quarters of a turn against the clock, and which parts are exchanged behind it: 0 top and bottom, 1 left
    // and right.
    let (turn, mirror) = ((property("irot") ?? 0) & 3, property("imir").map { $0 & 1 })
    let number: UInt8 =
      switch (turn, mirror) {
      case (0, nil): 1
      case (1, nil): 8
      case (2, nil): 3
      case (3, nil): 6
      case (0, 1), (2, 0): 2
      case (0, 0), (2, 1): 4
      case (1, 0), (3, 1): 5
      default: 7
      }
    return Orientation(rawValue: number) ?? .upright
  }

  /// Finds the properties of the images (`ipco`).
  private static func properties(_ bytes: Span<UInt8>) -> Range<Int>? {
    var range = 0..<bytes.count
    // `meta` has a version of four bytes before its boxes.
    for (name, head) in [("meta", 4), ("iprp", 0), ("ipco", 0)] {
      guard let found = box(name, in: range, bytes), found.count >= head else { return nil }
      range = found.dropFirst(head)
    }
    return range
  }

  /// Returns true if one of the images is the transparency of another (`auxC`, 6.5.8).
  static func hasAlpha(_ bytes: Span<UInt8>) -> Bool {
    guard let range = properties(bytes), let kind = box("auxC", in: range, bytes) else {
      return false
    }
    let words = Array("alpha".utf8)
    return kind.count >= words.count
      && (kind.lowerBound...kind.upperBound - words.count).contains { place in
        words.indices.allSatisfy { bytes[place + $0] == words[$0] }
      }
  }

  /// Returns true if the file is a film (`avis`): its pictures have times.
  static func isFilm(_ bytes: Span<UInt8>) -> Bool {
    bytes.count >= 12 && letters("ftyp", bytes, at: 4) && letters("avis", bytes, at: 8)
  }

  /// The contents of the first box of that name.
  private static func box(_ name: String, in range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int>?
  {
    var place = range.lowerBound
    while place <= range.upperBound - 8 {
      var (length, head) = ((0..<4).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }, 8)
      if length == 0 { length = range.upperBound - place }
      if length == 1, range.upperBound - place >= 16 {
        // The length stands behind the name, in 64 bits; no file has more than 48.
        guard bytes[place + 8] == 0, bytes[place + 9] == 0 else { return nil }
        (length, head) = ((10..<16).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }, 16)
      }
      guard length >= head, length <= range.upperBound - place else { return nil }
      if letters(name, bytes, at: place + 4) { return place + head..<place + length }
      place += length
    }
    return nil
  }

  private static func letters(_ name: String, _ bytes: Span<UInt8>, at place: Int) -> Bool {
    name.utf8.enumerated().allSatisfy { bytes[place + $0.offset] == $0.element }
  }
}
