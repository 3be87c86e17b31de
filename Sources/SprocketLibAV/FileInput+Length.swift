extension FileInput {
  /// Number of bytes missing at the end of a truncated file: the length in its headers minus its real length.
  /// 0 if the file is complete, or if its headers do not give a length (pipes, and formats other than MOV,
  /// MP4, AVI, WAV, MKV and GIF). For a GIF it is a lower bound. A file that is still being written may
  /// appear truncated.
  ///
  /// Needed because libavformat reports a normal end of file for truncated files.
  func missingByteCount() -> Int64 {
    guard !isStream, let start = bytes(at: 0) else { return 0 }
    if start.prefix(4).elementsEqual("RIFF".utf8) { return missingOfRIFF() }
    if start.prefix(4).elementsEqual([0x1A, 0x45, 0xDF, 0xA3]) { return missingOfMatroska(start) }
    if start.prefix(4).elementsEqual("GIF8".utf8) { return missingOfGIF(start) }
    return missingOfMovie()
  }

  /// Maximum number of atoms or chunks read. Larger: damaged files take longer to check.
  private static let mostParts = 1_000_000

  private func missing(upTo end: Int64) -> Int64 { max(0, end.clampedDifference(byteCount)) }

  /// Atom types of the top level. The check ends at any other type: it is data that another program appended
  /// to the movie, or the file is no movie.
  private static let atoms = [
    "ftyp", "styp", "moov", "moof", "mdat", "mfra", "sidx", "ssix", "prft", "emsg", "meta", "uuid",
    "free", "skip", "wide", "udta", "pdin", "pnot", "PICT",
  ]

  /// A MOV or MP4 file is a sequence of atoms: ISO/IEC 14496-12, 4.2.
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

  /// A WAV file is one RIFF chunk, an AVI file one or several.
  private func missingOfRIFF() -> Int64 {
    var at: Int64 = 0
    for _ in 0..<Self.mostParts {
      guard let bytes = bytes(at: at), bytes.prefix(4).elementsEqual("RIFF".utf8) else { return 0 }
      let length = Self.number(bytes[4..<8].reversed())
      // Programs that write to a pipe use these lengths: 0, 0x7FFFF024 (sox), 0x80000024 (arecord),
      // 0xFFFFFFFF (ffmpeg).
      guard length != 0, length < 0x7FFF_F000 else { return 0 }
      at = at.clampedSum(8 + length)
      // Some programs include the 8 bytes of the chunk's header in its length.
      if at >= byteCount { return missing(upTo: at) > 8 ? missing(upTo: at) : 0 }
      at = at.clampedSum(length & 1)
    }
    return 0
  }

  /// An MKV file is an EBML header and a segment: RFC 8794, 4 and RFC 9559, 5.1.
  private func missingOfMatroska(_ start: [UInt8]) -> Int64 {
    guard let (length, count) = Self.matroskaLength(start[4...]), length >= 0 else { return 0 }
    let at = Int64(4 + count).clampedSum(length)
    guard let bytes = bytes(at: at), bytes.prefix(4).elementsEqual([0x18, 0x53, 0x80, 0x67]),
      let (segment, bytesOfLength) = Self.matroskaLength(bytes[4...]), segment >= 0
    else { return 0 }
    return missing(upTo: at.clampedSum(Int64(4 + bytesOfLength)).clampedSum(segment))
  }

  /// A GIF is a sequence of blocks, each divided into parts of up to 255 bytes: GIF89a, 15 to 27. Players
  /// accept a file without the trailer, its last byte.
  private func missingOfGIF(_ start: [UInt8]) -> Int64 {
    // Size of a colour table, three bytes per colour.
    func tableSize(_ flags: UInt8) -> Int64 { flags & 0x80 == 0 ? 0 : 6 << Int64(flags & 7) }
    var at = 13 + tableSize(start[10])
    var parts = 0
    while parts < Self.mostParts {
      switch byte(at: at) {
      case 0x21: at += 2
      case 0x2C: at += 11 + tableSize(byte(at: at + 9) ?? 0)
      default: return 0
      }
      var count: UInt8
      repeat {
        guard let next = byte(at: at) else { return missing(upTo: at + 1) }
        (count, at, parts) = (next, at + 1 + Int64(next), parts + 1)
      } while count > 0 && parts < Self.mostParts
    }
    return 0
  }

  private func byte(at offset: Int64) -> UInt8? {
    guard offset < byteCount else { return nil }
    let start = max(0, min(offset, byteCount - 8))
    return bytes(at: start).map { $0[Int(offset - start)] }
  }

  /// Decodes an EBML length. Returns the value, -1 if it is unknown, and the number of bytes it takes.
  private static func matroskaLength(_ bytes: ArraySlice<UInt8>) -> (Int64, Int)? {
    guard let first = bytes.first, first != 0, first.leadingZeroBitCount < bytes.count else {
      return nil
    }
    let count = first.leadingZeroBitCount + 1
    let bits = 7 * count
    let value = number(bytes.prefix(count)) & ((1 << Int64(bits)) - 1)
    return (value == (1 << Int64(bits)) - 1 ? -1 : value, count)
  }

  /// A big-endian number of up to 8 bytes.
  private static func number(_ bytes: some Sequence<UInt8>) -> Int64 {
    bytes.reduce(0) { $0 << 8 | Int64($1) }
  }
}
