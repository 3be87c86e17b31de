public import Sprocket

/// What became of settings that were written to a camera.
public struct ControlChange: Sendable {
  /// The first frame that shows all of them: its running number, and when it was captured. `nil` while the
  /// camera belongs to no running session.
  public let firstFrame: FrameMark?
  /// What the camera made of them, by the control's name.
  public let values: [String: Double]
}

/// Batches of controls that wait for their answers and for the frame that shows them.
struct ControlChanges: Sendable {
  struct Wait: Sendable {
    var batch: ShownBatch
    /// The controls' names, in the order of the batch.
    let names: [String]
    var refusal: String?
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

  /// Takes those that are complete with the frame that was seen.
  mutating func takeDone(
    at frame: FrameMark
  ) -> [(Reply<ControlChange>, Reply<ControlChange>.Answer)] {
    var done: [(Reply<ControlChange>, Reply<ControlChange>.Answer)] = []
    waits.removeAll { wait in
      if wait.batch.isAnswered, let refusal = wait.refusal {
        done.append((wait.reply, .failure(CaptureError(.controlUnsupported, refusal))))
        return true
      }
      guard wait.batch.isShown(at: frame.number) else { return false }
      let values = zip(wait.names, wait.batch.values).map { ($0, $1.value) }
      let made = Dictionary(values) { $1 }
      done.append((wait.reply, .success(ControlChange(firstFrame: frame, values: made))))
      return true
    }
    return done
  }

  /// Its caller waits no more.
  mutating func remove(_ reply: Reply<ControlChange>) { waits.removeAll { $0.reply === reply } }

  /// Gives up all.
  func cancel() {
    for wait in waits {
      wait.reply.answer(
        .failure(
          CaptureError(.cancelled, "the session stopped before the camera showed the settings")))
    }
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
    let done = state.withLock { $0.changes.isEmpty ? [] : $0.changes.takeDone(at: frame) }
    for (reply, answer) in done { reply.answer(answer) }
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
