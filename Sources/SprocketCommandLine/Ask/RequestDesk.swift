internal import Sprocket

/// Makes requests to the engine for keys, signals, the control socket, scripts and conditions.
final class RequestDesk: Sendable {
  let engine: Engine
  private let parts: RunParts
  /// The recording that was asked for last: requests that name none are about it.
  private let latest = Locked<RecordingID?>(nil)

  init(_ engine: Engine, _ parts: RunParts) {
    self.engine = engine
    self.parts = parts
  }

  /// Names of the sinks that record movies and photographs on demand; `nil` if the run has none.
  private var movie: String? {
    let names = engine.onDemandSinks
    return names.first { $0 == MovieSink.kind.name } ?? names.first { $0 != StillSink.kind.name }
  }
  private var photos: String? { engine.onDemandSinks.first { $0 == StillSink.kind.name } }

  var canAsk: Bool { movie != nil || photos != nil }
  var recordsMovies: Bool { movie != nil }
  var takesPhotos: Bool { photos != nil }

  /// The movie that goes on until it is stopped.
  var current: RecordingID? { movie.flatMap { engine.openRecording(of: $0) } }

  /// Photographs the next frames.
  func photo(frames: UInt64 = 1, at moment: Moment = .now) throws(RunError) -> RecordingID {
    guard let photos else {
      throw RunError(
        .usage, "this run takes no photographs; start it with --stills FOLDER and --on-demand")
    }
    return try engine.ask([.record(sink: photos, frames: frames)], at: moment)[0]
  }

  /// Starts a recording.
  func record(
    path: String? = nil, frames: UInt64? = nil, sink: String? = nil, at moment: Moment = .now
  ) throws(RunError) -> RecordingID {
    guard let name = sink ?? movie else {
      throw RunError(
        .usage, "this run records no movies; start it with --movie PATH and --on-demand")
    }
    let id = try engine.ask([.record(sink: name, path: path, frames: frames)], at: moment)[0]
    latest.withLock { $0 = id }
    return id
  }

  /// Continues a recording in its next file.
  func next(
    _ id: RecordingID? = nil, path: String? = nil, at moment: Moment = .now
  ) throws(RunError) -> RecordingID {
    try engine.ask([.next(try known(id), path: path)], at: moment)[0]
  }

  /// Ends a recording.
  func stop(_ id: RecordingID? = nil, at moment: Moment = .now) throws(RunError) -> RecordingID {
    try engine.ask([.stop(try known(id))], at: moment)[0]
  }

  /// Starts a recording, or ends the one that goes on.
  func startOrStop() throws(RunError) {
    if let current { _ = try stop(current) } else { _ = try record() }
  }

  /// Changes source, stages and sinks. Waits until the change holds.
  func reconfigure(_ texts: RunParts.Texts) throws(RunError) { try parts.change(engine, texts) }

  /// Writes a control of the source, or of the microphones that have it. Returns what a person should know.
  func control(_ name: String, _ text: String) throws(RunError) -> String? {
    try engine.write(control: name, text)
  }

  private func known(_ id: RecordingID?) throws(RunError) -> RecordingID {
    guard let id = id ?? current ?? latest.withLock({ $0 }) else {
      throw RunError(.usage, "no recording is under way; start one first")
    }
    return id
  }
}

extension Engine {
  /// Writes a control by its name, from the text that a user gave: of the source, or of each microphone that
  /// has it. Returns what they should know of it.
  func write(control name: String, _ text: String) throws(RunError) -> String? {
    let port = description.controls
    if let port, let index = port.control(name) {
      try port.write(index, name, text)
      return nil
    }
    let microphones = audio.compactMap(\.description.controls)
    let names = microphones.map { $0.controls.map(\.name) }
    guard names.contains(where: { $0.contains(name) }) else {
      let known = (port?.controls.map(\.name) ?? []) + names.joined()
      guard !known.isEmpty else {
        throw RunError(.usage, "\(description.name) has no controls")
      }
      throw RunError(.usage, "there is no control `\(name)`; " + knownNames(known, near: name))
    }
    var notes: [String] = []
    for (microphone, names) in zip(microphones, names) where names.contains(name) {
      if let note = try microphone.set(name, to: text) { notes.append(note) }
    }
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }
}

extension ControlPort {
  fileprivate func write(_ index: UInt16, _ name: String, _ text: String) throws(RunError) {
    let control = controls[Int(index)]
    guard let value = control.value(text) else {
      throw RunError(.usage, "\(name)=\(text) is not allowed: give \(control.allowed)")
    }
    guard write(index, value) != nil else {
      throw RunError(
        .usage, "at most \(ControlPort.capacity) controls can be given at once; ask again")
    }
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
