internal import Glibc
internal import SprocketDeflate
internal import SprocketLZ4
internal import SprocketZstd

/// A chunk of a file, or a message that lies in none: where it is, and what is in it.
public struct MCAPChunkPlace: Sendable {
  enum Compression: Sendable { case none, lz4, zstd, other }

  /// Of the compressed records, in the file.
  public internal(set) var offset: UInt64
  var compressedSize: Int
  var compression: Compression
  var checksum: UInt32
  /// Bytes once decompressed.
  public internal(set) var size: Int
  /// The most that it can really be, whatever it says, in bytes.
  public var largestSize: Int {
    let ratio = compression == .none ? 1 : MCAPReader.largestRatio
    return min(size, compressedSize.multipliedReportingOverflow(by: ratio).partialValue)
  }
  /// The indexes behind it: whose messages, and where in the file the list lies.
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
/// `open` walks over the whole file from record to record, passing over what chunks hold; so a file
/// that was cut off, and has no summary, is found out as well as a complete one, up to its last whole
/// chunk. The indexes behind the chunks then tell where messages are without decompressing others.
///
/// Files may be foreign or damaged: every length is checked against what is there.
@safe
public struct MCAPReader: ~Copyable {
  let input: MCAPInput
  public internal(set) var schemas: [UInt16: MCAPSchema] = [:]
  public internal(set) var channels: [UInt16: MCAPChannel] = [:]
  /// Bytes of the schemas and channels that are kept.
  var definitionBytes = 0
  public internal(set) var chunks: [MCAPChunkPlace] = []
  /// The file has its footer.
  public internal(set) var isComplete = false
  /// Where in the file something is broken, so that all that follows is left out; `nil` for a file that
  /// is whole or was merely cut off.
  public internal(set) var damagedAt: UInt64?
  /// Bytes of the file up to which records are whole.
  public internal(set) var wholeSize: UInt64 = 0

  /// What was read last, and, decompressed, the chunk that was loaded.
  var raw = MCAPBytes(capacity: 1 << 16)
  var content = MCAPBytes(capacity: 1 << 16)
  public private(set) var loaded: Int?
  /// Chunks that were loaded before: where chunks overlap in time, messages go to and fro between them.
  private var kept = InlineArray<63, Kept> { _ in Kept() }
  /// Says which of them makes room for another: where chunks come in turn, the oldest, or the one that
  /// was used longest ago, would always be the one that is needed next.
  private var lot: UInt64 = 1
  /// Times that a chunk was read and decompressed.
  private(set) var loadCount = 0
  private var decoders = Decoders()

  /// Largest chunk and record that are read: a frame of 16,384 x 16,384 pixels in RGB has less.
  static let limit = 1 << 30
  /// The most that decompression makes of one byte: 255 for LZ4; Zstandard could make more of nothing
  /// but zeros.
  fileprivate static let largestRatio = 20_000

  // Not private: whoever holds a reader needs its layout, and a private one is not linked across
  // modules (Swift 6.3).
  struct Kept: ~Copyable {
    var content = MCAPBytes(capacity: 0)
    var chunk: Int?
  }

  /// The largest chunk that is kept, in bytes.
  private static let largestKept = 1 << 24
  /// Bytes of all that are kept: of chunks of 1 MiB or less, which other programs write, all 63.
  private static let keptBytes = 1 << 26

  /// How many chunks are kept, so that each might be as long as the longest; 0 before the first.
  private var mostKept = 0

  private struct Decoders: ~Copyable {
    var lz4 = LZ4FrameDecoder()
    var zstd = ZstdDecoder()

    /// How many bytes were written into `output`; 0 where `bytes` are damaged.
    mutating func decode(
      _ compression: MCAPChunkPlace.Compression, _ bytes: Span<UInt8>,
      into output: inout MutableSpan<UInt8>
    ) -> Int {
      switch compression {
      case .lz4: (try? lz4.decode(bytes, into: &output)) ?? 0
      case .zstd: zstd.decode(bytes, into: &output) ?? 0
      case .none, .other: 0
      }
    }
  }

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

  /// Decompresses a chunk, unless it is one of those that are kept of what was loaded before: 64 MiB, and
  /// 3 at least, none above 16 MiB. Memory grows to the largest chunk.
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
    try checkSizes(place)
    if place.compression == .none {
      try input.read(place.offset, place.size, into: &content)
    } else {
      try input.read(place.offset, place.compressedSize, into: &raw)
      content.removeAll()
      guard content.reserve(place.size) else { throw .system(path, ENOMEM) }
      let isWhole = Self.decompress(raw, place, &decoders, into: &content)
      if !isWhole { throw damaged(place) }
    }
    if place.checksum != 0 {
      var found = CRC32()
      found.update(unsafe Span(_unsafeElements: content.elements))
      if found.value != place.checksum { throw damaged(place) }
    }
    loaded = index
  }

  /// Puts the chunk that is loaded, and its memory, to those that are kept.
  private mutating func keep(before next: MCAPChunkPlace) {
    if content.capacity > 2 * Self.largestKept {
      // Memory of a large chunk stays for large ones, and is only once.
      if next.size <= Self.largestKept { content = MCAPBytes(capacity: 0) }
      return
    }
    guard loaded != nil else { return }
    if mostKept == 0 {
      let longest = chunks.reduce(1) { max($0, min($1.largestSize, Self.largestKept)) }
      mostKept = min(max(Self.keptBytes / longest, 3), kept.count)
      // All at once, so that nothing is allocated later; pages that are not used cost nothing.
      for index in 0..<mostKept { _ = kept[index].content.reserve(longest) }
    }
    // Knuth's generator of MMIX.
    lot = lot &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    var place = Int((lot >> 33) % UInt64(mostKept))
    for other in 0..<mostKept where kept[other].chunk == nil { place = other }
    swap(&content, &kept[place].content)
    kept[place].chunk = loaded
  }

  private func checkSizes(_ place: MCAPChunkPlace) throws(MCAPError) {
    if place.compression == .other {
      throw MCAPError(
        .format,
        "\(path) is compressed in a way that MCAP does not name; convert it with mcap compress")
    }
    let most = place.compression == .none ? 1 : Self.largestRatio
    let isPossible =
      place.size <= Self.limit && place.size / most <= place.compressedSize
      && (place.compression != .none || place.size == place.compressedSize)
    if !isPossible { throw damaged(place) }
  }

  private func damaged(_ place: MCAPChunkPlace) -> MCAPError {
    MCAPError(.damaged, "\(path) is damaged in the chunk at byte \(place.offset); copy it anew")
  }

  private static func decompress(
    _ raw: borrowing MCAPBytes, _ place: MCAPChunkPlace, _ decoders: inout Decoders,
    into content: inout MCAPBytes
  ) -> Bool {
    let bytes = unsafe Span(_unsafeElements: raw.elements)
    content.fill(place.size) { room in
      var target = room._mutatingExtracting(0..<place.size)
      return decoders.decode(place.compression, bytes, into: &target)
    }
    return content.count == place.size
  }
}
