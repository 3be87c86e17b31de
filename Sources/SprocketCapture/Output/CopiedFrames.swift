internal import Sprocket

/// Has a frame's running number.
protocol NumberedCopy: Sendable {
  var number: UInt64 { get }
}

extension FrameCopy: NumberedCopy {
  var number: UInt64 { record.number }
}

/// What a sink waits for before it copies a frame.
protocol CopyRoom: Sendable {
  var content: FrameCopy.Content { get }
  var keeping: FrameCopies.Keeping { get }
  func waitForRoom(unless isInterrupted: () -> Bool)
  func wake()
}

/// Copies that an output keeps for one reader, in each run that it is part of. What no reader gets is told
/// once: here, or by the engine, which loses frames while the sink waits for room.
final class CopiedFrames<Copy: NumberedCopy>: CopyRoom {
  let content: FrameCopy.Content
  let keeping: FrameCopies.Keeping
  let onDrop: VideoDataOutput.DropHandler?
  private let queue: CopyQueue<Copy>

  init(
    _ content: FrameCopy.Content, _ keeping: FrameCopies.Keeping,
    _ onDrop: VideoDataOutput.DropHandler?
  ) {
    (self.content, self.keeping, self.onDrop) = (content, keeping, onDrop)
    queue = CopyQueue(keeping)
  }

  var stream: AsyncStream<Copy> { queue.stream }

  func waitForRoom(unless isInterrupted: () -> Bool) {
    queue.waitForRoom(unless: isInterrupted)
  }

  func wake() { queue.wake() }

  /// `merge` makes one of a copy that is replaced and the new one.
  func add(_ copy: Copy, merging merge: (Copy, Copy) -> Copy = { _, new in new }) {
    switch queue.add(copy, merging: merge) {
    case .kept, .left: return
    case .replaced(let old): onDrop?(DroppedFrame(number: old.number, reason: .late))
    case .full: onDrop?(DroppedFrame(number: copy.number, reason: .discontinuity))
    }
  }

  /// The output was removed from its session.
  func end() { queue.end() }
}
