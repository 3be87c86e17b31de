internal import Sprocket
internal import SprocketPipelines

/// Former values of controls of microphones that were set.
struct ChangedMicrophones {
  fileprivate(set) var former: [(name: String, restorer: ControlRestorer?)] = []

  var isEmpty: Bool { former.isEmpty }

  /// Sets the controls back. Returns `error`, which says so if one of them keeps its new value.
  func putBack(because error: RunError) -> RunError {
    let failed = former.reversed().filter { control in
      do throws(RunError) { try control.restorer?() } catch { return true }
      return control.restorer == nil
    }
    guard !failed.isEmpty else { return error }
    return RunError(
      error.code,
      "\(error.description); \(failed.map(\.name).joined(separator: ", ")) could not be set back",
      error.settings)
  }
}

/// Controls of a source that were written together.
struct WrittenControls {
  let port: ControlPort
  let wishes: [ControlValue]
  let tickets: Range<UInt64>
  /// Controls of microphones that were set by the same request.
  let others: ChangedMicrophones

  /// Waits until the source has answered; throws if it refused. Returns false if it does not answer in time.
  func isAnswered(within limit: Duration) throws(RunError) -> Bool {
    let end = monotonicNow() + limit.nanosecondCount
    while true {
      let outcomes = tickets.map { port.outcome(of: $0) }
      if !outcomes.contains(.pending) {
        for (outcome, wish) in zip(outcomes, wishes) {
          guard case .refused(let reason) = outcome else { continue }
          let control = port.controls[Int(wish.control)]
          throw RunError(
            .failed,
            reason ?? "the source refuses \(control.name)=\(control.text(of: wish.value))")
        }
        return true
      }
      guard monotonicNow() < end else { return false }
      sleep(until: monotonicNow() + 2_000_000)
    }
  }

  /// About controls that the source keeps, and that do not hold at the moment.
  var note: String? {
    let inactive = wishes.filter { wish in
      let kind = port.controls[Int(wish.control)].kind
      return kind != .button && port.value(of: wish.control) == nil
    }
    guard !inactive.isEmpty else { return nil }
    let names = inactive.map { wish in
      let control = port.controls[Int(wish.control)]
      return "\(control.name)=\(control.text(of: wish.value))"
    }
    return "the source keeps \(names.joined(separator: ", ")), but another control, such as an "
      + "automatic one, decides over it at the moment; switch that off together with it"
  }

  /// What the controls have become, by their names; those that are not known are left out.
  var values: [String: Double] {
    var values: [String: Double] = [:]
    for wish in wishes {
      values[port.controls[Int(wish.control)].name] = port.value(of: wish.control)
    }
    return values
  }
}

extension Engine {
  /// Throws the error that `write` would throw for names and values; writes nothing.
  func check(controls given: [ControlWish]) throws(RunError) { _ = try found(given) }

  /// The controls of the source, and the others, which are microphones'.
  private func found(
    _ given: [ControlWish]
  ) throws(RunError) -> (own: [ControlValue], others: [ControlWish]) {
    let port = description.controls
    var wishes: [ControlValue] = []
    var others: [ControlWish] = []
    for wish in given {
      guard let port, let index = port.control(wish.name) else {
        try checkMicrophones(have: wish.name)
        others.append(wish)
        continue
      }
      let control = port.controls[Int(index)]
      guard let value = control.value(wish.value) else {
        throw RunError(
          .usage,
          "\(wish.name)=\(wish.value) is not allowed: \(control.advice(insteadOf: wish.value))")
      }
      wishes.append(ControlValue(index, value))
    }
    return (wishes, others)
  }

  /// Writes controls by their names, from the texts that a user gave: those of each microphone that has them,
  /// and then those of the source as one batch. Returns those of the source, and what the user should know of
  /// the others.
  func write(
    controls given: [ControlWish]
  ) throws(RunError) -> (written: WrittenControls?, note: String?) {
    let (wishes, others) = try found(given)
    // Sets microphones first: they answer at once, and can be set back if the source refuses a control.
    let (notes, changed) = try set(others)
    var written: WrittenControls?
    if let port = description.controls, !wishes.isEmpty {
      guard let tickets = port.write(wishes) else {
        throw changed.putBack(
          because: RunError(
            .usage, "at most \(ControlPort.capacity) controls can be given at once; ask again"))
      }
      written = WrittenControls(port: port, wishes: wishes, tickets: tickets, others: changed)
    }
    return (written, notes.isEmpty ? nil : notes.joined(separator: "; "))
  }

  /// Sets all of these controls of microphones, or none of them.
  private func set(
    _ wishes: [ControlWish]
  ) throws(RunError) -> (notes: [String], changed: ChangedMicrophones) {
    var notes: [String] = []
    var changed = ChangedMicrophones()
    for wish in wishes {
      for microphone in microphones
      where microphone.controls.contains(where: { $0.name == wish.name }) {
        // The restorer is stored first: a control may change although the device answers with an error.
        changed.former.append((wish.name, microphone.restorer(of: wish.name)))
        do throws(RunError) {
          if let note = try microphone.set(wish.name, to: wish.value) { notes.append(note) }
        } catch {
          throw changed.putBack(because: error)
        }
      }
    }
    return (notes, changed)
  }

  private var microphones: [any AudioControls] { audio.compactMap(\.description.controls) }

  private func checkMicrophones(have name: String) throws(RunError) {
    let names = microphones.flatMap { $0.controls.map(\.name) }
    guard !names.contains(name) else { return }
    let known = (description.controls?.controls.map(\.name) ?? []) + names
    guard !known.isEmpty else { throw RunError(.usage, "\(description.name) has no controls") }
    throw RunError(.usage, "there is no control `\(name)`; " + knownNames(known, near: name))
  }
}
