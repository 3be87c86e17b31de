// Packets of a share, as docs/share.md has them.

/// What a reader sends: 16 bytes, two words.
enum ShareHello {
  /// "SPRKRDR1" as bytes; then 0 for the latest frames, 1 for every one, 2 for what the share does by
  /// default.
  static let magic: UInt64 = 0x3152_4452_4B52_5053
  /// "SPRKACK1" as bytes; then the ticket up to which the reader is done.
  static let acknowledgement: UInt64 = 0x314B_4341_4B52_5053
  /// "SPRKHLD1" as bytes. A ticket follows: the reader keeps its slot until it sends `release`; an
  /// acknowledgement does not free it.
  static let hold: UInt64 = 0x3144_4C48_4B52_5053
  /// "SPRKREL1" as bytes. A ticket follows: the reader gives its slot back.
  static let release: UInt64 = 0x314C_4552_4B52_5053
}

/// What readers are told of a slot: 32 bytes.
struct ShareNotice {
  /// Slot and frames, the ticket, the frames shared up to this, and 0.
  let words: InlineArray<4, UInt64>

  init(slot: UInt32, ticket: UInt64, sharedCount: UInt64, frames: UInt32) {
    words = [UInt64(slot) | UInt64(frames) << 32, ticket, sharedCount, 0]
  }
}
