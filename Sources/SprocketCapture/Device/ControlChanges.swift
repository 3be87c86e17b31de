public import Sprocket

/// What became of settings that were written to a camera.
public struct ControlChange: Sendable {
  /// The first frame that shows all of them: its running number, and when it was captured. `nil` while the
  /// camera belongs to no running session.
  public let firstFrame: FrameMark?
  /// What the camera made of them, by the control's name.
  public let values: [String: Double]
}

/// Batches of controls that wait for their answers and for the frame that shows them. Their callers go on in
/// the order in which the batches were written: each when its batch is complete and the caller before has
/// gone on.
struct ControlChanges: Sendable {
  struct Wait: Sendable {
    var batch: ShownBatch
    /// The controls' names, in the order of the batch.
    let names: [String]
    var refusal: String?
    /// Once the batch is complete.
    var answer: Reply<ControlChange>.Answer?
    /// Whether its caller has the answer, and may not have gone on yet.
    var isTold = false
    let reply: Reply<ControlChange>
  }

  private var waits: [Wait] = []

  var isEmpty: Bool { waits.isEmpty }

  mutating func add(_ batch: ShownBatch, _ names: [String], _ reply: Reply<ControlChange>) {
    waits.append(Wait(batch: batch, names: names, reply: reply))
  }

  /// Takes the device's answer to a write.
  mutating func take(_ event: Event, refusal: (UInt64) -> String?) {
    for index in waits.indices where waits[index].batch.take(event) {
      guard let refused = waits[index].batch.refused else { return }
      waits[index].refusal =
        refusal(refused)
        ?? "the camera refused one of \(waits[index].names.joined(separator: ", "))"
      return
    }
  }

  /// Notes which ones are complete with the frame that was seen.
  mutating func see(_ frame: FrameMark) {
    for index in waits.indices where waits[index].answer == nil {
      waits[index].answer = waits[index].answer(at: frame)
    }
  }

  /// Gives up those that are not complete.
  mutating func cancel() {
    for index in waits.indices where waits[index].answer == nil {
      waits[index].answer = .failure(
        CaptureError(.cancelled, "the session stopped before the camera showed the settings"))
    }
  }

  typealias Next = (reply: Reply<ControlChange>, answer: Reply<ControlChange>.Answer)

  /// The next caller to be told; `nil` if there is none, or if the one before has not gone on.
  mutating func takeNext() -> Next? {
    guard let first = waits.first, !first.isTold, let answer = first.answer else { return nil }
    waits[0].isTold = true
    return (first.reply, answer)
  }

  /// Its caller goes on. Returns the answer, if there is one.
  mutating func remove(_ reply: Reply<ControlChange>) -> Reply<ControlChange>.Answer? {
    waits.firstIndex { $0.reply === reply }.flatMap { waits.remove(at: $0).answer }
  }
}

extension ControlChanges.Wait {
  /// `nil` while the camera has not answered, or does not show what it answered.
  fileprivate func answer(at frame: FrameMark) -> Reply<ControlChange>.Answer? {
    if batch.isAnswered, let refusal {
      return .failure(CaptureError(.controlUnsupported, refusal))
    }
    guard batch.isShown(at: frame.number) else { return nil }
    let values = zip(names, batch.values).map { ($0, $1.value) }
    return .success(ControlChange(firstFrame: frame, values: Dictionary(values) { $1 }))
  }
}

extension SessionRun {
  /// An event of a frame, or of a lost one.
  func take(_ event: Event) {
    state.withLock { state in
      guard !state.changes.isEmpty, let engine = state.engine else { return }
      let port = engine.description.controls
      state.changes.take(event) { ticket in
        if case .refused(let reason) = port?.outcome(of: ticket) { reason } else { nil }
      }
    }
  }

  /// A frame has passed, with its events.
  func didSee(_ frame: FrameMark) {
    updateChanges { $0.see(frame) }
  }

  /// Changes the batches that wait, and tells the next caller.
  func updateChanges(_ body: (inout ControlChanges) -> Void) {
    let next = state.withLock { state -> ControlChanges.Next? in
      guard !state.changes.isEmpty else { return nil }
      body(&state.changes)
      return state.changes.takeNext()
    }
    if let next { next.reply.answer(next.answer) }
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
