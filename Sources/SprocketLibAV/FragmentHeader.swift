/// What a fragment's header (`moof`) says of its samples: their sizes and the time of the first.
///
/// libavformat changes the bytes of H.264 and HEVC: it writes lengths instead of start codes. And it takes a
/// fragment to begin where the one before ended, which is wrong behind a gap.
/// Boxes are those of ISO/IEC 14496-12, 8.8.
enum FragmentHeader {
  /// Sizes of the first track's samples; `nil` where `bytes` do not begin with a whole header.
  static func sizes(_ bytes: Span<UInt8>) -> [UInt32]? {
    guard let moof = Atom.first(in: bytes, 0..<bytes.count), moof.is("moof"),
      let traf = Atom.find("traf", in: bytes, moof.contents),
      let header = Atom.find("tfhd", in: bytes, traf.contents), header.contents.count >= 8
    else { return nil }
    var at = header.contents.lowerBound
    let flags = Atom.word(bytes, at)
    at += 8
    var usual: UInt32 = 0
    for (flag, size) in [(0x1, 8), (0x2, 4), (0x8, 4), (0x10, 4)] where flags & UInt32(flag) != 0 {
      guard at + size <= header.contents.upperBound else { return nil }
      if flag == 0x10 { usual = Atom.word(bytes, at) }
      at += size
    }
    var sizes: [UInt32] = []
    var rest = traf.contents
    while let atom = Atom.first(in: bytes, rest) {
      if atom.is("trun") {
        guard read(atom, of: bytes, usual, into: &sizes) else { return nil }
      }
      rest = atom.range.upperBound..<traf.contents.upperBound
    }
    return sizes
  }

  /// Writes when the fragment's first samples are decoded, by track, into a header. Bytes that do not begin
  /// with a whole one stay as they are.
  static func set(times: [UInt32: UInt64], in bytes: inout [UInt8]) {
    guard let moof = Atom.first(in: bytes.span, 0..<bytes.count), moof.is("moof") else { return }
    var rest = moof.contents
    while let traf = Atom.first(in: bytes.span, rest) {
      rest = traf.range.upperBound..<moof.range.upperBound
      guard traf.is("traf"), let header = Atom.find("tfhd", in: bytes.span, traf.contents),
        let time = Atom.find("tfdt", in: bytes.span, traf.contents), header.contents.count >= 8,
        let first = times[Atom.word(bytes.span, header.contents.lowerBound + 4)],
        // Version 1 has 64 bits.
        time.contents.count == 12, bytes[time.contents.lowerBound] == 1
      else { continue }
      for byte in 0..<8 {
        bytes[time.contents.lowerBound + 4 + byte] = UInt8(
          truncatingIfNeeded: first >> (56 - 8 * UInt64(byte)))
      }
    }
  }

  private static func read(
    _ run: Atom, of bytes: Span<UInt8>, _ usual: UInt32, into sizes: inout [UInt32]
  ) -> Bool {
    guard run.contents.count >= 8 else { return false }
    var at = run.contents.lowerBound
    let (flags, count) = (Atom.word(bytes, at), Int(Atom.word(bytes, at + 4)))
    at += 8
    for flag: UInt32 in [0x1, 0x4] where flags & flag != 0 { at += 4 }
    let fields = [0x100, 0x200, 0x400, 0x800].filter { flags & UInt32($0) != 0 }
    guard count <= run.contents.upperBound, at + count * fields.count * 4 <= run.contents.upperBound
    else { return false }
    let place = fields.firstIndex(of: 0x200)
    for sample in 0..<count {
      sizes.append(
        place.map { Atom.word(bytes, at + 4 * (sample * fields.count + $0)) } ?? usual)
    }
    return true
  }
}
