/// Breaks JPEG images in their structure, where a check of markers and lengths must see it. (Bits
/// flipped in the picture data often decode without complaint, and what is between segments is passed over.)
package enum SceneCorruption {
  private enum Kind: Int {
    /// The first marker is not the start of an image.
    case start
    /// A header segment without which there is no picture does not begin with FF.
    case marker
    /// A header segment's length is none, or leads out of the image.
    case length
    /// The picture data has a restart marker, though there is no restart interval.
    case restart
  }

  /// Breaks the image in the first `count` bytes of `jpeg`; everything is decided by `random`.
  package static func corrupt(
    _ jpeg: inout MutableSpan<UInt8>, count: Int, _ random: inout SceneRandom
  ) {
    guard count > 4 else { return }
    switch Kind(rawValue: random.below(4)) {
    case .start, nil: jpeg[1] = UInt8(random.below(0xD8))
    case .marker:
      var chosen = segment(jpeg, count: count, random.below(segmentCount(jpeg, count: count)))
      // The scan's header is the last.
      while !needed.contains(jpeg[chosen + 1]) { chosen = following(jpeg, chosen) }
      jpeg[chosen] = UInt8(random.below(0xFF))
    case .length:
      let chosen = segment(jpeg, count: count, random.below(segmentCount(jpeg, count: count)))
      let room = 0xFFFF - (count - chosen)
      let wrong = room > 0 && random.below(2) == 0 ? 0xFFFF - random.below(room) : random.below(2)
      jpeg[chosen + 2] = UInt8(truncatingIfNeeded: wrong >> 8)
      jpeg[chosen + 3] = UInt8(truncatingIfNeeded: wrong)
    case .restart:
      let last = segment(jpeg, count: count, segmentCount(jpeg, count: count) - 1)
      let start = min(following(jpeg, last), count - 4)
      let place = start + random.below(count - 3 - start)
      jpeg[place] = 0xFF
      jpeg[place + 1] = UInt8(0xD0 + random.below(8))
    }
  }

  /// Quantization tables, the frame's header, the scan's header.
  private static let needed: Set<UInt8> = [0xDB, 0xC0, 0xDA]

  /// How much of an image of `count` bytes is left: from nothing to all but some picture data.
  package static func truncated(_ count: Int, _ random: inout SceneRandom) -> Int {
    // Most cuts in practice lose the end; a few lose nearly all. Bytes behind picture data may be missing
    // without harm.
    let most = max(1, count - 16)
    return random.below(8) == 0 ? random.below(min(most, 700)) : random.below(most)
  }

  /// Where header segment `index` begins: its FF. The scan's header is the last.
  private static func segment(_ jpeg: borrowing MutableSpan<UInt8>, count: Int, _ index: Int) -> Int
  {
    var at = 2
    for _ in 0..<index { at = following(jpeg, at) }
    return at
  }

  /// Where the segment at `at` ends.
  private static func following(_ jpeg: borrowing MutableSpan<UInt8>, _ at: Int) -> Int {
    at + 2 + (Int(jpeg[at + 2]) << 8 | Int(jpeg[at + 3]))
  }

  private static func segmentCount(_ jpeg: borrowing MutableSpan<UInt8>, count: Int) -> Int {
    var at = 2
    var segments = 1
    while at + 4 < count, jpeg[at + 1] != 0xDA {
      at = following(jpeg, at)
      segments += 1
    }
    return segments
  }
}
