internal import SprocketCore
internal import SprocketLibAV

/// Writes a WAV file, whose header is right at each second: what is cut off can be played up to there.
///
/// Sound of 16 bits in one or two channels has the plain format that everything reads, all else
/// `WAVE_FORMAT_EXTENSIBLE`. A file of 4 GB and more is an RF64 (EBU Tech 3306), for which the header has
/// room from the start.
final class WAVWriter: AudioContents {
  private let header: WAVHeader
  private let output: any MuxerOutput
  /// What is not with the output yet.
  private var gathered: [UInt8] = []
  /// Bytes of sound with the output, and of those how many the header tells of.
  private var written: UInt64 = 0
  private var told: UInt64 = 0
  /// Bytes that are gathered at most. Larger: fewer writes, of more bytes.
  private static let limit = 1 << 16

  init(
    _ format: AudioFormat, tags: [(name: String, value: String)], output: any MuxerOutput
  ) throws(MuxerError) {
    header = WAVHeader(format, tags: tags)
    self.output = output
    gathered.reserveCapacity(Self.limit)
    try writeHeader()
  }

  var durableSamples: UInt64 { told / UInt64(header.format.sampleBytes) }
  var durableEnd: Int64 { Int64(header.byteCount) + Int64(told) }

  func write(_ samples: Span<UInt8>) throws(MuxerError) {
    if gathered.count + samples.count > Self.limit { try flush() }
    if samples.count > Self.limit {
      try put(samples)
    } else {
      for index in samples.indices { gathered.append(samples[index]) }
    }
    let second = UInt64(header.format.rate * header.format.sampleBytes)
    if written + UInt64(gathered.count) - told >= second {
      try flush()
      try writeHeader()
    }
  }

  func finish() throws(MuxerError) {
    try flush()
    if written % 2 == 1 {
      guard output.write([0].span, at: Int64(header.byteCount) + Int64(written)) else {
        throw .output
      }
    }
    try writeHeader()
  }

  private func flush() throws(MuxerError) {
    var taken: [UInt8] = []
    swap(&taken, &gathered)
    defer {
      taken.removeAll(keepingCapacity: true)
      swap(&taken, &gathered)
    }
    try put(taken.span)
  }

  private func put(_ bytes: Span<UInt8>) throws(MuxerError) {
    guard output.write(bytes, at: Int64(header.byteCount) + Int64(written)) else { throw .output }
    written += UInt64(bytes.count)
  }

  private func writeHeader() throws(MuxerError) {
    guard output.write(header.bytes(dataBytes: written).span, at: 0) else { throw .output }
    told = written
  }
}

/// The beginning of a WAV file, up to its samples: `RIFF` or `RF64`, room for `ds64`, `fmt `, for floats
/// `fact`, tags, `data`.
struct WAVHeader {
  let format: AudioFormat
  /// `fmt ` and tags, which do not change.
  private let fixed: [UInt8]

  /// Bytes before the samples.
  var byteCount: Int { 12 + 36 + fixed.count + (isFloat ? 12 : 0) + 8 }

  private var isFloat: Bool { format.number == .f32 }

  init(_ format: AudioFormat, tags: [(name: String, value: String)]) {
    self.format = format
    fixed = Self.chunk("fmt ", Self.description(format)) + Self.list(tags)
  }

  /// For a file that has so many bytes of samples.
  func bytes(dataBytes: UInt64) -> [UInt8] {
    let samples = dataBytes / UInt64(format.sampleBytes)
    let size = UInt64(byteCount) - 8 + dataBytes + dataBytes % 2
    let isLong = size > UInt64(UInt32.max)
    let unknown = UInt32.max
    var bytes =
      Array((isLong ? "RF64" : "RIFF").utf8) + Self.number(isLong ? unknown : UInt32(size))
    bytes += Array("WAVE".utf8)
    if isLong {
      bytes += Self.chunk(
        "ds64",
        Self.number(size) + Self.number(dataBytes) + Self.number(samples) + Self.number(UInt32(0)))
    } else {
      bytes += Self.chunk("JUNK", [UInt8](repeating: 0, count: 28))
    }
    bytes += fixed
    if isFloat { bytes += Self.chunk("fact", Self.number(UInt32(clamping: samples))) }
    bytes += Array("data".utf8) + Self.number(isLong ? unknown : UInt32(dataBytes))
    return bytes
  }

  /// `WAVEFORMATEX`, or `WAVEFORMATEXTENSIBLE` where the plain one does not say enough.
  private static func description(_ format: AudioFormat) -> [UInt8] {
    let isPlain = format.number == .s16 && format.channels <= 2
    // PCM, IEEE float.
    let kind: UInt16 = format.number == .f32 ? 3 : 1
    let bits = UInt16(format.number.bytes * 8)
    var bytes = number(isPlain ? kind : 0xFFFE) + number(UInt16(format.channels))
    bytes += number(UInt32(format.rate)) + number(UInt32(format.rate * format.sampleBytes))
    bytes += number(UInt16(format.sampleBytes)) + number(bits)
    guard !isPlain else { return bytes }
    // Front centre, front left and right; of more microphones nobody knows where they stand.
    let speakers: UInt32 = format.channels == 1 ? 4 : format.channels == 2 ? 3 : 0
    bytes += number(UInt16(22)) + number(bits) + number(speakers) + number(kind)
    // The rest of KSDATAFORMAT_SUBTYPE_PCM and of KSDATAFORMAT_SUBTYPE_IEEE_FLOAT.
    return bytes + [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
  }

  /// Tags as players show them: a title, a date, and the others as a comment.
  private static func list(_ tags: [(name: String, value: String)]) -> [UInt8] {
    func text(_ kind: String, _ value: String) -> [UInt8] {
      value.isEmpty ? [] : chunk(kind, Array(value.utf8) + [0])
    }
    let known = ["title": "INAM", "creation_time": "ICRD"]
    var bytes: [UInt8] = []
    for tag in tags { known[tag.name].map { bytes += text($0, tag.value) } }
    let others = tags.filter { known[$0.name] == nil }.map { "\($0.name)=\($0.value)" }
    bytes += text("ICMT", others.joined(separator: " "))
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
