internal import Sprocket
internal import SprocketPipelines

/// Makes requests to the engine for keys, signals, the control socket, scripts and conditions.
final class RequestDesk: Sendable {
  let engine: Engine
  private let parts: RunParts
  /// What sinks of movies and of stills are called, of those that the run began with.
  private let movies, stills: [String]
  /// The recording that was asked for last: requests that name none are about it.
  private let latest = Locked<RecordingID?>(nil)

  init(_ engine: Engine, _ parts: RunParts, _ pipeline: Pipeline) {
    self.engine = engine
    self.parts = parts
    let movies = pipeline.outputs.filter { $0[MovieSettings.self] != nil }.map(\.id)
    let stills = pipeline.outputs.filter { $0[StillSettings.self] != nil }.map(\.id)
    // Stills that are attached later are called as their kind.
    self.movies = movies
    self.stills = stills + [StillSink.kind.name].filter { !movies.contains($0) }
  }

  /// Names of the sinks that record movies and photographs on demand; `nil` if the run has none.
  private var movie: String? {
    let names = engine.onDemandSinks
    return names.first(where: movies.contains) ?? names.first { !stills.contains($0) }
  }
  private var photos: String? { engine.onDemandSinks.first(where: stills.contains) }

  var canAsk: Bool { movie != nil || photos != nil }
  var recordsMovies: Bool { movie != nil }
  var takesPhotos: Bool { photos != nil }

  /// The movie that goes on until it is stopped.
  var current: RecordingID? { movie.flatMap { engine.openRecording(of: $0) } }

  /// Throws if no recording can be started: of photographs, or of movies where `sink` names no other sink.
  func check(photo: Bool, sink: String? = nil, frames: UInt64?) throws(RunError) {
    let name = photo ? try photoSink : try movieSink(sink)
    try engine.check(sink: name, frames: frames)
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

  /// Photographs frames.
  func photo(frames: UInt64 = 1, _ time: AskedTime = AskedTime()) throws(RunError) -> AskedRequests
  {
    try engine.ask([.record(sink: try photoSink, frames: frames)], time)
  }

  /// Starts a recording.
  func record(
    path: String? = nil, frames: UInt64? = nil, sink: String? = nil,
    _ time: AskedTime = AskedTime()
  ) throws(RunError) -> AskedRequests {
    let asked = try engine.ask(
      [.record(sink: try movieSink(sink), path: path, frames: frames)], time)
    latest.withLock { $0 = asked.recordings.first }
    return asked
  }

  /// Continues a recording in its next file.
  func next(
    _ id: RecordingID? = nil, path: String? = nil, _ time: AskedTime = AskedTime()
  ) throws(RunError) -> AskedRequests {
    try engine.ask([.next(try known(id), path: path)], time)
  }

  /// Ends a recording.
  func stop(
    _ id: RecordingID? = nil, _ time: AskedTime = AskedTime()
  ) throws(RunError) -> AskedRequests {
    try engine.ask([.stop(try known(id))], time)
  }

  /// Changes source, stages and sinks. Waits until the change holds.
  func reconfigure(_ texts: RunParts.Texts) throws(RunError) { try parts.change(engine, texts) }

  /// Writes controls of the source as one batch, and those of microphones. Returns what the source made of
  /// its own, and what a person should know. Throws if one is refused: then none was changed.
  func control(
    _ values: [(name: String, text: String)]
  ) throws(RunError) -> (values: [String: Double], note: String?) {
    let (written, note) = try engine.write(controls: values)
    guard let written else { return ([:], note) }
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
      return ([:], [note, pending].compactMap(\.self).joined(separator: "; "))
    }
    let notes = [note, written.note].compactMap(\.self)
    return (written.values, notes.isEmpty ? nil : notes.joined(separator: "; "))
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

/// Moment from which a request holds, and the client that made it.
struct AskedTime {
  var moment = Moment.now
  var holder = RequestHolder.program
}

extension Engine {
  fileprivate func ask(
    _ requests: [Request], _ time: AskedTime
  ) throws(RunError) -> AskedRequests {
    try ask(requests, at: time.moment, by: time.holder)
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
  /// Writes controls by their names, from the texts that a user gave: those of each microphone that has them,
  /// and then those of the source as one batch. Returns those of the source, and what the user should know of
  /// the others.
  func write(
    controls values: [(name: String, text: String)]
  ) throws(RunError) -> (written: WrittenControls?, note: String?) {
    let port = description.controls
    var wishes: [ControlValue] = []
    var others: [(name: String, text: String)] = []
    for (name, text) in values {
      guard let port, let index = port.control(name) else {
        try checkMicrophones(have: name)
        others.append((name, text))
        continue
      }
      let control = port.controls[Int(index)]
      guard let value = control.value(text) else {
        throw RunError(
          .usage, "\(name)=\(text) is not allowed: \(control.advice(insteadOf: text))")
      }
      wishes.append(ControlValue(index, value))
    }
    // Sets microphones first: they answer at once, and can be set back if the source refuses a control.
    let (notes, changed) = try set(others)
    var written: WrittenControls?
    if let port, !wishes.isEmpty {
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
    _ values: [(name: String, text: String)]
  ) throws(RunError) -> (notes: [String], changed: ChangedMicrophones) {
    var notes: [String] = []
    var changed = ChangedMicrophones()
    for (name, text) in values {
      for microphone in microphones where microphone.controls.contains(where: { $0.name == name }) {
        // The restorer is stored first: a control may change although the device answers with an error.
        changed.former.append((name, microphone.restorer(of: name)))
        do throws(RunError) {
          if let note = try microphone.set(name, to: text) { notes.append(note) }
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
    return "recording \(id): \(path), \(frames)\(lost)\(end)"
  }
}
