public import SprocketCore

extension Engine {
  /// Starts, splits or stops recordings while the run goes on. Either all of the requests hold, from the
  /// same frame on, or none does. Returns the recording of each request.
  ///
  /// Makes files before it returns, so it throws if a file's name cannot be used. It also throws if no
  /// on-demand sink has that name, if the recording has ended (with the reason), if 80 files wait for a
  /// slow disk, and if the run is over. May be called from any thread. Waits for no frame.
  ///
  ///     let take = try engine.ask([.record(sink: "movie")])[0]
  ///     ...
  ///     try engine.ask([.stop(take)])
  @discardableResult
  public func ask(_ requests: [Request], at moment: Moment = .now) throws(RunError) -> [RecordingID]
  {
    try ask(requests, at: moment, by: .program).recordings
  }

  /// Makes requests for a client. The number of its waiting requests is limited (`RequestHolder.client`). The
  /// result has a number for `withdraw`.
  ///
  /// Waiting requests never cause a stop to be refused: each recording has a reserved place for a stop at the
  /// next frame, and one for a stop at a later frame.
  public func ask(
    _ requests: [Request], at moment: Moment, by holder: RequestHolder
  ) throws(RunError) -> AskedRequests {
    try recordings.ask(requests, at: moment, by: holder)
  }

  /// Takes back requests that were asked together and wait for their frame: a recording does not begin, the
  /// file of a `next` is removed, a stop is forgotten, settings stay. Throws if they have taken effect, if
  /// they were asked for the next frame, and if the holder has none of that number; `.program` withdraws
  /// those of all. May be called from any thread; waits for no frame.
  public func withdraw(_ id: RequestID, of holder: RequestHolder = .program) throws(RunError) {
    let (unused, settings) = try recordings.withdraw(id, of: holder)
    if let settings { shared.settings.remove(settings) }
    for job in unused {
      job.record.reason = .asked
      finisher?.add(job)
    }
  }

  /// Makes recordings one after the other, each with controls of the source of its own: a bracket of
  /// exposures, for example.
  ///
  /// A step's controls are written as one batch. Its recordings begin together, at the first frame that
  /// shows the controls: the control's delay after the frame of the source's answer, or 8 frames where the
  /// delay is not known (`ControlPort.delay`). The next step follows when they have ended. At the end, and
  /// also if a step fails, `restored` is written; if the run ends before, the source writes it when it
  /// closes. Sequences that are asked while one is under way follow it. The first step begins at a frame
  /// that is captured after the call.
  ///
  /// `limit` is the time for the whole sequence from its first write on. Throws as `ask` does, if the source
  /// has no control of a name, if a value is no number, and if a sink has a pre-roll: its pictures from
  /// before a recording have other settings. All files are made before it returns, 64 at most, with those
  /// that are still being completed. May be called from any thread; waits for no frame.
  public func ask(
    _ steps: [RecordingStep], restoring restored: [RecordingStep.NamedValue] = [],
    within limit: Duration
  ) throws(RunError) -> RecordingSequence {
    let port = description.controls
    func found(_ values: [RecordingStep.NamedValue]) throws(RunError) -> [ControlValue] {
      guard values.count <= ControlPort.capacity else {
        throw RunError(.usage, "at most \(ControlPort.capacity) controls can be written together")
      }
      return try values.map { (value) throws(RunError) in
        guard value.value.isFinite else {
          throw RunError(.usage, "the value of `\(value.name)` is no finite number")
        }
        guard let control = port?.control(value.name) else {
          let names = port?.controls.map(\.name) ?? []
          throw RunError(
            .usage,
            "the source has no control `\(value.name)`; "
              + knownNames(names, near: value.name, "it has"))
        }
        return ControlValue(control, value.value)
      }
    }
    let controls = try steps.map { (step) throws(RunError) in try found(step.controls) }
    let before = try found(restored)
    guard
      !steps.isEmpty, steps.allSatisfy({ 1...RequestPort.mostTogether ~= $0.requests.count })
    else {
      throw RunError(.usage, "a sequence has steps of 1 to \(RequestPort.mostTogether) recordings")
    }
    let isCounted = steps.allSatisfy { step in
      step.requests.allSatisfy { if case .record(_, _, .some) = $0 { true } else { false } }
    }
    guard isCounted else {
      throw RunError(.usage, "a step has recordings with a count of frames, and no other request")
    }
    let now = Timestamp(nanoseconds: monotonicNow(), clock: .monotonic)
    return try recordings.ask(steps.map(\.requests), at: .captured(now)) { ids, changes in
      RecordingSequence(
        ids,
        SequencePlan(
          port: port, controls: controls, changes: changes, restored: before, limit: limit))
    }
  }

  /// Changes live settings of a stage while the run goes on, all from the same frame on. `stages` of the
  /// command line, and `Setting.live`, tell which are live.
  ///
  /// Throws if the chain has no such stage, if a setting is unknown or not live, if a value is not allowed,
  /// if 256 requests wait, and if the run is over. May be called from any thread; waits for no frame. Costs
  /// some allocations at the change, and none per frame.
  ///
  ///     try engine.set(SettingsChange("meter", of: ExposureMeter.Settings.self) { $0.mode = .spot })
  public func set(_ change: SettingsChange, at moment: Moment = .now) throws(RunError) {
    _ = try set(change, at: moment, by: .program)
  }

  /// Changes live settings for a client. The number of its waiting requests is limited
  /// (`RequestHolder.client`). Returns a number for `withdraw`.
  public func set(
    _ change: SettingsChange, at moment: Moment, by holder: RequestHolder
  ) throws(RunError) -> RequestID {
    let request = try shared.settings.add(change)
    do throws(RunError) {
      let id = try recordings.add(request, at: moment, by: holder)
      if moment == .now { shared.settings.noteSettled(request) }
      return id
    } catch {
      shared.settings.remove(request)
      throw error
    }
  }

  /// The chain that runs, with the settings that hold now, or from the next frame on. May be called from any
  /// thread.
  public var chain: [StageChoice] {
    current.choices.map { choice in
      StageChoice(
        choice.plugin, settings: shared.settings.settings(of: choice.plugin.name) ?? choice.settings
      )
    }
  }

  /// Checks the names and values of a change of live settings, and throws the error that `set` would throw
  /// for them. Changes nothing.
  public func check(_ change: SettingsChange) throws(RunError) {
    try shared.settings.check(change)
  }

  /// Throws the error that `ask` would throw for a recording because of its sink, its number of frames, or
  /// the frame that is chosen.
  package func check(
    sink name: String, frames: UInt64?, choice: FrameChoice? = nil
  ) throws(RunError) {
    try recordings.check(sink: name, frames: frames, choice: choice)
  }

  /// Whether a recording was asked for, has not ended, and was not asked to end.
  public func isUnderWay(_ recording: RecordingID) -> Bool { recordings.isUnderWay(recording) }

  /// The sink's recording that goes on until it is stopped; `nil` if there is none.
  public func openRecording(of sink: String) -> RecordingID? { recordings.open(sink) }

  /// Why a recording ended; `nil` if it goes on, or ended long ago.
  public func reason(of recording: RecordingID) -> RecordingEnd? { recordings.reason(recording) }

  /// Number of files that have ended so far, and the records of those after the first `count`. The latest
  /// 1,024 records are kept.
  public func endedRecordings(after count: Int) -> (count: Int, records: [RecordingRecord]) {
    recordings.ended(after: count)
  }

  /// Names of the sinks that can be asked to record.
  public var onDemandSinks: [String] { recordings.outputNames }

  /// Names of the sinks that have incomplete files: requested, being written, or being completed. A name is
  /// removed after `news` has the end of the sink's last file. It stays if the sink's thread hangs.
  package var busySinks: Set<String> { recordings.busySinks }

  /// Records of the latest 1,024 files that have ended, the oldest first, then of those under way.
  public var recordingRecords: [RecordingRecord] { recordings.records }
}
