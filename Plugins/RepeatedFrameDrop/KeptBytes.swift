import SprocketCore

/// Memory of one frame's bytes, to compare the next frame with.
struct KeptBytes: Sendable {
  private var bytes: [UInt8] = []
  /// Bytes in use; `nil` where there is no frame to compare with.
  private var count: Int?

  /// Makes room for `capacity` bytes, and holds no frame.
  mutating func prepare(capacity: Int) {
    if bytes.count != capacity { bytes = [UInt8](repeating: 0, count: capacity) }
    count = nil
  }

  mutating func forget() { count = nil }

  /// Whether a frame of `total` bytes can be kept.
  func hasRoom(for total: Int) -> Bool { total <= bytes.count }

  /// Whether a frame of `total` bytes is kept.
  func holds(_ total: Int) -> Bool { count == total }

  /// Whether the bytes from `start` on are equal to `row`. `start + row.count` is within the frame.
  func matches(_ row: Span<UInt8>, at start: Int) -> Bool {
    isEqual(row, bytes.span.extracting(start..<start + row.count))
  }

  /// Stores a part of the frame. It counts once all parts are stored, and `finish` says so.
  mutating func store(_ row: Span<UInt8>, at start: Int) {
    var target = bytes.mutableSpan
    copy(row, into: &target, at: start)
  }

  mutating func finish(_ total: Int) { count = total }
}

// One pass without an early end: the compiler makes vector code of it.
private func isEqual(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
  precondition(one.count == other.count)
  var difference: UInt8 = 0
  for x in 0..<one.count { difference |= one[x] ^ other[x] }
  return difference == 0
}

private func copy(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>, at start: Int) {
  precondition(start >= 0 && start + source.count <= target.count)
  for x in 0..<source.count { target[start &+ x] = source[x] }
}
