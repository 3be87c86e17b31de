/// A chunk of a file, or a message that lies in none: where it is, and what is in it.
public struct MCAPChunkPlace: Sendable {
  enum Compression: Sendable { case none, lz4, zstd, other }

  /// Position of the compressed records in the file.
  public internal(set) var offset: UInt64
  var compressedSize: Int
  var compression: Compression
  var checksum: UInt32
  /// Bytes once decompressed.
  public internal(set) var size: Int
  /// One of these makes no sense, so that none is used.
  var hasBrokenIndex = false
  /// It is a message that lies in no chunk.
  var isMessage = false
  /// Upper bound of the decompressed size, in bytes. It is needed because a damaged file may give
  /// any `size`.
  public var largestSize: Int {
    let ratio = compression == .none ? 1 : MCAPReader.largestRatio
    return min(size, compressedSize.multipliedReportingOverflow(by: ratio).partialValue)
  }
  /// The message indexes that follow the chunk: the channel, and where in the file its list lies.
  var indexes: [(channel: UInt16, offset: UInt64, count: Int)] = []

  /// Whether messages of these channels may be in it.
  public func mayHold(_ channels: Set<UInt16>) -> Bool {
    indexes.isEmpty || indexes.contains { channels.contains($0.channel) }
  }
}

/// Where a message is.
public struct MCAPMessagePlace: Sendable, BitwiseCopyable {
  public var logTime: UInt64
  /// Index of its chunk.
  public var chunk: Int32
  /// Of its record, in the decompressed chunk.
  public var offset: UInt32
}

/// Reads an MCAP file chunk by chunk.
///
/// `open` reads the file from record to record and skips the content of chunks. So a file that was
/// cut off, and has no summary, is read like a complete one, up to its last whole chunk. The
/// indexes after the chunks tell where messages are, so that other chunks need not be decompressed.
///
/// Files may be foreign or damaged: every length is checked against what is there.
@safe
public struct MCAPReader: ~Copyable {
  let input: MCAPInput
  public internal(set) var schemas: [UInt16: MCAPSchema] = [:]
  public internal(set) var channels: [UInt16: MCAPChannel] = [:]
  /// What the file says of itself, if its first record was whole.
  public internal(set) var header: MCAPHeader?
  /// Where attachments and metadata are, whether the summary has an index of them or not.
  public internal(set) var attachments: [MCAPAttachmentIndex] = []
  public internal(set) var metadata: [MCAPMetadataIndex] = []
  /// Bytes of definitions, and of names of attachments and metadata, that are kept.
  var definitionBytes = 0
  public internal(set) var chunks: [MCAPChunkPlace] = []
  /// The file has its footer.
  public internal(set) var isComplete = false
  /// The walk is behind the end of the data, and what the summary repeats.
  var isInSummary = false
  var repeatsSchemas = false
  var repeatsChannels = false
  /// Where in the file something is broken, so that all that follows is left out; `nil` for a file that
  /// is whole or was merely cut off.
  public internal(set) var damagedAt: UInt64?
  /// Bytes of the file up to which records are whole.
  public internal(set) var wholeSize: UInt64 = 0

  /// What was read last, and, decompressed, the chunk that was loaded.
  var raw = MCAPBytes(capacity: 1 << 16)
  var content = MCAPBytes(capacity: 1 << 16)
  public private(set) var loaded: Int?
  /// Chunks that were loaded before. If chunks overlap in time, reading in the order of time
  /// alternates between them.
  private var kept = InlineArray<63, Kept> { _ in Kept() }
  /// State of the random generator that chooses which kept chunk is replaced. If chunks are read in
  /// a cycle, the oldest and the least recently used chunk are always the one that is needed next;
  /// a random choice avoids this.
  private var lot: UInt64 = 1
  /// Times that a chunk was read and decompressed.
  private(set) var loadCount = 0
  private var decoders = MCAPDecoders()

  /// Largest chunk and record that are read, in bytes. Larger: hostile files take more memory. A frame of
  /// 16,384 x 16,384 pixels in RGB has less.
  static let limit = 1 << 30
  /// Largest ratio of decompressed to compressed size that is accepted. LZ4 reaches 255 at most;
  /// Zstandard exceeds the limit only for content that is all zeros.
  static let largestRatio = 20_000

  // Not private: code in other modules that stores a reader needs this type's layout, and Swift 6.3
  // does not link the layout of a private type across modules.
  struct Kept: ~Copyable {
    var content = MCAPBytes(capacity: 0)
    var chunk: Int?
  }

  /// The largest chunk that is kept for the next read, in bytes. Larger: fewer chunks are decompressed twice.
  private static let largestKept = 1 << 24
  /// Limit for all kept chunks, in bytes. Larger: more memory, fewer chunks are decompressed twice. All 63
  /// are kept if they have 1 MiB or less, as those of other programs do.
  private static let keptBytes = 1 << 26

  /// Number of chunks that are kept, computed as if each were as long as the longest; 0 before the
  /// first is kept.
  private var mostKept = 0

  /// Opens the file and walks over it. When `isInterrupted` says so, this and all else that reads the
  /// file throws ``MCAPError/Code/interrupted`` at the next opportunity.
  public static func open(
    _ path: String, isInterrupted: @escaping @Sendable () -> Bool = { false }
  ) throws(MCAPError) -> MCAPReader {
    var reader = MCAPReader(try MCAPInput(path: path, isInterrupted: isInterrupted))
    try reader.walk()
    return reader
  }

  private init(_ input: consuming MCAPInput) { self.input = input }

  public var path: String { input.path }
  /// Bytes of the file.
  public var size: UInt64 { input.size }

  /// The record at a place that an index names.
  public mutating func record(at offset: UInt64) throws(MCAPError) -> MCAPRecord {
    try input.record(at: offset, &raw)
  }

  /// Decompresses a chunk, unless it is still kept from an earlier call. Chunks of up to 16 MiB are
  /// kept: 64 MiB of them, and at least 3. Memory grows to the largest chunk.
  public mutating func load(_ index: Int) throws(MCAPError) {
    if loaded == index { return }
    for other in kept.indices where kept[other].chunk == index {
      swap(&content, &kept[other].content)
      kept[other].chunk = loaded
      loaded = index
      return
    }
    let place = chunks[index]
    keep(before: place)
    loaded = nil
    loadCount += 1
    try input.load(place, &decoders, raw: &raw, into: &content)
    loaded = index
  }

  /// Moves the loaded chunk, with its memory, to the kept chunks.
  private mutating func keep(before next: MCAPChunkPlace) {
    if content.capacity > 2 * Self.largestKept {
      // A large chunk is not kept. Its memory is reused if the next chunk is large, too, else
      // freed.
      if next.size <= Self.largestKept { content = MCAPBytes(capacity: 0) }
      return
    }
    guard loaded != nil else { return }
    if mostKept == 0 {
      let longest = chunks.reduce(1) { max($0, min($1.largestSize, Self.largestKept)) }
      mostKept = min(max(Self.keptBytes / longest, 3), kept.count)
      // Reserved at once, so that nothing is allocated later. Unused pages take no memory.
      for index in 0..<mostKept { _ = kept[index].content.reserve(longest) }
    }
    // Linear congruential generator with Knuth's constants for MMIX.
    lot = lot &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    var place = Int((lot >> 33) % UInt64(mostKept))
    for other in 0..<mostKept where kept[other].chunk == nil { place = other }
    swap(&content, &kept[place].content)
    kept[place].chunk = loaded
  }
}
