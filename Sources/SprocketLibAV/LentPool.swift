internal import CSprocketLibAV
internal import Synchronization

/// A shell: an AVFrame and an AVPacket that are filled, lent to the engine and come back to be filled
/// again. It lies in raw memory, so that its address alone can be kept anywhere.
@unsafe
struct Shell: ~Copyable {
  let frame: Owned<AVFrame>
  let packet: Owned<AVPacket>
  /// The pool that it came from, retained while it is lent.
  let pool: Unmanaged<LentPool>
  /// The next in the pool's list, while it is in there.
  var next: UnsafeMutablePointer<Shell>?
  /// In nanoseconds.
  var time: Int64 = 0
  var isTimeMade = false
  var isCorrupt = false
  var isKeyframe = false
  /// Place of the packet in its file.
  var place = 0
  /// The frame's memory is the shell's own, for converted frames, and is kept when it comes back.
  var ownsMemory = false
}

/// A shell that somebody has, and that goes home when this value ends.
@safe
struct LentShell: ~Copyable {
  let pointer: UnsafeMutablePointer<Shell>

  init(_ pointer: UnsafeMutablePointer<Shell>) { unsafe self.pointer = unsafe pointer }

  deinit { unsafe LentPool.giveBack(pointer) }

  var frame: UnsafeMutablePointer<AVFrame> { unsafe pointer.pointee.frame.pointer }
  var packet: UnsafeMutablePointer<AVPacket> { unsafe pointer.pointee.packet.pointer }

  /// Ends this value but not the loan.
  consuming func leak() -> UnsafeMutableRawPointer {
    let raw = unsafe UnsafeMutableRawPointer(pointer)
    discard self
    return unsafe raw
  }
}

/// The shells of one reader. It grows while more are lent at once than ever before; from then on nothing
/// is allocated. It lives until the reader is gone and the last shell has come home, from any thread.
final class LentPool: Sendable {
  /// A list of shells.
  @safe private struct List: @unchecked Sendable {
    // Unchecked: whoever takes a shell from the list is the only one to have it.
    var first: UnsafeMutablePointer<Shell>?
  }

  private let idle = unsafe Mutex(List(first: nil))

  deinit {
    var next = unsafe idle.withLock { list in unsafe list.first }
    while let shell = unsafe next {
      unsafe next = unsafe shell.pointee.next
      unsafe shell.deinitialize(count: 1)
      unsafe shell.deallocate()
    }
  }

  /// An empty shell, lent until ``giveBack(_:)``; `nil` if there is no memory.
  func lend() -> LentShell? {
    let found = unsafe idle.withLock { list in
      let first = unsafe list.first
      unsafe list.first = unsafe first?.pointee.next
      return unsafe first
    }
    if let found = unsafe found {
      _ = unsafe Unmanaged.passRetained(self)
      return unsafe LentShell(found)
    }
    guard let frame = unsafe Owned(libav.av_frame_alloc(), free: libav.av_frame_free),
      let packet = unsafe Owned(libav.av_packet_alloc(), free: libav.av_packet_free)
    else { return nil }
    let shell = UnsafeMutablePointer<Shell>.allocate(capacity: 1)
    unsafe shell.initialize(
      to: Shell(frame: frame, packet: packet, pool: Unmanaged.passRetained(self)))
    return unsafe LentShell(shell)
  }

  /// Empties a shell and puts it back into its pool. From any thread.
  static func giveBack(_ shell: UnsafeMutablePointer<Shell>) {
    unsafe libav.av_packet_unref(shell.pointee.packet.pointer)
    if unsafe !shell.pointee.ownsMemory { unsafe libav.av_frame_unref(shell.pointee.frame.pointer) }
    let pool = unsafe shell.pointee.pool
    unsafe pool._withUnsafeGuaranteedRef { pool in
      pool.idle.withLock { list in
        unsafe shell.pointee.next = unsafe list.first
        unsafe list.first = unsafe shell
      }
    }
    unsafe pool.release()
  }
}
