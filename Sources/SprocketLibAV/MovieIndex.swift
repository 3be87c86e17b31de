/// The complete index (`moov`) of a MOV or MP4, made from the one that its recording began with.
///
/// That one describes the frames but has none; the same description with full tables turns the
/// recording into a plain file. Atoms are those of Apple's QuickTime File Format and of ISO/IEC
/// 14496-12, section 8.
struct MovieIndex {
  private var bytes: [UInt8] = []
  private let tables: [SampleTable?]
  /// Times of each track, in ticks that fit into the index.
  private let times: [IndexTimes?]
  /// Sizes and places of the samples are those of the source.
  private let keepsPlaces: Bool
  /// Ticks per second of the movie's own clock.
  private var movieScale: UInt64 = 0
  /// Duration of the empty edits at each track's start, in ticks of the movie's clock. Only `retime` sets it.
  private var waits: [UInt64] = []
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

  /// The index that libavformat wrote of a whole file, with the times of these tables, one for each track, or
  /// `nil` for one that stays as it is; `index` as it is where it is none.
  static func retime(_ index: [UInt8], tables: [SampleTable?]) -> [UInt8] {
    // The index may have something before it: the end of `mdat`.
    guard let start = position(ofIndexIn: index) else { return index }
    var new = MovieIndex(tables: tables, keepsPlaces: true)
    let source = index.span
    guard let moov = Atom.first(in: source, start..<index.count),
      let movieScale = new.timeScale(of: "mvhd", in: source, moov.contents)
    else { return index }
    new.movieScale = UInt64(movieScale)
    new.waits = Edit.waits(ofTracksIn: moov, source)
    new.copy(moov, of: source, nil)
    return Array(index[..<start]) + new.bytes + Array(index[moov.range.upperBound...])
  }

  /// Where a whole index begins that reaches to the end, or to another atom.
  private static func position(ofIndexIn bytes: [UInt8]) -> Int? {
    guard bytes.count >= 8 else { return nil }
    for at in 0...(bytes.count - 8) where bytes[at + 4] == UInt8(ascii: "m") {
      if let atom = Atom.first(in: bytes.span, at..<bytes.count), atom.is("moov"),
        Atom.find("mvhd", in: bytes.span, atom.contents) != nil
      {
        return at
      }
    }
    return nil
  }

  private init(tables: [SampleTable?], keepsPlaces: Bool = false) {
    (self.tables, self.keepsPlaces) = (tables, keepsPlaces)
    times = tables.map { $0.map { IndexTimes($0) } }
  }

  /// Duration of a track and of the empty edits at its start, in ticks of the movie's clock.
  private func movieDuration(_ track: Int) -> UInt64 {
    (times[track]?.movieDuration(movieScale) ?? 0) &+ (track < waits.count ? waits[track] : 0)
  }

  private static let containers = ["moov", "trak", "mdia", "minf", "stbl", "edts"]

  /// Copies an atom; `table` is that of the track that it belongs to.
  private mutating func copy(_ atom: Atom, of source: Span<UInt8>, _ track: Int?) {
    if atom.is("mvex") { return }  // It says that fragments follow.
    if atom.is("mvhd") {
      let duration = max(
        times.indices.map(movieDuration).max() ?? 0,
        keepsPlaces ? self.duration(of: atom, in: source) : 0)
      return copyHeader(atom, of: source, duration: duration, words: 1)
    }
    if let track, let table = tables[track], let times = times[track] {
      // Tables without samples are replaced.
      let replaced =
        keepsPlaces
        ? ["stts", "ctts"] : ["stts", "ctts", "stss", "stsc", "stsz", "stco"]
      if replaced.contains(where: { atom.is($0) }) { return }
      if atom.is("mdhd") {
        return copyHeader(
          atom, of: source, duration: times.length, words: 1, scale: UInt32(times.ticksPerSecond))
      }
      if atom.is("tkhd") {
        copyHeader(atom, of: source, duration: movieDuration(track), words: 2)
        if table.hidesEnd { appendEdit(ofLength: movieDuration(track)) }
        return
      }
      if atom.is("elst") {
        // What was handed on of the time between decoding and showing is a second at most.
        let ahead = max(0, (table.shifts.first?.value ?? 0) - Int64(table.ticksPerSecond))
        return copyEdits(
          atom, of: source, duration: movieDuration(track), UInt64(ahead),
          divisor: times.divisor)
      }
    }
    guard Self.containers.contains(where: { atom.is($0) }) else {
      return append(source.extracting(atom.range))
    }
    var track = track
    if atom.is("trak") {
      track = trackCount < tables.count ? trackCount : nil
      trackCount += 1
    }
    let start = begin(atom.kind)
    var at = atom.contents.lowerBound
    while let child = Atom.first(in: source, at..<atom.contents.upperBound) {
      copy(child, of: source, track)
      at = child.range.upperBound
    }
    if atom.is("stbl"), let track, let table = tables[track], let times = times[track] {
      appendTimes(times, isReordered: table.isReordered)
      if !keepsPlaces { appendPlaces(table) }
    }
    end(start)
  }

  /// An edit list; its last edit lasts as long as the track. Edits begin `ahead` ticks later.
  private mutating func copyEdits(
    _ atom: Atom, of source: Span<UInt8>, duration: UInt64, _ ahead: UInt64, divisor: UInt64
  ) {
    let edits = Edit.all(of: atom, in: source)
    guard !edits.isEmpty else { return append(source.extracting(atom.range)) }
    let start = begin(atom.kind)
    append(UInt32(1) << 24)
    append(UInt32(edits.count))
    var before: UInt64 = 0
    for (index, edit) in edits.enumerated() {
      let isLast = index == edits.count - 1 && edit.place != nil
      append(isLast ? max(duration, before) - before : edit.length)
      append(edit.place.map { ($0 &+ ahead) / divisor } ?? .max)
      append(source.extracting(edit.rateOffset..<edit.rateOffset + 4))
      before &+= edit.length
    }
    end(start)
  }

  /// An edit list that shows a track from its beginning, for so long.
  private mutating func appendEdit(ofLength duration: UInt64) {
    let edits = begin(Atom.kind("edts"))
    let start = beginTable("elst", count: 1, version: 1)
    append(duration)
    append(UInt64(0))
    append(UInt32(1 << 16))
    end(start)
    end(edits)
  }

  /// A header with times of 32 bits, or of 64 if it needs them: made and changed, `words` words,
  /// duration, and the rest.
  private mutating func copyHeader(
    _ atom: Atom, of source: Span<UInt8>, duration: UInt64, words: Int, scale: UInt32? = nil
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
    if let scale { append(scale) } else { append(source.extracting(middle..<middle + 4 * words)) }
    if needsLong { append(duration) } else { append(UInt32(duration)) }
    append(source.extracting(rest..<contents.upperBound))
    end(start)
  }

  private mutating func appendTimes(_ times: IndexTimes, isReordered: Bool) {
    var start = beginTable("stts", count: times.durations.count)
    for run in times.durations {
      append(run.count)
      append(UInt32(clamping: run.value))
    }
    end(start)
    if isReordered {
      // libavformat learns from all entries but the last two how early pictures are shown. Without these it
      // calls the times of some short files invalid; empty ones end the table.
      let empty = 2
      start = beginTable("ctts", count: times.shifts.count + empty, version: 1)
      for run in times.shifts {
        append(run.count)
        append(UInt32(bitPattern: Int32(clamping: run.value)))
      }
      for _ in 0..<empty {
        append(UInt32(0))
        append(UInt32(0))
      }
      end(start)
    }
  }

  private mutating func appendPlaces(_ table: SampleTable) {
    var start = 0
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

  /// What a movie's header says, in ticks of its clock.
  private func duration(of header: Atom, in source: Span<UInt8>) -> UInt64 {
    let start = header.contents.lowerBound
    guard header.contents.count >= 32 else { return 0 }
    guard source[start] == 1 else { return UInt64(Atom.word(source, start + 16)) }
    return UInt64(Atom.word(source, start + 24)) << 32 | UInt64(Atom.word(source, start + 28))
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
