internal import SprocketCodecs

/// Checks encoded frames, and counts those that are not whole by what is wrong with them.
struct EncodedDamage: ~Copyable {
  private var reader = EncodedFrame.Reader()
  private var repaired: UInt64 = 0
  private var broken: UInt64 = 0
  private(set) var impossibleSizes: UInt64 = 0
  private var excessiveScans: UInt64 = 0
  private(set) var unsupported: UInt64 = 0

  /// What the frame says of itself; `nil` where it is damaged. `fullHeight` is as in `EncodedFrame`.
  mutating func check(_ bytes: Span<UInt8>, fullHeight: Int? = nil) -> EncodedFrame? {
    do throws(EncodedFrame.Fault) {
      let frame = try reader.read(bytes, fullHeight: fullHeight)
      if frame.isRepaired { repaired += 1 }
      return frame
    } catch {
      switch error {
      case .broken: broken += 1
      case .impossibleSize: impossibleSizes += 1
      case .tooManyScans: excessiveScans += 1
      case .unsupported: unsupported += 1
      }
      return nil
    }
  }

  /// False for a frame that must not be decoded, because that could take minutes. Other damage is
  /// left to the decoder to find.
  mutating func isDecodable(_ bytes: Span<UInt8>) -> Bool {
    let before = excessiveScans
    _ = check(bytes)
    return excessiveScans == before
  }

  /// The error text for a file in which no frame could be decoded.
  func refusal(of path: String) -> String {
    if unsupported > 0 {
      return
        "\(path) is JPEG of a kind that is not read: coded arithmetically, lossless, or of more than "
        + "8 bits; save it anew"
    }
    return impossibleSizes > 0
      ? "\(path) tells of pictures larger than its bytes can hold, or than 2^28 pixels; save it anew"
      : "\(path) has no picture that can be decoded; try to play it with ffplay"
  }

  /// For the summary; what never happened is left out.
  var counts: [(name: String, value: UInt64)] {
    [
      ("repaired", repaired), ("broken_jpegs", broken), ("impossible_jpeg_sizes", impossibleSizes),
      ("jpegs_of_too_many_scans", excessiveScans), ("jpegs_of_unread_kinds", unsupported),
    ].filter { $0.value > 0 }
  }
}
