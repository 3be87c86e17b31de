internal import SprocketCodecs
public import SprocketCore
internal import SprocketEngine

/// A sink whose frames are read by `for await`, as copies.
///
///     let copies = FrameCopies(of: .luma(.full))
///     let engine = try Engine(source: camera, sinks: [copies])
///     try engine.start()
///     for await frame in copies { print(frame.record.number, frame.bytes.count) }
///
/// It ends with the run. With `.newest` a slow reader holds up nobody; the numbers of the
/// frames tell which were passed over. With `.every` a file waits for the reader, and a live source loses
/// frames of this sink alone (`behind`). A reader that leaves the loop ends the sink.
///
/// Costs one allocation and one copy of the bytes for each frame, on the sink's own thread.
public final class FrameCopies: Sink, AsyncSequence, Sendable {
  /// What is kept for a reader that has not asked yet.
  public enum Keeping: Sendable, Hashable {
    /// The newest frame. One that is replaced before it was read counts as delivered.
    case newest
    /// All frames, so many at a time.
    case every(Int)
  }

  private struct State {
    var hasReader = false
    /// `write` waits no longer.
    var isInterrupted = false
    var replaced: UInt64 = 0
    var copier: FrameCopier
  }

  public let name: String
  private let keeping: Keeping
  private let state: Locked<State>
  private let queue: CopyQueue<FrameCopy>

  public init(
    _ name: String = "copies", of content: FrameCopy.Content = .image, keeping: Keeping = .newest
  ) {
    queue = CopyQueue(keeping)
    self.name = name
    self.keeping = keeping
    state = Locked(State(copier: FrameCopier(content)))
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    setup.takesLatest = keeping == .newest
    var copier = state.withLock(\.copier)
    try copier.configure(&setup)
    let configured = copier
    state.withLock { $0.copier = configured }
  }

  public func makePacker() throws(RunError) -> (any Packer)? {
    state.withLock(\.copier).makePacker()
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    // Until there is room, or `interrupt`, which the engine calls where it drains no longer.
    queue.waitForRoom { state.withLock(\.isInterrupted) }
    switch queue.add(FrameCopy(frame, state.withLock(\.copier.content))) {
    case .kept: return
    case .replaced: state.withLock { $0.replaced += 1 }
    case .full, .left:
      throw RunError(.readerGone, "nobody reads the sink `\(name)` any more")
    }
  }

  public func finish() throws(RunError) { queue.end() }

  public var notes: [String] {
    let replaced = state.withLock { $0.replaced }
    switch replaced {
    case 0: return []
    case 1: return ["1 frame of `\(name)` was replaced by a newer one before it was read"]
    default:
      return ["\(replaced) frames of `\(name)` were replaced by newer ones before they were read"]
    }
  }

  /// For one reader at a time.
  public func makeAsyncIterator() -> Iterator {
    let isOnly = state.withLock { state in
      defer { state.hasReader = true }
      return !state.hasReader
    }
    contract(isOnly, "reads a sequence of copies in a second loop; add a sink of its own for it")
    return Iterator(copies: self)
  }

  /// Waits for the copies of one reader.
  public final class Iterator: AsyncIteratorProtocol {
    private let copies: FrameCopies

    fileprivate init(copies: FrameCopies) { self.copies = copies }

    deinit { copies.queue.leave() }

    /// The next frame; `nil` at the end of the run, and where the task was cancelled.
    public func next() async -> FrameCopy? { await copies.queue.next() }

    public func next(isolation actor: isolated (any Actor)?) async -> FrameCopy? {
      await copies.queue.next()
    }
  }

  public func interrupt() {
    state.withLock { $0.isInterrupted = true }
    queue.end()
  }
}
