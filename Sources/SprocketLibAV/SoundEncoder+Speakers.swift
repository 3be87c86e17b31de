// Speakers of the channels.

extension SoundEncoder {
  /// Returns true if readers of the file find the speakers that the format names.
  /// `hasWords`: the container can say it for FLAC, in a comment, which has 18 places.
  public func saysSpeakers(hasWords: Bool) -> Bool {
    guard keepsSpeakers, format.speakers != 0 else { return keepsSpeakers }
    return switch name {
    case SoundCodec.aac.encoderName: Self.aacSpeakers.contains(format.speakers)
    case SoundCodec.flac.encoderName:
      Self.flacSpeakers.contains(format.speakers) || hasWords && format.speakers < 1 << 18
    default: format.speakers == (format.channels == 1 ? 0x4 : 0x3)
    }
  }

  /// Layouts that libavcodec's decoder finds in AAC: mono, stereo, 3.0, 4.0, 5.0, 5.1; and 2.1, quad and 7.1
  /// by a description of their own.
  private static let aacSpeakers: [UInt32] = [
    0x4, 0x3, 0x7, 0x107, 0x37, 0x3F, 0xB, 0x33, 0x63F,
  ]
  /// Layouts that FLAC has for each number of channels (RFC 9639, 9.1.3).
  private static let flacSpeakers: [UInt32] = [0x4, 0x3, 0x7, 0x33, 0x607, 0x60F, 0x70F, 0x63F]

  /// AAC has one place for surround channels (ISO/IEC 14496-3, channel configurations 5 and 6), which is at
  /// the back for libavcodec. It would describe channels at the sides in a way that few players read.
  static func surround(_ speakers: UInt32) -> UInt32 {
    let (back, side): (UInt32, UInt32) = (0x30, 0x600)
    let front: UInt32 = 0x7
    let isSide = speakers & ~0x8 == front | side
    return isSide ? speakers & ~side | back : speakers
  }
}
