/// An entry of an edit list (`elst`): ISO/IEC 14496-12, 8.6.6.
struct Edit {
  /// Duration, in ticks of the movie's clock.
  let length: UInt64
  /// Start in the track, in the track's ticks; `nil` for an empty edit, which shows nothing.
  let place: UInt64?
  /// Offset of the four bytes of the rate.
  let rateOffset: Int

  /// The entries of a list; none where it is damaged.
  static func all(of list: Atom, in source: Span<UInt8>) -> [Edit] {
    let contents = list.contents
    guard contents.count >= 8 else { return [] }
    let isLong = source[contents.lowerBound] == 1
    let size = isLong ? 20 : 12
    let count = Int(Atom.word(source, contents.lowerBound + 4))
    guard count <= (contents.count - 8) / size else { return [] }
    func number(_ at: Int) -> UInt64 {
      isLong
        ? UInt64(Atom.word(source, at)) << 32 | UInt64(Atom.word(source, at + 4))
        : UInt64(Atom.word(source, at))
    }
    return (0..<count).map { index in
      let at = contents.lowerBound + 8 + index * size
      let place = number(at + size / 2 - 2)
      // An empty edit has all bits set.
      let isEmpty = place == (isLong ? .max : UInt64(UInt32.max))
      return Edit(length: number(at), place: isEmpty ? nil : place, rateOffset: at + size - 4)
    }
  }

  /// Total duration of the empty edits at each track's start, in ticks of the movie's clock.
  static func waits(ofTracksIn moov: Atom, _ source: Span<UInt8>) -> [UInt64] {
    var (waits, at) = ([UInt64](), moov.contents.lowerBound)
    while let atom = Atom.first(in: source, at..<moov.contents.upperBound) {
      at = atom.range.upperBound
      guard atom.is("trak") else { continue }
      let list = Atom.find("edts", in: source, atom.contents).flatMap {
        Atom.find("elst", in: source, $0.contents)
      }
      let edits = list.map { all(of: $0, in: source) } ?? []
      waits.append(edits.prefix { $0.place == nil }.reduce(0) { $0 &+ $1.length })
    }
    return waits
  }
}
