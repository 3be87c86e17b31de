public import Sprocket

/// What became of settings that were written to a camera.
public struct ControlChange: Sendable {
  /// The first frame after all of them were applied: its running number, and when it was captured. It shows
  /// them, unless `isOvertaken`. `nil` while the camera belongs to no running session, and where nothing was
  /// set.
  public let firstFrame: FrameMark?
  /// What the camera made of them, by the control's name and in its own numbers. A loop of the session's
  /// writes the exposure and gain of `.custom` and the position of `.locked` itself, and these are here; in
  /// modes in which a loop decides there is no value.
  public let values: [String: Double]
  /// Whether a later call had changed one of the values by `firstFrame`. Then no frame shows all of them.
  public internal(set) var isOvertaken = false
}

/// Batches of controls that wait for their answers and for the frame that shows them. The calls of one actor
/// return in the order in which the batches were written: each when its batch is complete and the call before
/// has returned.
struct ControlChanges: Sendable {
  struct Wait: Sendable {
    var batch: ShownBatch
    /// The controls' names, in the order of the batch.
    let names: [String]
    /// What loops were set to with it.
    var loops: [LoopWish] = []
    var refusal: String?
    /// Once the batch is complete.
    var answer: Reply<ControlChange>.Answer?
    /// Whether `reply` has the answer. The wait is removed when the call returns.
    var isTold = false
    let reply: Reply<ControlChange>
    /// Number of the source that the batch was written to, from 0. Another source may use the same tickets
    /// for other writes.
    let source: Int
    /// The actor of the call; `nil` where it runs on none.
    let caller: ObjectIdentifier?
  }

  private var waits: [Wait] = []

  var isEmpty: Bool { waits.isEmpty }
  var hasLoops: Bool { waits.contains { !$0.loops.isEmpty && $0.answer == nil } }

  mutating func add(_ wait: Wait) { waits.append(wait) }

  /// Takes the device's answer to a write.
  mutating func take(_ event: Event, of source: Int, refusal: (UInt64) -> String?) {
    for index in waits.indices {
      let isOpen = waits[index].answer == nil && waits[index].source == source
      guard isOpen, waits[index].batch.take(event) else { continue }
      guard let refused = waits[index].batch.refused else { return }
      waits[index].refusal =
        refusal(refused)
        ?? "the camera refused one of \(waits[index].names.joined(separator: ", "))"
      return
    }
  }

  /// A loop passes frames with its change of that number, from `first` on.
  mutating func begin(_ loop: CaptureDevice.Loop, _ number: Int, from first: UInt64) {
    for index in waits.indices {
      for place in waits[index].loops.indices
      where waits[index].loops[place].loop == loop && waits[index].loops[place].number == number {
        waits[index].loops[place].first = first
      }
    }
  }

  /// Stores the answers of the batches that are complete at this frame.
  mutating func see(_ frame: FrameMark, _ reports: LoopReports) {
    for index in waits.indices where waits[index].answer == nil {
      let wait = waits[index]
      waits[index].answer = wait.answer(at: frame, reports, later: waits[(index + 1)...])
    }
  }

  /// Gives up those that are not complete; with `loops` only those that wait for a loop.
  mutating func cancel(because reason: String, loops: Bool = false) {
    for index in waits.indices
    where waits[index].answer == nil && (!loops || !waits[index].loops.isEmpty) {
      waits[index].answer = .failure(
        CaptureError(.cancelled, "\(reason) before the camera showed the settings"))
    }
  }

  typealias Next = (reply: Reply<ControlChange>, answer: Reply<ControlChange>.Answer)

  /// Takes the calls that can return now: the first call of each actor, and all calls without an actor, if
  /// their batches are complete.
  mutating func takeNext() -> [Next] {
    var next: [Next] = []
    for index in waits.indices where !waits[index].isTold {
      let wait = waits[index]
      let isBehind = wait.caller != nil && waits[..<index].contains { $0.caller == wait.caller }
      guard !isBehind, let answer = wait.answer else { continue }
      waits[index].isTold = true
      next.append((wait.reply, answer))
    }
    return next
  }

  /// Removes the batch of a call that returns. Returns its answer, `nil` if there is none.
  mutating func remove(_ reply: Reply<ControlChange>) -> Reply<ControlChange>.Answer? {
    waits.firstIndex { $0.reply === reply }.flatMap { waits.remove(at: $0).answer }
  }
}

extension ControlChanges.Wait {
  /// `nil` while the camera has not answered, or does not show what it answered.
  fileprivate func answer(
    at frame: FrameMark, _ reports: LoopReports, later: ArraySlice<Self>
  ) -> Reply<ControlChange>.Answer? {
    if batch.isAnswered, let refusal {
      return .failure(CaptureError(.controlUnsupported, refusal))
    }
    guard batch.isShown(at: frame.number) else { return nil }
    var isOvertaken = later.contains { $0.replaces(self, at: frame) }
    for wish in loops {
      switch wish.progress(at: frame.number, reports) {
      case .shown: continue
      case .failed:
        return .failure(
          CaptureError(
            .controlUnsupported, "the loop \(wish.loop.rawValue) has ended, so it sets nothing"))
      case .waiting:
        let isReplaced = later.contains { other in
          other.loops.contains { $0.loop == wish.loop && $0.holds(at: frame.number) }
        }
        guard isReplaced else { return nil }
        isOvertaken = true
      }
    }
    return .success(ControlChange(firstFrame: frame, values: values, isOvertaken: isOvertaken))
  }

  private var values: [String: Double] {
    let written = zip(names, batch.values).map { ($0, $1.value) }
    let ofLoops = loops.flatMap(\.values).map { ($0.name, $0.number) }
    return Dictionary(written + ofLoops) { $1 }
  }

  /// Whether this later batch has replaced a value of `other` at the frame.
  fileprivate func replaces(_ other: Self, at frame: FrameMark) -> Bool {
    guard source == other.source, refusal == nil, batch.isShown(at: frame.number),
      loops.allSatisfy({ $0.holds(at: frame.number) })
    else { return false }
    let mine = values
    return other.values.contains { name, value in mine[name].map { $0 != value } ?? false }
  }
}

extension SessionRun {
  /// An event of a frame, or of a lost one.
  func take(_ event: Event) {
    state.withLock { state in
      guard !state.changes.isEmpty, let engine = state.engine else { return }
      let port = engine.description.controls
      state.changes.take(event, of: state.sources) { ticket in
        if case .refused(let reason) = port?.outcome(of: ticket) { reason } else { nil }
      }
    }
  }

  /// A frame has passed, with its events and after the news.
  func didSee(_ mark: FrameMark, _ frame: borrowing FrameView) {
    stepRamp(at: mark.captured)
    let reports = needsLoops ? LoopReports(frame) : LoopReports()
    updateChanges { $0.see(mark, reports) }
    settle(reports, at: mark)
  }

  /// Changes the batches that wait, and answers the calls that can return.
  func updateChanges(_ body: (inout ControlChanges) -> Void) {
    let next = state.withLock { state -> [ControlChanges.Next] in
      guard !state.changes.isEmpty else { return [] }
      body(&state.changes)
      return state.changes.takeNext()
    }
    for (reply, answer) in next { reply.answer(answer) }
  }

  /// Writes what was set for the camera, which begins with its own values.
  func writeWanted(of camera: CaptureDevice) {
    // A scene begins with them.
    if case .scene = camera.kind { return }
    guard let port = engine?.description.controls else { return }
    // Automatics first: they decide whether the others can be written.
    let automatic = DeviceControls.automatics
    let sorted = camera.wanted.sorted { automatic.contains($0.key) && !automatic.contains($1.key) }
    let values = sorted.compactMap { name, value in
      port.control(name).map { ControlValue($0, value) }
    }
    if !values.isEmpty { _ = port.write(values) }
  }
}
