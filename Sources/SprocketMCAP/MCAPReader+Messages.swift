// Messages of chunks.

extension MCAPReader {
  /// Calls `visit` with each message of those channels in the chunk that is loaded, in order: the
  /// message, and its data. Stops where records no longer make sense.
  public borrowing func forEachMessage<E: Error>(
    on wanted: Set<UInt16>, _ visit: (MCAPMessage, Span<UInt8>) throws(E) -> Void
  ) throws(E) {
    let bytes = unsafe Span(_unsafeElements: content.elements)
    var cursor = MCAPCursor(0..<bytes.count)
    while let record = cursor.takeRecord(of: bytes) {
      guard record.opcode == MCAPOpcode.message,
        let (message, data) = MCAPMessage.read(bytes, record.content),
        wanted.contains(message.channel)
      else { continue }
      try visit(message, bytes.extracting(data))
    }
  }

  /// Calls `visit` with the message at `place`, whose chunk is loaded. False where there is none.
  public borrowing func withMessage(
    at place: MCAPMessagePlace, _ visit: (MCAPMessage, Span<UInt8>) -> Void
  ) -> Bool {
    let bytes = unsafe Span(_unsafeElements: content.elements)
    guard loaded == Int(place.chunk), Int(place.offset) <= bytes.count else { return false }
    var cursor = MCAPCursor(Int(place.offset)..<bytes.count)
    guard let record = cursor.takeRecord(of: bytes), record.opcode == MCAPOpcode.message,
      let (message, data) = MCAPMessage.read(bytes, record.content)
    else { return false }
    visit(message, bytes.extracting(data))
    return true
  }

  /// Where the messages of those channels are in a chunk: by its index, or, where it has none, by
  /// looking through it.
  public mutating func places(
    of wanted: Set<UInt16>, in chunk: Int, to places: inout [MCAPMessagePlace]
  ) throws(MCAPError) {
    let place = chunks[chunk]
    if place.indexes.isEmpty {
      try load(chunk)
      look(for: wanted, in: chunk, to: &places)
      return
    }
    for index in place.indexes where wanted.contains(index.channel) {
      try input.read(index.offset, 16 * index.count, into: &raw)
      let bytes = unsafe Span(_unsafeElements: raw.elements)
      var cursor = MCAPCursor(0..<bytes.count)
      while let time = cursor.take(UInt64.self, of: bytes),
        let offset = cursor.take(UInt64.self, of: bytes)
      {
        guard offset < UInt64(place.size) else { continue }
        places.append(
          MCAPMessagePlace(logTime: time, chunk: Int32(chunk), offset: UInt32(offset)))
      }
    }
  }

  private func look(
    for wanted: Set<UInt16>, in chunk: Int, to places: inout [MCAPMessagePlace]
  ) {
    let bytes = unsafe Span(_unsafeElements: content.elements)
    var cursor = MCAPCursor(0..<bytes.count)
    while true {
      let start = cursor.position
      guard let record = cursor.takeRecord(of: bytes) else { return }
      guard record.opcode == MCAPOpcode.message,
        let (message, _) = MCAPMessage.read(bytes, record.content),
        wanted.contains(message.channel)
      else { continue }
      places.append(
        MCAPMessagePlace(
          logTime: message.logTime, chunk: Int32(chunk), offset: UInt32(start)))
    }
  }
}
