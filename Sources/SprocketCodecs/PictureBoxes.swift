import SprocketCore

/// The boxes of an AVIF's file (ISO/IEC 14496-12, 4.2): a length, four letters, contents.
struct PictureBoxes {
  /// What makes the picture upright, from the properties `irot` and `imir` (ISO/IEC 23008-12, 6.5.10 and
  /// 6.5.12). The first of each is taken: files have one for all images in them. Upright where there is none,
  /// and for another file. Cost: boxes are skipped; nothing is allocated.
  static func orientation(_ bytes: Span<UInt8>) -> Orientation {
    var range = 0..<bytes.count
    // `meta` has a version of four bytes before its boxes.
    for (name, head) in [("meta", 4), ("iprp", 0), ("ipco", 0)] {
      guard let found = box(name, in: range, bytes), found.count >= head else { return .upright }
      range = found.dropFirst(head)
    }
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

  /// Whether the file is a film (`avis`), whose pictures have times, and not a picture.
  static func isFilm(_ bytes: Span<UInt8>) -> Bool {
    bytes.count >= 12 && letters("ftyp", bytes, at: 4) && letters("avis", bytes, at: 8)
  }

  /// The contents of the first box of that name.
  private static func box(_ name: String, in range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int>?
  {
    var place = range.lowerBound
    while place <= range.upperBound - 8 {
      let length = (0..<4).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }
      // Shorter ones say that the length stands elsewhere, or that the box goes on to the end of the file.
      guard length >= 8, length <= range.upperBound - place else { return nil }
      if letters(name, bytes, at: place + 4) { return place + 8..<place + length }
      place += length
    }
    return nil
  }

  private static func letters(_ name: String, _ bytes: Span<UInt8>, at place: Int) -> Bool {
    name.utf8.enumerated().allSatisfy { bytes[place + $0.offset] == $0.element }
  }
}
