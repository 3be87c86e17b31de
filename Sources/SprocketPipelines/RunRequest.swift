public import Sprocket

/// What a run can be asked for while it goes on: by keys, signals, scripts, conditions and the socket.
public enum RunRequest: Sendable, Equatable {
  /// Starts a recording of the sink, or of the run's movie. It ends after `frames`, or when it is stopped.
  case record(sink: String? = nil, path: String? = nil, frames: UInt64? = nil)
  /// Takes photographs: the next frames, or the one that `choice` is about.
  case photo(frames: UInt64 = 1, choice: FrameChoice? = nil)
  /// Continues a recording, or the latest, in its next file.
  case next(RecordingID? = nil, path: String? = nil)
  /// Leaves frames of a recording out, or of the latest, until it is resumed.
  case pause(RecordingID? = nil)
  case resume(RecordingID? = nil)
  /// Ends a recording, or the latest.
  case stop(RecordingID? = nil)
  case set(SettingsChange)
  /// Writes controls of the source as one batch, and those of microphones.
  case control([ControlWish])
  case reconfigure(PipelineWish)
  case cancel(RequestID)
  case status, recordings, events, quit

  /// Whether the answer may take long: files are made, or a device is asked.
  public var isSlow: Bool {
    switch self {
    case .reconfigure, .control, .record, .photo, .next: true
    case .pause, .resume, .stop, .set, .cancel, .status, .recordings, .events, .quit: false
    }
  }

  /// Whether it is about the recording that was asked for last.
  public var isOfLatestRecording: Bool {
    switch self {
    case .stop(nil), .next(nil, _), .pause(nil), .resume(nil): true
    default: false
    }
  }
}

/// What is to change of a pipeline that runs. What it does not name stays.
public struct PipelineWish: Sendable, Equatable {
  /// All of the new pipeline; nothing else is named then.
  public var whole: Pipeline?
  /// Another source, which begins with its own format. The same source is opened anew.
  public var source: Part?
  /// Other settings of the source that there is; `stage` is its kind.
  public var sourceSettings: SettingsChange?
  /// `nil` in it stays.
  public var format = SourceFormat()
  /// The whole chain.
  public var stages: [Part]?
  public var attached: [Part] = []
  /// Names of outputs.
  public var detached: [String] = []

  public init() {}

  /// Returns the pipeline that is wished for. Throws if there is nothing to wish for, or it no longer fits.
  public func applied(to now: Pipeline) throws(RunError) -> Pipeline {
    guard self != PipelineWish() else {
      throw RunError(.usage, "nothing is to change; name a source, its format, stages or sinks")
    }
    if let whole { return whole }
    var new = now
    if let source {
      (new.source, new.format, new.controls) = (source, SourceFormat(), [])
    }
    if let sourceSettings {
      guard new.source?.kind == sourceSettings.stage else {
        throw RunError(.failed, "the source has changed meanwhile; ask again")
      }
      new.source?.settings.take(sourceSettings.names, from: sourceSettings.settings)
    }
    new.format.format = format.format ?? new.format.format
    new.format.size = format.size ?? new.format.size
    new.format.rate = format.rate ?? new.format.rate
    if let stages { new.stages = stages }
    new.outputs.removeAll { detached.contains($0.id) }
    for part in attached {
      guard new.outputs[part.id] == nil else {
        throw RunError(
          .usage,
          "two sinks are called \(part.id); detach the one that is there, or leave this one out")
      }
      new.outputs.append(part)
    }
    return new
  }
}
