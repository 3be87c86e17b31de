extension FileInput {
  /// Bytes that the file lacks at its end of those that its own headers tell of. 0 where they do not tell:
  /// of pipes, of kinds other than MOV, MP4, AVI, WAV and MKV. What another program is still writing may look
  /// cut off for a moment.
  ///
  /// libavformat ends such a file as if it were whole.
  func missingByteCount() -> Int64 {
    guard !isStream, let start = bytes(at: 0) else { return 0 }
    if start.prefix(4).elementsEqual("RIFF".utf8) { return missingOfRIFF() }
    if start.prefix(4).elementsEqual([0x1A, 0x45, 0xDF, 0xA3]) { return missingOfMatroska(start) }
    return looksLikeMovie(start) ? missingOfMovie() : 0
  }

  /// Parts of a file that are looked at. Larger: damaged files take longer.
  private static let mostParts = 1_000_000

  private func missing(upTo end: Int64) -> Int64 { max(0, end.clampedDifference(byteCount)) }

  private func looksLikeMovie(_ start: [UInt8]) -> Bool {
    ["ftyp", "moov", "mdat", "wide", "free", "skip"].contains {
      start[4..<8].elementsEqual($0.utf8)
    }
  }

  /// Atoms of the top level. What is none of them is something that another program put behind the movie.
  private static let atoms = [
    "ftyp", "styp", "moov", "moof", "mdat", "mfra", "sidx", "ssix", "prft", "emsg", "meta", "uuid",
    "free", "skip", "wide", "udta", "pdin", "pnot", "PICT",
  ]

  /// A MOV or MP4 is atoms, one behind the other: ISO/IEC 14496-12, 4.2.
  private func missingOfMovie() -> Int64 {
    var at: Int64 = 0
    for _ in 0..<Self.mostParts {
      guard let bytes = bytes(at: at),
        Self.atoms.contains(where: { bytes[4..<8].elementsEqual($0.utf8) })
      else { return 0 }
      var length = Self.number(bytes[0..<4])
      if length == 1 { length = Self.number(bytes[8..<16]) }
      guard length >= 8 else { return 0 }  // 0: to the file's end.
      at = at.clampedSum(length)
      if at >= byteCount { return missing(upTo: at) }
    }
    return 0
  }

  /// An AVI or WAV is a chunk; a long AVI several.
  private func missingOfRIFF() -> Int64 {
    var at: Int64 = 0
    for _ in 0..<Self.mostParts {
      guard let bytes = bytes(at: at), bytes.prefix(4).elementsEqual("RIFF".utf8) else { return 0 }
      let length = Self.number(bytes[4..<8].reversed())
      // Recorders that cannot go back write 0, or about the most that fits: sox 7FFFF024 (hexadecimal),
      // arecord 80000024, ffmpeg FFFFFFFF.
      guard length != 0, length < 0x7FFF_F000 else { return 0 }
      at = at.clampedSum(8 + length)
      // Some count the header, too.
      if at >= byteCount { return missing(upTo: at) > 8 ? missing(upTo: at) : 0 }
      at = at.clampedSum(length & 1)
    }
    return 0
  }

  /// An MKV is a header and a segment: RFC 8794, 4 and RFC 9559, 5.1.
  private func missingOfMatroska(_ start: [UInt8]) -> Int64 {
    guard let (length, count) = Self.matroskaLength(start[4...]), length >= 0 else { return 0 }
    let at = Int64(4 + count).clampedSum(length)
    guard let bytes = bytes(at: at), bytes.prefix(4).elementsEqual([0x18, 0x53, 0x80, 0x67]),
      let (segment, bytesOfLength) = Self.matroskaLength(bytes[4...]), segment >= 0
    else { return 0 }
    return missing(upTo: at.clampedSum(Int64(4 + bytesOfLength)).clampedSum(segment))
  }

  /// A length and how many bytes say it; -1: not known.
  private static func matroskaLength(_ bytes: ArraySlice<UInt8>) -> (Int64, Int)? {
    guard let first = bytes.first, first != 0, first.leadingZeroBitCount < bytes.count else {
      return nil
    }
    let count = first.leadingZeroBitCount + 1
    let bits = 7 * count
    let value = number(bytes.prefix(count)) & ((1 << Int64(bits)) - 1)
    return (value == (1 << Int64(bits)) - 1 ? -1 : value, count)
  }

  /// Of up to 8 bytes, the first one the highest.
  private static func number(_ bytes: some Sequence<UInt8>) -> Int64 {
    bytes.reduce(0) { $0 << 8 | Int64($1) }
  }
}
