internal import SprocketCore
internal import SprocketLibAV

/// Writes a WAV file, whose header is right at each second: what is cut off can be played up to there.
///
/// Sound of 16 bits in one or two channels that are mono or stereo has the plain format that everything
/// reads, all else `WAVE_FORMAT_EXTENSIBLE`. A file of 4 GB and more is an RF64 (EBU Tech 3306), for which
/// the header has room from the start.
final class WAVWriter: AudioContents {
  private var header: WAVHeader
  private let output: any MuxerOutput
  /// Bytes of sound with the output, and of those how many the header tells of.
  private var written: UInt64 = 0
  private var told: UInt64 = 0
  /// Bytes after which the header is made right.
  private let pieceBytes: UInt64

  init(
    _ format: AudioFormat, tags: [(name: String, value: String)], fragment: Double = 1,
    output: any MuxerOutput
  ) throws(MuxerError) {
    header = WAVHeader(format, tags: tags)
    self.output = output
    pieceBytes = UInt64(fragment * Double(format.rate * format.sampleBytes))
    try writeHeader()
  }

  var durableSamples: UInt64 { told / UInt64(header.format.sampleBytes) }
  var durableEnd: Int64 { Int64(header.bytes.count) + Int64(told) }

  func write(_ samples: Span<UInt8>) throws(MuxerError) {
    try put(samples)
    if written - told >= pieceBytes {
      try writeHeader()
    }
  }

  func finish() throws(MuxerError) {
    let end = written
    if end % 2 == 1 { try put([0].span) }
    written = end
    try writeHeader()
  }

  private func put(_ bytes: Span<UInt8>) throws(MuxerError) {
    guard output.write(bytes, at: Int64(header.bytes.count) + Int64(written)) else { throw .output }
    written += UInt64(bytes.count)
  }

  private func writeHeader() throws(MuxerError) {
    header.tell(dataBytes: written)
    let bytes = header.bytes
    guard output.write(bytes.span, at: 0) else { throw .output }
    told = written
  }
}

/// The beginning of a WAV file, up to its samples: `RIFF` or `RF64`, room for `ds64`, `fmt `, tags, for
/// floats `fact`, `data`.
struct WAVHeader {
  let format: AudioFormat
  private(set) var bytes: [UInt8]

  /// For a file without samples.
  init(_ format: AudioFormat, tags: [(name: String, value: String)]) {
    self.format = format
    bytes = Array("RIFF____WAVE".utf8) + Self.chunk("JUNK", [UInt8](repeating: 0, count: 28))
    bytes += Self.chunk("fmt ", Self.description(format)) + Self.list(tags)
    if format.number == .f32 { bytes += Self.chunk("fact", [0, 0, 0, 0]) }
    bytes += Self.chunk("data", [])
    tell(dataBytes: 0)
  }

  /// Puts in the sizes of a file that has so many bytes of samples. Allocates nothing.
  mutating func tell(dataBytes: UInt64) {
    let samples = dataBytes / UInt64(format.sampleBytes)
    let size = UInt64(bytes.count) - 8 + dataBytes + dataBytes % 2
    let isLong = size > UInt64(UInt32.max)
    put(isLong ? 0x3436_4652 : 0x4646_4952 as UInt32, at: 0)  // RF64, RIFF
    put(isLong ? .max : UInt32(size), at: 4)
    put(isLong ? 0x3436_7364 : 0x4B4E_554A as UInt32, at: 12)  // ds64, JUNK
    if isLong {
      put(size, at: 20)
      put(dataBytes, at: 28)
      put(samples, at: 36)
    }
    if format.number == .f32 { put(UInt32(clamping: samples), at: bytes.count - 12) }
    put(isLong ? .max : UInt32(dataBytes), at: bytes.count - 4)
  }

  private mutating func put<Word: FixedWidthInteger>(_ word: Word, at place: Int) {
    for index in 0..<Word.bitWidth / 8 {
      bytes[place + index] = UInt8(truncatingIfNeeded: word >> Word(8 * index))
    }
  }

  /// `WAVEFORMATEX`, or `WAVEFORMATEXTENSIBLE` where the plain one does not say enough.
  private static func description(_ format: AudioFormat) -> [UInt8] {
    // One channel is front centre, two are front left and right. The speakers of more channels are unknown.
    let usual: UInt32 = format.channels == 1 ? 4 : format.channels == 2 ? 3 : 0
    let speakers = format.speakers == 0 ? usual : format.speakers
    let isPlain = format.number == .s16 && format.channels <= 2 && format.hasUsualSpeakers
    // PCM, IEEE float.
    let kind: UInt16 = format.number == .f32 ? 3 : 1
    let bits = UInt16(format.number.bytes * 8)
    var bytes = number(isPlain ? kind : 0xFFFE) + number(UInt16(format.channels))
    bytes += number(UInt32(format.rate)) + number(UInt32(format.rate * format.sampleBytes))
    bytes += number(UInt16(format.sampleBytes)) + number(bits)
    guard !isPlain else { return bytes }
    bytes += number(UInt16(22)) + number(bits) + number(speakers) + number(kind)
    // The rest of KSDATAFORMAT_SUBTYPE_PCM and of KSDATAFORMAT_SUBTYPE_IEEE_FLOAT.
    return bytes + [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
  }

  /// Tags as players show them: a title, a date and so on; the others stand in the comment, behind its text.
  private static func list(_ tags: [(name: String, value: String)]) -> [UInt8] {
    func text(_ kind: String, _ value: String) -> [UInt8] {
      value.isEmpty ? [] : chunk(kind, Array(value.utf8) + [0])
    }
    let known = [
      "title": "INAM", "creation_time": "ICRD", "date": "ICRD", "artist": "IART", "album": "IPRD",
      "track": "IPRT", "genre": "IGNR", "copyright": "ICOP",
      "language": "ILNG",
    ]
    var bytes: [UInt8] = []
    for tag in tags { known[tag.name].map { bytes += text($0, tag.value) } }
    let comment = tags.filter { $0.name == "comment" }.map(\.value)
    let others = tags.filter { $0.name != "comment" && known[$0.name] == nil }
      .map { "\($0.name)=\($0.value)" }
    bytes += text("ICMT", (comment + others).joined(separator: " "))
    return bytes.isEmpty ? [] : chunk("LIST", Array("INFO".utf8) + bytes)
  }

  private static func chunk(_ kind: String, _ contents: [UInt8]) -> [UInt8] {
    Array(kind.utf8) + number(UInt32(contents.count)) + contents
      + [UInt8](repeating: 0, count: contents.count % 2)
  }

  private static func number<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
    (0..<Word.bitWidth / 8).map { UInt8(truncatingIfNeeded: word >> Word(8 * $0)) }
  }
}
