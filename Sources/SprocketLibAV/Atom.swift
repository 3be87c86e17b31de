/// An atom of a MOV or MP4: four bytes of size, four of kind, contents.
struct Atom {
  let kind: UInt32
  /// With its header.
  let range: Range<Int>

  var contents: Range<Int> { range.lowerBound + 8..<range.upperBound }

  func `is`(_ name: String) -> Bool { kind == Self.kind(name) }

  /// The atom that begins at the start of `range`, if a whole one does.
  static func first(in bytes: Span<UInt8>, _ range: Range<Int>) -> Atom? {
    guard range.count >= 8 else { return nil }
    let size = Int(word(bytes, range.lowerBound))
    guard (8...range.count).contains(size) else { return nil }
    return Atom(
      kind: word(bytes, range.lowerBound + 4),
      range: range.lowerBound..<range.lowerBound + size)
  }

  /// The first atom of that kind in `range`, not looking into others.
  static func find(_ name: String, in bytes: Span<UInt8>, _ range: Range<Int>) -> Atom? {
    var rest = range
    while let atom = first(in: bytes, rest) {
      if atom.is(name) { return atom }
      rest = atom.range.upperBound..<range.upperBound
    }
    return nil
  }

  static func kind(_ name: String) -> UInt32 {
    name.utf8.reduce(0) { $0 << 8 | UInt32($1) }
  }

  static func word(_ bytes: Span<UInt8>, _ at: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[at + $1]) }
  }
}
