/// A decoded frame or an encoded packet in the library's memory. It is read only, and returned to the library
/// when this value ends.
@safe
public struct LentMedia<Content>: ~Copyable {
  let shell: LentShell
  let content: Content

  init(_ shell: consuming LentShell, _ content: Content) {
    self.shell = shell
    self.content = content
  }

  /// Presentation time on the file's clock; computed from the frame rate if ``isTimeMade``.
  public var timeNanoseconds: Int64 { unsafe shell.pointer.pointee.time }
  /// True if the file gives no time for it.
  public var isTimeMade: Bool { unsafe shell.pointer.pointee.isTimeMade }
  /// True if it can be decoded without other frames.
  public var isKeyframe: Bool { unsafe shell.pointer.pointee.isKeyframe }
  /// True if the file ends within it or marks it as damaged (`AV_PKT_FLAG_CORRUPT`), or if the decoder found
  /// errors in it.
  public var isCorrupt: Bool { unsafe shell.pointer.pointee.isCorrupt }

  /// Ends this value but keeps the memory until the result is passed to ``releaseLent(_:)``.
  public consuming func leak() -> UnsafeMutableRawPointer { unsafe shell.leak() }
}

/// Releases what ``LentMedia/leak()`` returned: once, from any thread.
///
/// The corresponding C functions are `av_frame_unref` and `av_packet_unref`.
public func releaseLent(_ leaked: UnsafeMutableRawPointer) {
  unsafe LentPool.giveBack(leaked.assumingMemoryBound(to: Shell.self))
}
