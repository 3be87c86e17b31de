/// Sound that waits until the encoder has given out the pictures of its time, so that both lie side by side
/// in the file: players stop where they have to read far ahead for one of them.
///
/// Grows to what comes in the time by which the encoder is behind, and allocates nothing from then on.
struct SoundBacklog {
  private var bytes: [UInt8] = []
  /// Bytes that were taken, of those in `bytes`, and of all.
  private var start = 0
  private(set) var takenCount = 0

  /// Bytes that wait.
  var count: Int { bytes.count - start }

  mutating func add(_ sound: Span<UInt8>) {
    if start > 0, start >= count {
      bytes.removeFirst(start)
      start = 0
    }
    for index in sound.indices { bytes.append(sound[index]) }
  }

  /// So many bytes were written past it.
  mutating func pass(_ count: Int) { takenCount += count }

  /// Passes on the first bytes, at most `most`.
  mutating func take<Failure: Error>(
    _ most: Int, _ body: (Span<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    let next = start..<start + min(most, count)
    guard !next.isEmpty else { return }
    start = next.upperBound
    takenCount += next.count
    try body(bytes.span.extracting(next))
  }
}
