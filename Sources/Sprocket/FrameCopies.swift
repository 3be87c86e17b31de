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
    var waiting: [FrameCopy] = []
    var reader: CheckedContinuation<FrameCopy?, Never>?
    var hasReader = false
    var isEnded = false
    /// The reader left.
    var isLeft = false
    /// `write` waits no longer.
    var isInterrupted = false
    var replaced: UInt64 = 0
    /// For `.bgra`.
    var plan: TensorPlan?
  }

  public let name: String
  private let content: FrameCopy.Content
  private let keeping: Keeping
  private let state = Locked(State())
  /// 0 while no further copy may be kept.
  private let room = FutexWord()

  public init(
    _ name: String = "copies", of content: FrameCopy.Content = .image, keeping: Keeping = .newest
  ) {
    if case .every(let bound) = keeping {
      contract(bound > 0, "keeps \(bound) copies at a time; keep one or more")
    }
    self.name = name
    self.content = content
    self.keeping = keeping
    room.set(1)
  }

  public func configure(_ setup: inout SinkSetup) throws(RunError) {
    try setup.reads(content.parts)
    setup.takesLatest = keeping == .newest
    let plan = try content.plan(&setup)
    state.withLock { $0.plan = plan }
  }

  public func makePacker() throws(RunError) -> (any Packer)? {
    state.withLock { $0.plan }.map { TensorPacker($0) }
  }

  public func write(_ frame: borrowing PackedFrame) throws(RunError) {
    // Until there is room, or `interrupt`, which the engine calls where it drains no longer.
    while !room.wait(while: 0, until: deadline(in: 1_000_000_000)) {}
    let copy = FrameCopy(frame.view, content, packed: content == .bgra ? frame.packed : Span())
    let (reader, isKept) = state.withLock { state in
      let isKept = state.reader != nil || (!state.isLeft && keep(copy, &state))
      return (state.reader.take(), isKept)
    }
    reader?.resume(returning: copy)
    if !isKept { throw RunError(.readerGone, "nobody reads the sink `\(name)` any more") }
  }

  /// False where there is no room, because `write` was interrupted.
  private func keep(_ copy: FrameCopy, _ state: inout State) -> Bool {
    switch keeping {
    case .newest:
      state.replaced += UInt64(state.waiting.count)
      state.waiting = [copy]
    case .every(let bound):
      guard state.waiting.count < bound else { return false }
      state.waiting.append(copy)
      if state.waiting.count == bound, !state.isInterrupted { room.set(0) }
    }
    return true
  }

  public func finish() throws(RunError) {
    let reader = state.withLock { state in
      state.isEnded = true
      return state.reader.take()
    }
    reader?.resume(returning: nil)
  }

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

    deinit { copies.leave() }

    /// The next frame; `nil` at the end of the run, and where the task was cancelled.
    public func next() async -> FrameCopy? { await copies.next() }

    public func next(isolation actor: isolated (any Actor)?) async -> FrameCopy? {
      await copies.next()
    }
  }

  private func next() async -> FrameCopy? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reader in
        let (frame, isDone) = state.withLock { state in
          let frame = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
          let isDone =
            frame != nil || state.isEnded || state.isLeft || state.isInterrupted || Task.isCancelled
          if !isDone { state.reader = reader }
          if frame != nil { room.set(1) }
          return (frame, isDone)
        }
        if isDone { reader.resume(returning: frame) }
      }
    } onCancel: {
      leave()
    }
  }

  public func interrupt() {
    let reader = state.withLock { state in
      state.isInterrupted = true
      room.set(1)
      return state.reader.take()
    }
    reader?.resume(returning: nil)
  }

  private func leave() {
    let reader = state.withLock { state in
      state.isLeft = true
      state.waiting = []
      room.set(1)
      return state.reader.take()
    }
    reader?.resume(returning: nil)
  }
}

extension FrameCopy.Content {
  /// Reserves memory for the BGRA bytes that a packer makes of each frame. `nil` for other contents, which
  /// need no packer.
  package func plan(_ setup: inout SinkSetup) throws(RunError) -> TensorPlan? {
    guard self == .bgra else { return nil }
    var settings = TensorSettings()
    settings.layout = .bgr
    settings.isExact = true
    let plan = try TensorPlan(settings, for: setup.format, untouched: setup.untouchedSource)
    setup.packs(capacity: plan.byteCount, packerBytes: TensorPacker.workingBytes(plan))
    return plan
  }
}
