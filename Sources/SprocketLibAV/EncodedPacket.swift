internal import CSprocketLibAV

/// One frame as the file has it, still encoded; its memory is libavformat's and goes back when this
/// value ends.
@safe
public struct EncodedPacket: ~Copyable {
  private let shell: LentShell

  init(_ shell: consuming LentShell) { self.shell = shell }

  /// The encoded bytes; valid until this value ends, or is released after ``leak()``. Empty where a
  /// file marks a frame that was dropped in recording.
  public var bytes: UnsafeBufferPointer<UInt8> {
    let packet = unsafe shell.packet
    return unsafe UnsafeBufferPointer(
      start: unsafe packet.pointee.data, count: Int(packet.pointee.size))
  }

  /// When it is shown, on the file's clock; made from the frame rate if ``isTimeMade``.
  public var timeNanoseconds: Int64 { unsafe shell.pointer.pointee.time }
  /// Whether the file gives no time for it.
  public var isTimeMade: Bool { unsafe shell.pointer.pointee.isTimeMade }
  /// Whether it can be decoded without others.
  public var isKeyframe: Bool { unsafe shell.pointer.pointee.isKeyframe }
  /// Whether the file ends within it or says that it is damaged (`AV_PKT_FLAG_CORRUPT`).
  public var isCorrupt: Bool { unsafe shell.pointer.pointee.isCorrupt }

  /// Ends this value but keeps the memory, until someone hands the result to ``release(_:)``.
  public consuming func leak() -> UnsafeMutableRawPointer {
    unsafe shell.leak()
  }

  /// Gives back what ``leak()`` returned: once, from any thread.
  ///
  /// The corresponding C function is `av_packet_unref`.
  public static func release(_ leaked: UnsafeMutableRawPointer) {
    unsafe LentPool.giveBack(leaked.assumingMemoryBound(to: Shell.self))
  }
}
