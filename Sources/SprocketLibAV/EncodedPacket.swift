internal import CSprocketLibAV

/// One frame as the file has it, still encoded.
public typealias EncodedPacket = LentMedia<EncodedContent>

public struct EncodedContent {}

extension LentMedia where Content == EncodedContent {
  /// The encoded bytes; valid until this value ends, or what ``leak()`` returned is released. Empty where
  /// a file marks a frame that was dropped in recording.
  public var bytes: UnsafeBufferPointer<UInt8> {
    let packet = unsafe shell.packet
    return unsafe UnsafeBufferPointer(
      start: unsafe packet.pointee.data, count: Int(packet.pointee.size))
  }
}
