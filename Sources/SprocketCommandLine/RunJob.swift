internal import Glibc
internal import Sprocket
internal import SprocketPipelines

/// A run, and how much is told of it: what `run`, `export`, `recover` and `inspect` execute.
struct RunJob {
  var run: Run
  var isQuiet = false
  var isVerbose = false
  /// Prints notes and lost frames only: for one file of a batch.
  var isBrief = false
  /// Whether keys on the terminal are requests.
  var usesKeys = false
  /// Whether the run is there for one still: it prints the still's path.
  var takesPhoto = false
  /// Whether a run that is stopped is of no use: it replaces no older file then.
  var mustBeWhole = false

  init(_ run: Run) { self.run = run }

  /// Executes the run. Returns true if the user stopped it by a signal or a key.
  @discardableResult
  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws -> Bool {
    let voice = Voice(isQuiet: isQuiet, isVerbose: isVerbose, isBrief: isBrief)
    let group = try open(kinds, invocation, voice, &signals)
    for run in group.runs {
      run.voice.tell(plan: run.engine.summary)
      let replug = run.pipeline.source?[CameraSettings.self]?.replug ?? .zero
      if replug > .zero, !takesPhoto {
        let limit = replug == CameraSettings.longestReplug ? "a day" : replug.settingText
        run.voice.tell("if it is unplugged, it is waited for, \(limit) at most (--on-unplug)")
      }
    }
    let runner = Runner(
      runs: group.runs, voice: voice, usesKeys: usesKeys && !isQuiet, mustBeWhole: mustBeWhole)
    for run in group.runs { try run.open() }
    defer { for run in group.runs { run.close() } }
    let stops = try runner.run(&signals)
    let results = zip(group.runs, group.results).map { run, result in
      var result = result
      result.summary.errors += run.missingFiles(result.summary)
      return result
    }
    for (run, result) in zip(group.runs, results) {
      run.voice.tell(end: result.summary, digests: result.digests)
    }
    for line in group.pairLines { voice.tell(line) }
    let (summary, trace) = (run.settings.summary, run.settings.trace)
    if !trace.isEmpty, case let missing = group.missingSlices, missing > 0 {
      voice.tell(
        notice:
          "\(trace.path) has the latest \(TraceFile.limit) steps of each thread; \(missing) earlier "
          + "ones are not in it")
    }
    let run = run
    let files: [(what: String, name: OutputName, write: () throws -> Void)] = [
      ("summary", summary, { try group.writeSummary(results, of: run) }),
      ("trace", trace, { try group.writeTrace() }),
    ]
    var others: [RunError] = []
    for file in files where !file.name.isEmpty {
      do {
        try write(file.what, to: file.name.path, file.write, isHurried: stops > 1, &signals)
      } catch let error as RunError {
        others.append(error)
      }
    }
    try judge(group, results, others)
    if takesPhoto, !isQuiet {
      for path in group.runs.compactMap(\.photo) { Console.output.say(path) }
    }
    return stops > 0
  }

  /// Executes a run that has to reach the end of its input. Throws an error if the user stops it, because the
  /// output `path` is then incomplete. `path` is `nil` if the output is temporary.
  func makeWhole(
    _ path: String?, _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    var job = self
    job.mustBeWhole = true
    guard try job.execute(kinds, invocation, &signals) else { return }
    throw RunError(
      .failed, path.map { "stopped: \($0) has only what was read until then" } ?? "stopped")
  }
}

// From the description to a run that is ready: on a thread of its own, since opening may take long.

/// Unchecked: `interrupt` alone is called, which any thread may do.
private struct Interruptible: @unchecked Sendable {
  let source: any Source
}

/// Interrupts sources that are being opened, or will be.
private final class Interrupter: Sendable {
  private let state = Locked<(sources: [Interruptible], isInterrupted: Bool)>(([], false))

  func watch(_ source: any Source) {
    let found = Interruptible(source: source)
    let isInterrupted = state.withLock { state in
      state.sources.append(found)
      return state.isInterrupted
    }
    if isInterrupted { source.interrupt() }
  }

  func interrupt() {
    let found = state.withLock { state in
      state.isInterrupted = true
      return state.sources
    }
    for found in found { found.source.interrupt() }
  }
}

extension RunJob {
  /// Opens and configures everything. Throws where a signal comes meanwhile: then nothing was recorded.
  ///
  /// The first signal interrupts the source. After a second one, what does not return within two seconds
  /// is left behind.
  private func open(
    _ kinds: Kinds, _ invocation: Invocation, _ voice: Voice, _ signals: inout StopSignals
  ) throws -> PreparedRuns {
    let interrupter = Interrupter()
    let work = try BackgroundWork("open") { try prepare(kinds, invocation, voice, interrupter) }
    var isStopped = false
    do {
      let run = try work.value(&signals) {
        if isStopped { return .seconds(2) }
        isStopped = true
        interrupter.interrupt()
        voice.tellStopping()
        return nil
      }
      if !isStopped { return run }
    } catch is Abandoned {
      tellError(
        "stopped, though what was being opened does not answer; look at what it waits for")
      let names = run.resolved.writtenNames
      let removal = try? BackgroundWork("clean") {
        for name in names { FileIdentity.removeEmptyPartial(of: name) }
      }
      _ = removal?.wait(for: .seconds(1))
      leaveAtOnce(1)
    } catch  where !isStopped {
      throw error
    } catch {}
    throw RunError(.failed, "stopped before the run began: nothing was recorded")
  }

  private func prepare(
    _ kinds: Kinds, _ invocation: Invocation, _ voice: Voice, _ interrupter: Interrupter
  ) throws -> PreparedRuns {
    let maker = try RunMaker(run, kinds, isOutputClosed: invocation.isOutputClosed) {
      interrupter.watch($0)
    }
    let settings = maker.run.settings
    let summaryFile = try SummaryFile(settings.summary, overwrite: settings.overwrite)
    let traceFile = try TraceFile(settings.trace, overwrite: settings.overwrite)
    let isOne = maker.run.sources.count == 1
    var runs: [PreparedRun] = []
    for (index, source) in maker.run.sources.enumerated() {
      let voice = voice.labelled(isOne ? nil : source.label)
      let made = try maker.make(index)
      runs.append(
        try source.naming(in: maker.run) { () throws(RunError) in
          try PreparedRun(made, maker.run, isOne ? nil : source.label, kinds, voice)
        })
    }
    return PreparedRuns(runs, maker.pairing, summaryFile: summaryFile, traceFile: traceFile)
  }
}
