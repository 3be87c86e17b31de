internal import Sprocket
internal import SprocketPipelines

/// Runs the engines of all sources to their ends. Shows progress, stops the runs at a signal, and makes
/// requests for keys and user signals.
struct Runner {
  let runs: [PreparedRun]
  let voice: Voice
  /// Whether keys on the terminal are requests.
  var usesKeys = false

  /// Whether a run that is stopped is of no use: it replaces no older file then.
  var mustBeWhole = false

  /// Time between two checks of signals and progress.
  static let tick = Duration.milliseconds(50)

  /// Ticks from the second request to stop until the program exits without waiting for the run (18
  /// s). It is longer than the engine's own limits together: 2 s for the source's call, 4 to drain,
  /// 2 to close the source, 4 to finish the sinks, and 4 to seal them. It is for calls without such
  /// a limit, such as those on a file system that hangs while a movie sink begins another file.
  static let longestEnd = 360

  /// Ticks by which a source ends before the others until that is told (1 s). Larger: sources whose ends lie
  /// farther apart, as those of a bracket, count as ending together.
  private static let earlyEnd = 20

  /// What was told of a run so far.
  private struct Told {
    var notice: String?
    var recordings = 0
    /// The recording that began with the run has ended, and the run was stopped for that.
    var hasEnded = false
    /// Ticks since it is over, while others go on.
    var ticksSinceEnd = 0
    /// Frames at the last status line, and on CLOCK_MONOTONIC when their number had risen.
    var produced: UInt64 = 0
    var lastRise = monotonicNow()
  }

  /// Returns the number of signals that came. `signals` must be blocked before the source is
  /// opened, so that no thread of a library receives them.
  func run(_ signals: inout StopSignals) throws(RunError) -> Int {
    for (index, run) in runs.enumerated() {
      do throws(RunError) {
        try run.start()
      } catch {
        for started in runs[..<index] { started.end() }
        throw error
      }
    }
    let keyboard = usesKeys ? Keyboard() : nil
    let manager = ServiceManager()
    manager?.tellReady()
    var ticks = 0
    var stops = 0
    var ticksSinceSecondStop = 0
    var told = runs.map { _ in Told() }
    while waitForEnd() {
      while signals.take() { stop(&stops) }
      while let number = signals.takeUserSignal() { ask(number == 1 ? " " : "r", &stops) }
      while let key = keyboard?.take() { ask(key, &stops) }
      if stops > 1 { ticksSinceSecondStop += 1 }
      if ticksSinceSecondStop > Self.longestEnd {
        tellError("the run did not come to an end; look at which disk or device it waits for")
        leaveAtOnce(1)
      }
      ticks += 1
      // Here and in `waitForEnd` loops count: an iterator allocates where it is not optimised.
      var index = 0
      while index < runs.count {
        tellNews(of: runs[index], &told[index])
        index += 1
      }
      if stops > 0 {
        manager?.tellStopping()
      } else {
        // Evaluated where there is a manager.
        manager?.showProgress(
          frames: runs.map { run in
            run.isOver || run.frameLimit == 0 ? nil : run.engine.progress.produced
          })
      }
      // A service manager has its own line of status.
      if voice.wantsProgress(ticks: ticks), manager == nil || Console.errors.isTerminal {
        Console.errors.show(
          progress: lines(&told, hasKeys: keyboard != nil, isStopping: stops > 0))
      }
    }
    manager?.tellStopping()
    for (index, run) in runs.enumerated() { tellRecordings(of: run, &told[index]) }
    return stops
  }

  /// Waits for a tick. False when all runs are over.
  private func waitForEnd() -> Bool {
    var index = 0
    while index < runs.count {
      if !runs[index].engine.wait(for: .zero), !runs[index].engine.wait(for: Self.tick) {
        return true
      }
      index += 1
    }
    return false
  }

  private func tellNews(of run: PreparedRun, _ told: inout Told) {
    if let notice = run.engine.notice, notice != told.notice {
      told.notice = notice
      run.voice.tell(notice: notice)
    }
    tellRecordings(of: run, &told)
    if run.isOver, runs.count > 1 {
      told.ticksSinceEnd += 1
      let error = run.engine.summary.errors.first.map { ": \($0.description)" }
      if told.ticksSinceEnd == (error == nil ? Self.earlyEnd : 1),
        error != nil || !run.hasReachedLimit
      {
        run.voice.tell(notice: "ended, and the other sources go on\(error ?? "")")
      }
    }
    if run.endsWithRecording, !told.hasEnded, told.recordings > 0, run.desk.current == nil {
      told.hasEnded = true
      run.engine.end()
    }
  }

  private func lines(_ told: inout [Told], hasKeys: Bool, isStopping: Bool) -> [String] {
    runs.enumerated().map { index, run in
      let progress = run.engine.progress
      let silence = isStopping ? nil : silence(of: run, progress.produced, &told[index])
      // Keys are those of all runs.
      return run.voice.line(
        progress: progress, limit: run.frameLimit, silence: silence,
        behind: (run.isOver ? " | ended" : "") + levels(of: run)
          + recordings(of: run, hasKeys: hasKeys && index == runs.count - 1))
    }
  }

  /// Least seconds without a frame that the status line tells of. Larger: it tells later of an unplugged
  /// camera.
  private static let longestPause = 2.0

  /// Seconds in which a live source gave no frame; `nil` if that is no more than usual.
  private func silence(of run: PreparedRun, _ produced: UInt64, _ told: inout Told) -> Double? {
    if produced != told.produced { (told.produced, told.lastRise) = (produced, monotonicNow()) }
    let seconds = Double(monotonicNow() - told.lastRise) / 1e9
    guard seconds > Self.longestPause, !run.isOver, run.engine.description.isLive else {
      return nil
    }
    let rate = run.engine.description.format.rate.framesPerSecond
    return rate > 0 && seconds * rate < 4 ? nil : seconds
  }

  private func stop(_ stops: inout Int) {
    if mustBeWhole { PartialFile.keepOlderFiles() }
    for run in runs { run.engine.stop() }
    stops += 1
    if stops == 1 { voice.tellStopping() }
  }

  /// Makes the request of a key, to each run that takes it. Where none does, the first says why.
  private func ask(_ key: Character, _ stops: inout Int) {
    if key == "q" { return stop(&stops) }
    let asked = runs.filter { key == " " ? $0.desk.takesPhotos : $0.desk.recordsMovies }
    // All begin together, and end together.
    let isRecording = asked.contains { $0.isRecording }
    for run in asked.isEmpty ? [runs[0]] : asked {
      let (desk, current) = (run.desk, run.desk.current)
      switch key {
      case " ": run.makeFile { () throws(RunError) in try desk.make(.photo()) }
      case "r": if isRecording { run.stopRecording() } else { run.record() }
      case "n" where current != nil || !isRecording:
        run.makeFile { () throws(RunError) in try desk.make(.next(current)) }
      default: break
      }
    }
  }

  private func tellRecordings(of run: PreparedRun, _ told: inout Told) {
    let (count, records) = run.engine.endedRecordings(after: told.recordings)
    told.recordings = count
    // Errors are reported at the run's end.
    for record in records where record.reason != .error { run.voice.tell(recording: record) }
  }

  /// The part of the status line with the levels of sound.
  private func levels(of run: PreparedRun) -> String {
    run.engine.audio.map { " | \($0.summary.meter)" }.joined()
  }

  /// The part of the status line with recordings, free space and keys.
  private func recordings(of run: PreparedRun, hasKeys: Bool) -> String {
    let (engine, desk) = (run.engine, run.desk)
    guard desk.canAsk else { return "" }
    var parts: [String] = []
    for record in engine.recordingRecords where record.reason == nil {
      let size = fixed(Double(record.byteCount) / 1_048_576, 1)
      parts.append("recording \(record.path): \(record.counts[.delivered]) frames, \(size) MB")
    }
    if let free = run.freeSpace?.sentence { parts.append(free) }
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
