internal import CSprocketLibAV

/// One encoded frame of a file.
public typealias EncodedPacket = LentMedia<EncodedContent>

public struct EncodedContent {}

extension LentMedia where Content == EncodedContent {
  /// The encoded bytes; valid until this value ends, or until the result of ``leak()`` is released. Empty for
  /// a frame that the file marks as dropped in recording.
  public var bytes: UnsafeBufferPointer<UInt8> {
    let packet = unsafe shell.packet
    return unsafe UnsafeBufferPointer(
      start: unsafe packet.pointee.data, count: Int(packet.pointee.size))
  }
}
