internal import Sprocket

/// Runs an engine to its end. Shows progress, stops the run at a signal, and makes requests for keys and user
/// signals.
struct Runner {
  let desk: RequestDesk
  let voice: Voice
  let frameLimit: UInt64?
  /// Whether keys on the terminal are requests.
  var usesKeys = false
  /// Whether the run ends with the recording that began at its first frame.
  var endsWithRecording = false
  /// The status line shows the free space of this folder's disk; `nil` for none.
  var folder: String?

  /// Whether a run that is stopped is of no use: it replaces no older file then.
  var mustBeWhole = false

  private var engine: Engine { desk.engine }

  /// Time between two checks of signals and progress.
  static let tick = Duration.milliseconds(50)

  /// Ticks from the second request to stop until the program exits without waiting for the run (18
  /// s). It is longer than the engine's own limits together: 2 s for the source's call, 4 to drain,
  /// 2 to close the source, 4 to finish the sinks, and 4 to seal them. It is for calls without such
  /// a limit, such as those on a file system that hangs while a movie sink begins another file.
  static let longestEnd = 360

  /// Returns the number of signals that came. `signals` must be blocked before the source is
  /// opened, so that no thread of a library receives them.
  func run(_ signals: inout StopSignals) throws(RunError) -> Int {
    try engine.start()
    let keyboard = usesKeys ? Keyboard() : nil
    let manager = ServiceManager()
    manager?.tellReady()
    var ticks = 0
    var notice: String?
    var stops = 0
    var ticksSinceSecondStop = 0
    var toldRecordings = 0
    var hasEnded = false
    while !engine.wait(for: Self.tick) {
      while signals.take() { stop(&stops) }
      while let number = signals.takeUserSignal() { ask(number == 1 ? " " : "r", &stops) }
      while let key = keyboard?.take() { ask(key, &stops) }
      if stops > 1 { ticksSinceSecondStop += 1 }
      if ticksSinceSecondStop > Self.longestEnd {
        tellError("the run did not come to an end; look at which disk or device it waits for")
        leaveAtOnce(1)
      }
      ticks += 1
      if notice == nil, let told = engine.notice {
        notice = told
        voice.tell(notice: told)
      }
      tellRecordings(&toldRecordings)
      if endsWithRecording, !hasEnded, toldRecordings > 0, desk.current == nil {
        hasEnded = true
        engine.stop()
      }
      if stops > 0 { manager?.tellStopping() } else { manager?.showProgress(engine.progress) }
      // A service manager has its own line of status.
      if voice.wantsProgress(ticks: ticks), manager == nil || Console.errors.isTerminal {
        voice.tell(
          progress: engine.progress, limit: frameLimit,
          behind: levels + recordings(hasKeys: keyboard != nil)
        )
      }
    }
    manager?.tellStopping()
    tellRecordings(&toldRecordings)
    return stops
  }

  private func stop(_ stops: inout Int) {
    if mustBeWhole { PartialFile.keepOlderFiles() }
    engine.stop()
    stops += 1
    if stops == 1 { voice.tellStopping() }
  }

  /// Makes the request of a key.
  private func ask(_ key: Character, _ stops: inout Int) {
    do throws(RunError) {
      switch key {
      case " ": _ = try desk.photo()
      case "r": try desk.startOrStop()
      case "n": _ = try desk.next(desk.current)
      case "q": stop(&stops)
      default: break
      }
    } catch {
      voice.tell(refusal: error)
    }
  }

  private func tellRecordings(_ told: inout Int) {
    let (count, records) = engine.endedRecordings(after: told)
    told = count
    // Errors are reported at the run's end.
    for record in records where record.reason != .error { voice.tell(recording: record) }
  }

  /// The part of the status line with the levels of sound.
  private var levels: String {
    engine.audio.map { " | \($0.summary.meter)" }.joined()
  }

  /// The part of the status line with recordings, free space and keys.
  private func recordings(hasKeys: Bool) -> String {
    guard desk.canAsk else { return "" }
    var parts: [String] = []
    for record in engine.recordingRecords where record.reason == nil {
      let size = fixed(Double(record.byteCount) / 1_048_576, 1)
      parts.append("recording \(record.path): \(record.counts[.delivered]) frames, \(size) MB")
    }
    if let folder, let free = FileCalls.freeByteCount(at: folder) {
      parts.append("\(fixed(Double(free) / 1_073_741_824, 1)) GB free")
    }
    if hasKeys {
      let keys =
        (desk.takesPhotos ? ["space photo"] : [])
        + (desk.recordsMovies ? [desk.current == nil ? "r record" : "r stop, n next file"] : []) + [
          "q quit"
        ]
      parts.append(keys.joined(separator: ", "))
    }
    return parts.map { " | \($0)" }.joined()
  }
}
