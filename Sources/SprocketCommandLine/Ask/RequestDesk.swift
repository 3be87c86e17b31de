internal import Sprocket
internal import SprocketPipelines

/// Makes requests to the engine for keys, signals, the control socket, scripts and conditions.
final class RequestDesk: Sendable {
  let engine: Engine
  let parts: RunParts
  /// The recording that was asked for last: requests that name none are about it.
  private let latest = Locked<RecordingID?>(nil)
  /// Recordings that are no files, as of a page that is watched: nobody else may ask about them.
  private let hiddenOnes = Locked<Set<RecordingID>>([])

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
    if let named, !engine.onDemandSinks.contains(named) {
      let sinks = engine.onDemandSinks
      throw RunError(
        .usage,
        "no on-demand sink is called \(named)"
          + (sinks.isEmpty ? "" : "; " + knownNames(sinks, near: named)))
    }
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

  /// Asks for a recording that is no file, and that only its caller may ask about.
  func hidden(_ request: Request) throws(RunError) -> RecordingID {
    let id = try engine.ask([request])[0]
    hiddenOnes.withLock { _ = $0.insert(id) }
    return id
  }

  private func known(_ id: RecordingID?) throws(RunError) -> RecordingID {
    if let id, hiddenOnes.withLock({ $0.contains(id) }) {
      throw RunError(.usage, "there is no recording \(id)")
    }
    guard let id = id ?? current ?? latest.withLock({ $0 }) else {
      throw RunError(.usage, "no recording is under way; start one first")
    }
    return id
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
