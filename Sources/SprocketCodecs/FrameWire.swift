/// Places in the header that precedes each frame in a pipe and in shared memory; docs/share.md has all of it.
package enum FrameWire {
  package static let byteCount = 384
  /// "SPRKFRM1" as bytes in memory.
  package static let magic: UInt64 = 0x314D_5246_4B52_5053

  package enum Flag {
    /// Nothing follows: the stream is complete. `number` is the count of frames that the source produced.
    package static let end: UInt32 = 1
    /// Nothing before this frame can be compared with it.
    package static let discontinuity: UInt32 = 2
  }

  package enum At {
    package static let flags = 12
    package static let payloadBytes = 16
    package static let number = 24
    package static let clock = 44
    package static let element = 46
    package static let channels = 47
    package static let captured = 48
    package static let axes = 80
  }
}
