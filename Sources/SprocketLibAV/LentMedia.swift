/// What a reader lends: a decoded frame or an encoded packet. Its memory is the library's, read only, and
/// goes back when this value ends.
@safe
public struct LentMedia<Content>: ~Copyable {
  let shell: LentShell
  let content: Content

  init(_ shell: consuming LentShell, _ content: Content) {
    self.shell = shell
    self.content = content
  }

  /// When it is shown, on the file's clock; made from the frame rate if ``isTimeMade``.
  public var timeNanoseconds: Int64 { unsafe shell.pointer.pointee.time }
  /// Whether the file gives no time for it.
  public var isTimeMade: Bool { unsafe shell.pointer.pointee.isTimeMade }
  /// Whether it can be decoded without others.
  public var isKeyframe: Bool { unsafe shell.pointer.pointee.isKeyframe }
  /// Whether the file ends within it or says that it is damaged (`AV_PKT_FLAG_CORRUPT`), or the decoder met
  /// errors in it.
  public var isCorrupt: Bool { unsafe shell.pointer.pointee.isCorrupt }

  /// Ends this value but keeps the memory, until someone hands the result to ``releaseLent(_:)``.
  public consuming func leak() -> UnsafeMutableRawPointer { unsafe shell.leak() }
}

/// Gives back what ``LentMedia/leak()`` returned: once, from any thread.
///
/// The corresponding C functions are `av_frame_unref` and `av_packet_unref`.
public func releaseLent(_ leaked: UnsafeMutableRawPointer) {
  unsafe LentPool.giveBack(leaked.assumingMemoryBound(to: Shell.self))
}
