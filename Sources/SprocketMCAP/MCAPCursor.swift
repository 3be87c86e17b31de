/// Takes the parts of a record one by one, from bytes that may be foreign or damaged: what goes beyond
/// them is `nil`, never a trap.
struct MCAPCursor {
  var position: Int
  private(set) var end: Int

  /// Over `range` of the bytes that each call is given.
  init(_ range: Range<Int>) {
    position = range.lowerBound
    end = range.upperBound
  }

  var rest: Int { end - position }

  mutating func take<Number: FixedWidthInteger>(
    _ type: Number.Type, of bytes: Span<UInt8>
  ) -> Number? {
    let size = MemoryLayout<Number>.size
    guard rest >= size, end <= bytes.count else { return nil }
    var number: Number = 0
    for index in 0..<size {
      number |= Number(truncatingIfNeeded: bytes[position + index]) << Number(8 * index)
    }
    position += size
    return number
  }

  /// So many bytes: where they are.
  mutating func take(_ count: UInt64, of bytes: Span<UInt8>) -> Range<Int>? {
    guard end <= bytes.count, count <= UInt64(rest) else { return nil }
    let range = position..<position + Int(count)
    position = range.upperBound
    return range
  }

  /// Text with its length before it; what is no UTF-8 is repaired.
  mutating func takeString(of bytes: Span<UInt8>) -> String? {
    guard let count = take(UInt32.self, of: bytes), let range = take(UInt64(count), of: bytes)
    else { return nil }
    return String(decoding: Array(copying: bytes.extracting(range)), as: UTF8.self)
  }

  /// A map of text to text. Of a key that is there twice, the first value counts.
  mutating func takeMap(of bytes: Span<UInt8>) -> [String: String]? {
    guard let range = takeArray(of: bytes) else { return nil }
    var part = MCAPCursor(range)
    var map: [String: String] = [:]
    while part.rest > 0 {
      guard let key = part.takeString(of: bytes), let value = part.takeString(of: bytes)
      else { return nil }
      map[key] = map[key] ?? value
    }
    return map
  }

  /// Pairs of numbers with their length before them.
  mutating func takePairs<Key: FixedWidthInteger>(
    of bytes: Span<UInt8>, _ visit: (Key, UInt64) -> Void
  ) -> Bool {
    guard let range = takeArray(of: bytes) else { return false }
    var part = MCAPCursor(range)
    while part.rest > 0 {
      guard let key = part.take(Key.self, of: bytes), let value = part.take(UInt64.self, of: bytes)
      else { return false }
      visit(key, value)
    }
    return true
  }

  /// An array, a map, or bytes, with their length of 32 bits before them: where they are.
  mutating func takeArray(of bytes: Span<UInt8>) -> Range<Int>? {
    guard let count = take(UInt32.self, of: bytes) else { return nil }
    return take(UInt64(count), of: bytes)
  }

  /// The next record: its opcode and where its content lies.
  mutating func takeRecord(of bytes: Span<UInt8>) -> (opcode: UInt8, content: Range<Int>)? {
    guard let opcode = take(UInt8.self, of: bytes), let count = take(UInt64.self, of: bytes),
      let content = take(count, of: bytes)
    else { return nil }
    return (opcode, content)
  }
}

extension Array where Element == UInt8 {
  init(copying bytes: Span<UInt8>) {
    self.init(capacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }
}

extension MCAPSchema {
  /// Reads the content of its record.
  init?(_ bytes: Span<UInt8>, _ content: Range<Int>) {
    var cursor = MCAPCursor(content)
    guard let id = cursor.take(UInt16.self, of: bytes), id > 0,
      let name = cursor.takeString(of: bytes), let encoding = cursor.takeString(of: bytes),
      let count = cursor.take(UInt32.self, of: bytes),
      let data = cursor.take(UInt64(count), of: bytes)
    else { return nil }
    self.init(
      id: id, name: name, encoding: encoding, data: Array(copying: bytes.extracting(data)))
  }
}

extension MCAPChannel {
  /// Reads the content of its record.
  init?(_ bytes: Span<UInt8>, _ content: Range<Int>) {
    var cursor = MCAPCursor(content)
    guard let id = cursor.take(UInt16.self, of: bytes),
      let schema = cursor.take(UInt16.self, of: bytes), let topic = cursor.takeString(of: bytes),
      let encoding = cursor.takeString(of: bytes), let metadata = cursor.takeMap(of: bytes)
    else { return nil }
    self.init(id: id, schema: schema, topic: topic, encoding: encoding, metadata: metadata)
  }
}

extension MCAPMessage {
  /// Reads the content of its record; returns where its data lie.
  static func read(
    _ bytes: Span<UInt8>, _ content: Range<Int>
  ) -> (message: MCAPMessage, data: Range<Int>)? {
    var cursor = MCAPCursor(content)
    guard let channel = cursor.take(UInt16.self, of: bytes),
      let sequence = cursor.take(UInt32.self, of: bytes),
      let logTime = cursor.take(UInt64.self, of: bytes),
      let publishTime = cursor.take(UInt64.self, of: bytes)
    else { return nil }
    let message = MCAPMessage(
      channel: channel, sequence: sequence, logTime: logTime, publishTime: publishTime)
    return (message, cursor.position..<content.upperBound)
  }
}
