/// Breaks JPEG images in their structure, where a check of markers and lengths must see it. (Bits
/// flipped in the picture data often decode without complaint.)
package enum SceneCorruption {
  private enum Kind: Int {
    /// The first marker is not the start of an image.
    case start
    /// A header segment does not begin with FF.
    case marker
    /// A header segment's length leads to a place without a marker.
    case length
    /// The end marker is something else.
    case end
  }

  /// Breaks the image in the first `count` bytes of `jpeg`; everything is decided by `random`.
  package static func corrupt(
    _ jpeg: inout MutableSpan<UInt8>, count: Int, _ random: inout SceneRandom
  ) {
    guard count > 4 else { return }
    switch Kind(rawValue: random.below(4)) {
    case .start, nil: jpeg[1] = UInt8(random.below(0xD8))
    case .end: jpeg[count - 1] = 0
    case .marker:
      let segment = segment(jpeg, count: count, random.below(segmentCount(jpeg, count: count)))
      jpeg[segment] = UInt8(random.below(0xFF))
    case .length:
      let segment = segment(jpeg, count: count, random.below(segmentCount(jpeg, count: count)))
      breakLength(&jpeg, count: count, at: segment, &random)
    }
  }

  /// How much of an image of `count` bytes is left: from nothing to all but its last byte.
  package static func truncated(_ count: Int, _ random: inout SceneRandom) -> Int {
    // Most cuts in practice lose the end; a few lose nearly all.
    random.below(8) == 0 ? random.below(max(1, min(count, 700))) : random.below(max(1, count))
  }

  private static func breakLength(
    _ jpeg: inout MutableSpan<UInt8>, count: Int, at segment: Int, _ random: inout SceneRandom
  ) {
    let length = Int(jpeg[segment + 2]) << 8 | Int(jpeg[segment + 3])
    var wrong = random.below(2)
    for _ in 0..<16 {
      let candidate = 2 + random.below(0xFFF0)
      let target = segment + 2 + candidate
      guard candidate != length, target >= count || jpeg[target] != 0xFF else { continue }
      wrong = candidate
      break
    }
    jpeg[segment + 2] = UInt8(truncatingIfNeeded: wrong >> 8)
    jpeg[segment + 3] = UInt8(truncatingIfNeeded: wrong)
  }

  /// Where header segment `index` begins: its FF. The scan's header is the last.
  private static func segment(_ jpeg: borrowing MutableSpan<UInt8>, count: Int, _ index: Int) -> Int
  {
    var at = 2
    for _ in 0..<index { at += 2 + (Int(jpeg[at + 2]) << 8 | Int(jpeg[at + 3])) }
    return at
  }

  private static func segmentCount(_ jpeg: borrowing MutableSpan<UInt8>, count: Int) -> Int {
    var at = 2
    var segments = 1
    while at + 4 < count, jpeg[at + 1] != 0xDA {
      at += 2 + (Int(jpeg[at + 2]) << 8 | Int(jpeg[at + 3]))
      segments += 1
    }
    return segments
  }
}
