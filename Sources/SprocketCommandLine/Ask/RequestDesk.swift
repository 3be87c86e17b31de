internal import Sprocket
internal import SprocketPipelines

/// Makes requests to the engine for keys, signals, the control socket, scripts and conditions.
final class RequestDesk: Sendable {
  let engine: Engine
  let parts: RunParts
  /// The recording that was asked for last: requests that name none are about it.
  private let latest = Locked<RecordingID?>(nil)

  init(_ engine: Engine, _ parts: RunParts) { (self.engine, self.parts) = (engine, parts) }

  /// Names of the sinks that record movies and photographs on demand; `nil` if the run has none.
  private var movie: String? {
    let (names, outputs) = (engine.onDemandSinks, parts.pipeline.outputs)
    return names.first { outputs[$0]?[MovieSettings.self] != nil }
      ?? names.first { outputs[$0]?[StillSettings.self] == nil }
  }
  private var photos: String? {
    let outputs = parts.pipeline.outputs
    return engine.onDemandSinks.first { outputs[$0]?[StillSettings.self] != nil }
  }

  var canAsk: Bool { movie != nil || photos != nil }
  var recordsMovies: Bool { movie != nil }
  var takesPhotos: Bool { photos != nil }

  /// The movie that goes on until it is stopped.
  var current: RecordingID? { movie.flatMap { engine.openRecording(of: $0) } }

  /// Throws if no recording can be started: of photographs, or of movies where `sink` names no other sink.
  func check(
    photo: Bool, sink: String? = nil, frames: UInt64?, choice: FrameChoice? = nil
  ) throws(RunError) {
    let name = photo ? try photoSink : try movieSink(sink)
    try engine.check(sink: name, frames: frames, choice: choice)
  }

  private var photoSink: String {
    get throws(RunError) {
      if let photos { return photos }
      throw RunError(
        .usage, "this run takes no photographs; start it with --stills FOLDER and --on-demand")
    }
  }

  private func movieSink(_ named: String?) throws(RunError) -> String {
    if let name = named ?? movie { return name }
    throw RunError(
      .usage, "this run records no movies; start it with --movie PATH and --on-demand")
  }

  /// What was made of a request.
  struct Made {
    var recording: RecordingID?
    /// Its number for `cancel`.
    var id: RequestID?
    /// What the source made of its controls.
    var controls: [String: Double] = [:]
    /// What a person should know.
    var note: String?
  }

  /// Makes a request. Those that only ask what there is are answered by whoever took them.
  @discardableResult
  func make(_ request: RunRequest, _ time: AskedTime = AskedTime()) throws(RunError) -> Made {
    switch request {
    case .record(let sink, let path, let frames):
      let made = try ask(.record(sink: try movieSink(sink), path: path, frames: frames), time)
      latest.withLock { $0 = made.recording }
      return made
    case .photo(let frames, nil):
      return try ask(.record(sink: try photoSink, frames: frames), time)
    case .photo(_, let choice?):
      return try ask(.choose(sink: try photoSink, choice), time.counted)
    case .next(let id, let path): return try ask(.next(try known(id), path: path), time)
    case .pause(let id): return try ask(.pause(try known(id)), time)
    case .resume(let id): return try ask(.resume(try known(id)), time)
    case .stop(let id): return try ask(.stop(try known(id)), time)
    case .set(let change):
      return Made(id: try engine.set(change, at: time.moment, by: time.holder))
    case .control(let wishes): return try control(wishes)
    case .reconfigure(let wish):
      let controls = try parts.change(engine, wish, by: time.holder)
      var made = controls.isEmpty ? Made() : try control(controls)
      let notes = [made.note, wish.whole == nil ? nil : parts.note].compactMap(\.self)
      made.note = notes.isEmpty ? nil : notes.joined(separator: "; ")
      return made
    case .cancel(let id): try engine.withdraw(id, of: time.holder)
    case .quit: engine.stop()
    case .status, .recordings, .events: break
    }
    return Made()
  }

  private func ask(_ request: Request, _ time: AskedTime) throws(RunError) -> Made {
    let asked = try engine.ask([request], at: time.moment, by: time.holder)
    return Made(recording: asked.recordings.first, id: asked.id)
  }

  /// Throws if one is refused: then none was changed.
  private func control(_ wishes: [ControlWish]) throws(RunError) -> Made {
    let (written, note) = try engine.write(controls: wishes)
    guard let written else { return Made(note: note) }
    let isAnswered: Bool
    do throws(RunError) {
      isAnswered = try written.isAnswered(within: Self.patience)
    } catch {
      throw written.others.putBack(because: error)
    }
    guard isAnswered else {
      let pending =
        "the source has not answered yet; the reports will say what it made of it"
        + (written.others.isEmpty ? "" : ", and the microphones keep their new values")
      return Made(note: [note, pending].compactMap(\.self).joined(separator: "; "))
    }
    let notes = [note, written.note].compactMap(\.self)
    return Made(
      controls: written.values, note: notes.isEmpty ? nil : notes.joined(separator: "; "))
  }

  /// Longest wait for a source's answer to control writes, 1 s. A larger value waits for slower sources, and
  /// lets a client wait longer if no answer comes.
  private static let patience = Duration.seconds(1)

  private func known(_ id: RecordingID?) throws(RunError) -> RecordingID {
    guard let id = id ?? current ?? latest.withLock({ $0 }) else {
      throw RunError(.usage, "no recording is under way; start one first")
    }
    return id
  }
}

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

extension RecordingRecord {
  /// The message when a file is complete.
  var sentence: String {
    let seconds = fixed(Double(nanoseconds) / 1e9, 1)
    let lost = Fate.allCases.filter { $0 != .delivered && counts[$0] > 0 }
      .map { ", \(counts[$0]) \($0.name)" }.joined()
    let end = reason.map { "; \($0.sentence)" } ?? ""
    guard counts[.delivered] > 0 else { return "recording \(id): no frame, no file\(lost)\(end)" }
    let frames = counts[.delivered] == 1 ? "1 frame" : "\(counts[.delivered]) frames, \(seconds) s"
    let old = deleted.isEmpty ? "" : "; deleted \(deleted.joined(separator: ", "))"
    return "recording \(id): \(path), \(frames)\(lost)\(end)\(old)"
  }
}
