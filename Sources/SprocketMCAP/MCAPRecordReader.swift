internal import SprocketDeflate

/// Reads an MCAP file record by record: from front to back, or at offsets that its summary gives.
///
/// Files may be damaged or written by other programs. Every length is checked against the bytes that are
/// left, every checksum is verified, and records and chunks of more than 1 GiB are refused.
@safe
public struct MCAPRecordReader: ~Copyable {
  private let input: MCAPInput
  /// Bytes of the file up to which `next` found whole records.
  public private(set) var position: UInt64
  /// Whether `next` came to the footer and the end of the file. If it returned `nil` before, the file
  /// was cut off at `position`.
  public private(set) var isComplete = false
  /// Checksum of the data section, then of the summary section.
  private var checksum = CRC32()
  private var raw = MCAPBytes(capacity: 1 << 12)
  private var content = MCAPBytes(capacity: 1 << 12)
  /// The part of the chunk in `content` that was not returned yet.
  private var rest = MCAPCursor(0..<0)
  private var chunkOffset: UInt64 = 0
  private var decoders = MCAPDecoders()

  /// Opens the file. When `isInterrupted` says so, all that reads the file throws
  /// ``MCAPError/Code/interrupted`` at the next opportunity.
  public static func open(
    _ path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MCAPError) -> MCAPRecordReader {
    let input = try MCAPInput(path: path, isInterrupted: isInterrupted)
    var reader = MCAPRecordReader(input)
    guard try reader.input.hasMagic(at: 0, &reader.raw) else { throw reader.input.notMCAP }
    reader.checksum.update(unsafe Span(_unsafeElements: reader.raw.elements))
    return reader
  }

  private init(_ input: consuming MCAPInput) {
    self.input = input
    position = UInt64(MCAPFormat.magic.count)
  }

  public var path: String { input.path }
  /// Bytes of the file.
  public var size: UInt64 { input.size }

  /// The next record; `nil` at the end of the file, or where it was cut off. In place of a chunk, the
  /// records in it are given.
  public mutating func next() throws(MCAPError) -> MCAPRecord? {
    while true {
      if let record = try nextInChunk() { return record }
      if isComplete { return nil }
      guard let (opcode, length) = try input.head(at: position, &raw) else { return nil }
      let start = position
      try input.readRecord(at: start, length, into: &raw)
      note(opcode)
      position = start + UInt64(MCAPFormat.recordHeaderSize) + length
      if opcode == MCAPOpcode.chunk {
        try openChunk(at: start, length)
        continue
      }
      guard let record = MCAPInput.decode(opcode, raw) else { throw input.damaged(start) }
      try check(record, at: start)
      return record
    }
  }

  /// The record at a place that an index names. A chunk is given as it is.
  public mutating func record(at offset: UInt64) throws(MCAPError) -> MCAPRecord {
    try input.record(at: offset, &raw)
  }

  /// The records in the chunk at a place that an index names.
  public mutating func records(inChunkAt offset: UInt64) throws(MCAPError) -> [MCAPRecord] {
    guard offset <= size, let (opcode, length) = try input.head(at: offset, &raw),
      opcode == MCAPOpcode.chunk
    else { throw input.damaged(offset) }
    let before = rest
    // What `next` has still to give out of another chunk is read again below.
    let beforeOffset = chunkOffset
    try openChunk(at: offset, length)
    var records: [MCAPRecord] = []
    while let record = try nextInChunk() { records.append(record) }
    if before.rest > 0, let (_, length) = try input.head(at: beforeOffset, &raw) {
      try openChunk(at: beforeOffset, length)
      rest = before
    }
    return records
  }

  /// The records of the summary, the footer last, found from the file's end; `nil` for a file that was
  /// cut off. A file without a summary has the footer alone.
  public mutating func summary() throws(MCAPError) -> [MCAPRecord]? {
    let magic = UInt64(MCAPFormat.magic.count)
    let footerSize = UInt64(MCAPFormat.recordHeaderSize + MCAPFormat.footerSize)
    guard size >= 2 * magic + footerSize, try input.hasMagic(at: size - magic, &raw) else {
      return nil
    }
    let footerStart = size - magic - footerSize
    guard case .footer(let footer) = try record(at: footerStart) else {
      throw input.damaged(footerStart)
    }
    let start = footer.summaryStart == 0 ? footerStart : footer.summaryStart
    // The whole summary, and the footer up to its checksum.
    guard start >= magic, start <= footerStart, size - start <= UInt64(MCAPReader.limit) else {
      throw input.damaged(footerStart)
    }
    try input.read(start, Int(footerStart + footerSize - start), into: &raw)
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    if footer.checksum != 0 {
      var found = CRC32()
      found.update(bytes.extracting(0..<bytes.count - 4))
      if found.value != footer.checksum { throw input.damaged(start) }
    }
    var cursor = MCAPCursor(0..<bytes.count)
    var records: [MCAPRecord] = []
    while cursor.rest > 0 {
      let place = start + UInt64(cursor.position)
      guard let record = cursor.takeRecord(of: bytes),
        let decoded = MCAPRecord(record.opcode, bytes, record.content)
      else { throw input.damaged(place) }
      records.append(decoded)
    }
    return records
  }
}

extension MCAPRecordReader {
  /// Adds the record in `raw` to the checksum, unless it is the record that holds the checksum.
  private mutating func note(_ opcode: UInt8) {
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    switch opcode {
    case MCAPOpcode.dataEnd: break
    case MCAPOpcode.footer:
      let count = MCAPFormat.recordHeaderSize + 16
      checksum.update(bytes.extracting(0..<min(count, bytes.count)))
    default: checksum.update(bytes)
    }
  }

  private mutating func check(_ record: MCAPRecord, at start: UInt64) throws(MCAPError) {
    switch record {
    case .dataEnd(let expected):
      if expected != 0, expected != checksum.value { throw input.damaged(start) }
      checksum = CRC32()
    case .footer(let footer):
      if footer.checksum != 0, footer.checksum != checksum.value { throw input.damaged(start) }
      let magic = UInt64(MCAPFormat.magic.count)
      guard size - position >= magic else { break }
      guard try input.hasMagic(at: position, &raw) else { throw input.damaged(position) }
      position += magic
      isComplete = true
    default: break
    }
  }

  private mutating func openChunk(at offset: UInt64, _ length: UInt64) throws(MCAPError) {
    rest = MCAPCursor(0..<0)
    chunkOffset = offset
    let start = offset + UInt64(MCAPFormat.recordHeaderSize)
    try input.read(start, Int(min(length, MCAPReader.chunkHeaderLimit)), into: &raw)
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    guard let place = MCAPChunkPlace(bytes, at: start, length: length) else {
      throw input.damaged(offset)
    }
    try input.load(place, &decoders, raw: &raw, into: &content)
    rest = MCAPCursor(0..<content.count)
  }

  private mutating func nextInChunk() throws(MCAPError) -> MCAPRecord? {
    if rest.rest == 0 { return nil }
    let bytes = unsafe Span(_unsafeElements: content.elements)
    guard let record = rest.takeRecord(of: bytes),
      let decoded = MCAPRecord(record.opcode, bytes, record.content)
    else {
      rest = MCAPCursor(0..<0)
      throw input.damaged(chunkOffset)
    }
    return decoded
  }
}
