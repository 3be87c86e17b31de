/// The complete index (`moov`) of a MOV or MP4, made from the one that its recording began with.
///
/// That one describes the frames but has none; the same description with full tables turns the
/// recording into a plain file. Atoms are those of Apple's QuickTime File Format and of ISO/IEC
/// 14496-12, section 8.
struct MovieIndex {
  private var bytes: [UInt8] = []
  private let tables: [SampleTable]
  /// Ticks per second of the movie's own clock.
  private var movieScale: UInt64 = 0
  /// Tracks that were copied.
  private var trackCount = 0

  /// The whole atom, with a table for each track, in order; `nil` if `initial` is no index.
  static func make(from initial: Span<UInt8>, tables: [SampleTable]) -> [UInt8]? {
    guard let moov = Atom.first(in: initial, 0..<initial.count), moov.is("moov") else { return nil }
    var index = MovieIndex(tables: tables)
    let size = tables.reduce(0) { sum, table in
      sum + table.sizes.count * 4 + table.offsets.count * 8 + table.durations.count * 8
        + table.chunks.count * 12
    }
    index.bytes.reserveCapacity(initial.count + size + 256)
    guard let movieScale = index.timeScale(of: "mvhd", in: initial, moov.contents) else {
      return nil
    }
    index.movieScale = UInt64(movieScale)
    index.copy(moov, of: initial, nil)
    return index.bytes
  }

  private init(tables: [SampleTable]) { self.tables = tables }

  /// Of a track, in ticks of the movie's own clock; rounded up, since players end where it says.
  private func movieDuration(_ table: SampleTable) -> UInt64 {
    let product = table.duration.multipliedFullWidth(by: movieScale)
    let (whole, rest) = UInt64(table.ticksPerSecond).dividingFullWidth(product)
    return rest > 0 ? whole + 1 : whole
  }

  private static let containers = ["moov", "trak", "mdia", "minf", "stbl"]

  /// Copies an atom; `table` is that of the track that it belongs to.
  private mutating func copy(_ atom: Atom, of source: Span<UInt8>, _ table: SampleTable?) {
    if atom.is("mvex") { return }  // It says that fragments follow.
    if atom.is("mvhd") {
      let duration = tables.map { movieDuration($0) }.max() ?? 0
      return copyHeader(atom, of: source, duration: duration, words: 1)
    }
    if let table {
      // Tables without samples are replaced.
      if ["stts", "ctts", "stss", "stsc", "stsz", "stco"].contains(where: { atom.is($0) }) {
        return
      }
      if atom.is("mdhd") {
        return copyHeader(atom, of: source, duration: table.duration, words: 1)
      }
      if atom.is("tkhd") {
        return copyHeader(atom, of: source, duration: movieDuration(table), words: 2)
      }
    }
    guard Self.containers.contains(where: { atom.is($0) }) else {
      return append(source.extracting(atom.range))
    }
    var table = table
    if atom.is("trak") {
      table = trackCount < tables.count ? tables[trackCount] : nil
      trackCount += 1
    }
    let start = begin(atom.kind)
    var at = atom.contents.lowerBound
    while let child = Atom.first(in: source, at..<atom.contents.upperBound) {
      copy(child, of: source, table)
      at = child.range.upperBound
    }
    if atom.is("stbl"), let table { append(table) }
    end(start)
  }

  /// A header with times of 32 bits, or of 64 if it needs them: made and changed, `words` words,
  /// duration, and the rest.
  private mutating func copyHeader(
    _ atom: Atom, of source: Span<UInt8>, duration: UInt64, words: Int
  ) {
    let contents = atom.contents
    guard !contents.isEmpty else { return append(source.extracting(atom.range)) }
    let isLong = source[contents.lowerBound] == 1
    let timeSize = isLong ? 8 : 4
    let middle = contents.lowerBound + 4 + 2 * timeSize
    let rest = middle + 4 * words + timeSize
    guard rest <= contents.upperBound else { return append(source.extracting(atom.range)) }
    let needsLong = isLong || duration > UInt64(UInt32.max)
    let start = begin(atom.kind)
    append(UInt8(needsLong ? 1 : 0))
    append(source.extracting(contents.lowerBound + 1..<contents.lowerBound + 4))
    for index in 0..<2 {
      let time = contents.lowerBound + 4 + index * timeSize
      if needsLong, !isLong { append(UInt32(0)) }
      append(source.extracting(time..<time + timeSize))
    }
    append(source.extracting(middle..<middle + 4 * words))
    if needsLong { append(duration) } else { append(UInt32(duration)) }
    append(source.extracting(rest..<contents.upperBound))
    end(start)
  }

  private mutating func append(_ table: SampleTable) {
    var start = beginTable("stts", count: table.durations.count)
    for run in table.durations {
      append(run.count)
      append(run.value)
    }
    end(start)
    if table.isReordered {
      // libavformat learns from all entries but the last two how early pictures are shown. Without these it
      // calls the times of some short files invalid; empty ones end the table.
      let empty = 2
      start = beginTable("ctts", count: table.shifts.count + empty, version: 1)
      for run in table.shifts {
        append(run.count)
        append(run.value)
      }
      for _ in 0..<empty {
        append(UInt32(0))
        append(UInt32(0))
      }
      end(start)
    }
    if table.hasReferences {
      start = beginTable("stss", count: table.keys.count)
      for number in table.keys { append(number) }
      end(start)
    }
    start = beginTable("stsc", count: table.chunks.count)
    var chunk: UInt32 = 1
    for run in table.chunks {
      append(chunk)
      append(run.value)
      append(UInt32(1))
      chunk += run.count
    }
    end(start)
    start = begin(Atom.kind("stsz"))
    append(UInt32(0))
    append(table.sampleBytes)
    append(UInt32(clamping: table.count))
    for size in table.sizes { append(size) }
    end(start)
    start = beginTable("co64", count: table.offsets.count)
    for offset in table.offsets { append(offset) }
    end(start)
  }

  private mutating func beginTable(_ kind: String, count: Int, version: UInt32 = 0) -> Int {
    let start = begin(Atom.kind(kind))
    append(version << 24)
    append(UInt32(count))
    return start
  }

  private func timeScale(
    of kind: String, in source: Span<UInt8>, _ range: Range<Int>
  ) -> UInt32? {
    guard let header = Atom.find(kind, in: source, range), !header.contents.isEmpty else {
      return nil
    }
    let start = header.contents.lowerBound
    let at = start + (source[start] == 1 ? 20 : 12)
    guard at + 4 <= header.contents.upperBound else { return nil }
    return Atom.word(source, at)
  }

  // MARK: Bytes

  private mutating func begin(_ kind: UInt32) -> Int {
    append(UInt32(0))
    append(kind)
    return bytes.count - 8
  }

  private mutating func end(_ start: Int) {
    let size = UInt32(bytes.count - start)
    for index in 0..<4 {
      bytes[start + index] = UInt8(truncatingIfNeeded: size >> (24 - 8 * index))
    }
  }

  private mutating func append<Word: FixedWidthInteger>(_ word: Word) {
    for shift in stride(from: Word.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: word >> Word(shift)))
    }
  }

  private mutating func append(_ span: Span<UInt8>) {
    for index in span.indices { bytes.append(span[index]) }
  }
}

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
