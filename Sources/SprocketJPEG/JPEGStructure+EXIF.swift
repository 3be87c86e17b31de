extension JPEGStructure {
  /// Where the segment with EXIF lies in an image, its marker included; `nil` where there is none before the
  /// first scan. A few microseconds; nothing is allocated.
  public static func exif(in jpeg: Span<UInt8>) -> Range<Int>? {
    guard let header = try? JPEGStructure(headerOf: jpeg) else { return nil }
    var next = header.start + 2
    while let at = nextMarker(jpeg, from: next), at < header.scanHeaderOffset {
      let end = at + 2 + twoBytes(jpeg, at + 2)
      let isEXIF =
        jpeg[at + 1] == 0xE1 && end - at >= 10 && jpeg[at + 4] == 0x45 && jpeg[at + 5] == 0x78
        && jpeg[at + 6] == 0x69 && jpeg[at + 7] == 0x66
      if isEXIF { return at..<end }
      next = end
    }
    return nil
  }
}
