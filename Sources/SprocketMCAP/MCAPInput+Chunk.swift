internal import Glibc
internal import SprocketDeflate
internal import SprocketLZ4
internal import SprocketZstd

// Chunks, decompressed.

/// What decompresses chunks.
struct MCAPDecoders: ~Copyable {
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

extension MCAPChunkPlace {
  /// Of a chunk's record whose content begins at `offset` in the file and has `length` bytes; `header`
  /// is the start of the content. Checks that each length is possible.
  init?(_ header: Span<UInt8>, at offset: UInt64, length: UInt64) {
    var cursor = MCAPCursor(0..<header.count)
    let limit = UInt64(MCAPReader.limit)
    guard cursor.take(16, of: header) != nil, let count = cursor.take(UInt64.self, of: header),
      let checksum = cursor.take(UInt32.self, of: header),
      let name = cursor.takeString(of: header),
      let compressed = cursor.take(UInt64.self, of: header),
      compressed <= length - UInt64(cursor.position), compressed <= limit, count <= limit
    else { return nil }
    self.init(
      offset: offset + UInt64(cursor.position), compressedSize: Int(compressed),
      compression: Compression(name), checksum: checksum, size: Int(count))
  }
}

extension MCAPChunkPlace.Compression {
  init(_ name: String) {
    self =
      switch name {
      case "": .none
      case "lz4": .lz4
      case "zstd": .zstd
      default: .other
      }
  }
}

extension MCAPInput {
  /// Reads a chunk and makes `content` what it holds, once decompressed.
  func load(
    _ place: MCAPChunkPlace, _ decoders: inout MCAPDecoders, raw: inout MCAPBytes,
    into content: inout MCAPBytes
  ) throws(MCAPError) {
    try checkSizes(place)
    if place.compression == .none {
      try read(place.offset, place.size, into: &content)
    } else {
      try read(place.offset, place.compressedSize, into: &raw)
      content.removeAll()
      guard content.reserve(place.size) else { throw .system(path, ENOMEM) }
      let bytes = unsafe Span(_unsafeElements: raw.elements)
      content.fill(place.size) { room in
        var target = room._mutatingExtracting(0..<place.size)
        return decoders.decode(place.compression, bytes, into: &target)
      }
      if content.count != place.size { throw damaged(place) }
    }
    if place.checksum != 0 {
      var found = CRC32()
      found.update(unsafe Span(_unsafeElements: content.elements))
      if found.value != place.checksum { throw damaged(place) }
    }
  }

  private func checkSizes(_ place: MCAPChunkPlace) throws(MCAPError) {
    if place.compression == .other {
      throw MCAPError(
        .format,
        "\(path) is compressed in a way that MCAP does not name; convert it with mcap compress")
    }
    let most = place.compression == .none ? 1 : MCAPReader.largestRatio
    let isPossible =
      place.size <= MCAPReader.limit && place.size / most <= place.compressedSize
      && (place.compression != .none || place.size == place.compressedSize)
    if !isPossible { throw damaged(place) }
  }

  private func damaged(_ place: MCAPChunkPlace) -> MCAPError {
    MCAPError(.damaged, "\(path) is damaged in the chunk at byte \(place.offset); copy it anew")
  }
}
