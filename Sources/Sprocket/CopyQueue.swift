internal import SprocketCore
internal import SprocketEngine

/// What waits for one slow reader: the newest of what came, or all of it up to a bound.
///
/// The writer is a sink's thread; it calls `waitForRoom` before it makes an element, so that the engine
/// counts what is lost. The reader is any task.
package final class CopyQueue<Element: Sendable>: Sendable {
  /// What became of an element.
  package enum Added {
    case kept
    /// It is kept in place of an older one, which nobody read.
    case replaced(Element)
    /// There was no room: the writer was interrupted, or nothing more is to come.
    case full
    /// Nobody reads any more.
    case left
  }

  private struct State {
    var waiting: [Element] = []
    /// Each gets the next element.
    var readers: [CheckedContinuation<Element?, Never>] = []
    /// Nothing more is to come.
    var isEnded = false
    /// The reader left.
    var isLeft = false
  }

  private let keeping: FrameCopies.Keeping
  private let state = Locked(State())
  /// Counts what may end a wait.
  private let changes = FutexWord()

  /// Traps for a bound below 1.
  package init(_ keeping: FrameCopies.Keeping) {
    if case .every(let bound) = keeping {
      contract(bound > 0, "keeps \(bound) copies at a time; keep one or more")
    }
    self.keeping = keeping
  }

  // MARK: The writer

  /// Waits until an element can be kept, nobody reads, nothing more is to come, or `isInterrupted`.
  package func waitForRoom(unless isInterrupted: () -> Bool) {
    while true {
      let seen = changes.value
      if isInterrupted() || hasRoom { return }
      _ = changes.wait(while: seen, until: deadline(in: 1_000_000_000))
    }
  }

  private var hasRoom: Bool {
    state.withLock { state in
      guard case .every(let bound) = keeping else { return true }
      return state.waiting.count < bound || state.isLeft || state.isEnded
    }
  }

  /// Lets `waitForRoom` ask again whether it is interrupted. From any thread.
  package func wake() { changes.advance() }

  /// Keeps an element, or hands it to a reader. `merge` makes one of the element that is replaced and the new
  /// one.
  package func add(
    _ element: Element, merging merge: (Element, Element) -> Element = { _, new in new }
  ) -> Added {
    let (reader, added) = state.withLock { state in Self.add(element, keeping, &state, merge) }
    reader?.resume(returning: element)
    return added
  }

  private static func add(
    _ element: Element, _ keeping: FrameCopies.Keeping, _ state: inout State,
    _ merge: (Element, Element) -> Element
  ) -> (CheckedContinuation<Element?, Never>?, Added) {
    if state.isLeft { return (nil, .left) }
    if !state.readers.isEmpty { return (state.readers.removeFirst(), .kept) }
    switch keeping {
    case .newest:
      let old = state.waiting.first
      state.waiting = [old.map { merge($0, element) } ?? element]
      return (nil, old.map { .replaced($0) } ?? .kept)
    case .every(let bound):
      guard state.waiting.count < bound else { return (nil, .full) }
      state.waiting.append(element)
      return (nil, .kept)
    }
  }

  /// Nothing more is to come: readers get what waits, then `nil`. From any thread.
  package func end() { close { $0.isEnded = true } }

  // MARK: The reader

  /// Nobody reads any more. From any thread.
  package func leave() {
    close { state in
      state.isLeft = true
      state.waiting = []
    }
  }

  private func close(_ change: (inout State) -> Void) {
    let readers = state.withLock { state in
      change(&state)
      defer { state.readers = [] }
      return state.readers
    }
    changes.advance()
    for reader in readers { reader.resume(returning: nil) }
  }

  /// The next element; `nil` at the end, and where the task was cancelled.
  package func next() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reader in
        let (element, isDone) = state.withLock { state in
          let element = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
          let isDone = element != nil || state.isEnded || state.isLeft || Task.isCancelled
          if !isDone { state.readers.append(reader) }
          return (element, isDone)
        }
        if element != nil { changes.advance() }
        if isDone { reader.resume(returning: element) }
      }
    } onCancel: {
      leave()
    }
  }

  /// The elements as a sequence, for one loop. Who lets go of it has left.
  package var stream: AsyncStream<Element> {
    let reading = Reading(self)
    return AsyncStream { await reading.queue.next() }
  }

  private final class Reading: Sendable {
    let queue: CopyQueue

    init(_ queue: CopyQueue) { self.queue = queue }

    deinit { queue.leave() }
  }
}
