internal import ArgumentParser
internal import Glibc
internal import Sprocket

// From the request to a run that is ready: on a thread of its own, since opening may take long.

/// A run that is ready to start, and what is needed at its end.
final class PreparedRun {
  let engine: Engine
  let digest: ChecksumSink?
  let desk: RequestDesk
  let controlSocket: ControlSocket?
  let trigger: TriggeredRecording?
  var summaryFile: SummaryFile?
  var traceFile: TraceFile?

  init(
    _ desk: RequestDesk, digest: ChecksumSink?, controlSocket: ControlSocket?,
    trigger: TriggeredRecording?,
    summaryFile: consuming SummaryFile, traceFile: consuming TraceFile?
  ) {
    engine = desk.engine
    self.digest = digest
    self.desk = desk
    self.controlSocket = controlSocket
    self.trigger = trigger
    self.summaryFile = consume summaryFile
    self.traceFile = consume traceFile
  }
}

/// Unchecked: `interrupt` alone is called, which any thread may do.
private struct Interruptible: @unchecked Sendable {
  let source: any Source
}

/// Interrupts a source that is being opened, or will be.
private final class Interrupter: Sendable {
  private let state = Locked<(source: Interruptible?, isInterrupted: Bool)>((nil, false))

  func watch(_ source: any Source) {
    let found = Interruptible(source: source)
    let isInterrupted = state.withLock { state in
      state.source = found
      return state.isInterrupted
    }
    if isInterrupted { source.interrupt() }
  }

  func interrupt() {
    let found = state.withLock { state in
      state.isInterrupted = true
      return state.source
    }
    found?.source.interrupt()
  }
}

extension RunCommand {
  /// Opens and configures everything. Throws where a signal comes meanwhile: then nothing was recorded.
  ///
  /// The first signal interrupts the source. After a second one, what does not return within two seconds
  /// is left behind.
  func open(
    _ registry: Registry, _ invocation: Invocation, _ voice: Voice, _ signals: inout StopSignals
  ) throws -> PreparedRun {
    let interrupter = Interrupter()
    let work = try BackgroundWork("open") {
      try prepare(registry, invocation, voice, interrupter)
    }
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
      let removal = try? BackgroundWork("clean") { removeEmptyFiles(registry) }
      _ = removal?.wait(for: .seconds(1))
      leaveAtOnce(1)
    } catch  where !isStopped {
      throw error
    } catch {}
    throw RunError(.failed, "stopped before the run began: nothing was recorded")
  }

  private func prepare(
    _ registry: Registry, _ invocation: Invocation, _ voice: Voice, _ interrupter: Interrupter
  ) throws -> PreparedRun {
    let choices = try sinkChoices(registry)
    try checkStandardOutput(choices, isClosed: invocation.isOutputClosed)
    try checkPaths(choices)
    let source = try makeSource(registry)
    interrupter.watch(source)
    if source is EmptySource { try checkSoundAlone(choices) }
    let chain = try controllers.appended(
      to: stage.map { try registry.choice($0) }, needsFocus: recording.stillsSharpest != nil,
      registry)
    let audio = try sound.engines(
      registry, beside: source,
      isRecorded: choices.contains {
        [MovieSink.kind.name, DumpSink.kind.name].contains($0.kind.name)
      },
      held: heldSound, overwrite: overwrite, sync: recording.sync)
    var sinks: [any Sink] = []
    for choice in choices { sinks.append(try choice.make(outputRequests(audio))) }
    let trigger = try addTrigger(to: &sinks, voice)
    let end = try controllers.bracketEnd(addedTo: &sinks)

    let summaryFile = try SummaryFile(path: summary, overwrite: overwrite)
    let traceFile = try TraceFile(path: trace, overwrite: overwrite)
    let options = RunOptions(
      workers: workers ?? processorCount(), wait: wait, frameLimit: frames,
      durationLimit: duration, verifies: verify, memoryLimit: memory,
      traceLimit: trace == nil ? nil : TraceFile.limit)
    if let empty = source as? EmptySource {
      guard !audio.isEmpty else {
        throw RunError(
          .usage, "--source none is for sound alone; add --microphone NAME", change: .source)
      }
      empty.isOver = { audio.allSatisfy(\.isOver) }
    }
    let engine = try Engine(
      source: source, stages: chain, sinks: sinks, audio: audio, options: options)
    end.connect(engine)
    try setControls(engine, voice)
    let digest = sinks.lazy.compactMap { $0 as? ChecksumSink }.first
    let desk = RequestDesk(
      engine,
      RunParts(
        registry, outputs: outputRequests(audio), source: try sourceText(registry),
        paths: paths(choices).filter { !$0.option.hasPrefix("--source") }.map(\.path)))
    if recording.recordsAtOnce { _ = try desk.record() }
    trigger?.connect(desk)
    if let script = asking.script { try RequestScript.ask(script, desk) }
    let socket = try asking.controlSocket.map { path throws(RunError) in
      try ControlSocket(path: path, desk)
    }
    return PreparedRun(
      desk, digest: digest, controlSocket: socket, trigger: trigger, summaryFile: summaryFile,
      traceFile: traceFile)
  }

  private func addTrigger(
    to sinks: inout [any Sink], _ voice: Voice
  ) throws(RunError) -> TriggeredRecording? {
    guard let condition = recording.recordWhen else { return nil }
    let trigger = TriggeredRecording(keep: recording.keep ?? .seconds(3)) {
      voice.tell(refusal: $0)
    }
    sinks.append(
      try TriggerSink(condition) { holds, record in trigger.note(holds: holds, record) })
    return trigger
  }

  /// The sinks that are asked for, in the order of the help; the null sink where there is none.
  func sinkChoices(_ registry: Registry) throws(RunError) -> [SinkChoice] {
    var choices = try recording.sinks(registry, stillCondition: controllers.stillCondition)
    if let reports { choices.append(try registry.sink(option: "--reports", "reports", reports)) }
    if let checksums {
      choices.append(try registry.sink(option: "--checksums", "checksum", checksums))
    } else if checksum {
      choices.append(try registry.sink(option: "--checksum", "checksum"))
    }
    if let pipe {
      choices.append(try registry.sink(option: "--pipe", "pipe", layout: pipe, header: pipeHeader))
    } else if pipeHeader {
      throw RunError(.usage, "--pipe-header is about --pipe; add --pipe rgb, for example")
    }
    for text in share { choices.append(try registry.share(text)) }
    for text in sink { choices.append(try registry.sink(text)) }
    let unfit = choices.first {
      $0.argument == "-" && [StillSink.kind.name, DumpSink.kind.name].contains($0.kind.name)
    }
    if let unfit {
      throw RunError(
        .usage,
        "\(unfit.option) cannot go to standard output; give a name (./- is a file of that name)")
    }
    if null || choices.isEmpty { choices.append(try registry.sink(option: "--null", "null")) }
    return choices
  }

  /// For how long sound is kept: longer than pictures are on their way (look-ahead of a stage, a disk that
  /// pauses), 10 s, and longer than a pre-roll.
  private var heldSound: Duration {
    let preRoll = recording.preRollLimits
    return .seconds(10) + (preRoll?.duration ?? .zero) + (preRoll?.slack ?? .zero)
  }

  private func outputRequests(_ audio: [AudioEngine]) -> OutputRequests {
    var other = OutputRequest()
    other.overwrite = overwrite
    other.sync = recording.sync
    other.limits = recording.limits
    other.preRoll = recording.preRollLimits
    other.isOnDemand = recording.onDemand
    other.sound = sound.recorded
    other.frameLimit = frames
    other.makeTaps = { (sink) throws(RunError) in
      var taps: [any AudioTap] = []
      for engine in audio { taps.append(try engine.makeTap(for: sink)) }
      return taps
    }
    var movie = other
    movie.isOnDemand = recording.isAsked || recording.recordsAtOnce
    return OutputRequests(movie: movie, other: other)
  }

  /// The default source.
  static var usualSource: String { CameraSource.hasCamera ? "camera" : "scene" }

  private func makeSource(_ registry: Registry) throws -> any Source {
    try sourceText(registry).make(registry)
  }

  /// The source that the options ask for.
  private func sourceText(_ registry: Registry) throws -> SourceText {
    var values = try keyValues(sourceSet, option: "--source-set")
    let name = source ?? Self.usualSource
    // A scene that is asked for a number of frames has no reason to take its time.
    if name == "scene", frames != nil, values["pace"] == nil { values["pace"] = "fast" }
    if let from {
      guard registry.source(named: name)?.settings.contains(where: { $0.name == "from" }) != false
      else {
        throw RunError(
          .usage, "--from is for a recording: give it with --source file:PATH or replay:PATH")
      }
      guard values.updateValue(from.settingText, forKey: "from") == nil else {
        throw RunError(.usage, "--from and --source-set from are the same; give one of them")
      }
    }
    if name.split(separator: ":").first == "camera" {
      let records = recording.movie ?? recording.stills ?? recording.dump ?? sound.sound
      if let wait = onUnplug ?? (records == nil ? nil : CameraSettings.longestReplug),
        values["replug"] == nil
      {
        values["replug"] = wait.settingText
      }
    } else if onUnplug != nil {
      throw RunError(.usage, "--on-unplug is for a camera, and \(name) is none; leave it out")
    }
    let pixelFormat = try format.map { text throws(RunError) in try PixelFormat(option: text) }
    let request = FormatRequest(
      format: pixelFormat, size: size.map { ($0.width, $0.height) }, rate: rate)
    return SourceText(name: name, values: values, request: request)
  }

  private func setControls(_ engine: Engine, _ voice: Voice) throws {
    let values = try keyValues(control, option: "--control")
    // As given: automatic exposure has to be off before exposure can be set.
    let names = control.map { String($0.prefix { $0 != "=" }) }
    for name in names {
      do throws(RunError) {
        if let note = try engine.write(control: name, values[name] ?? "") {
          voice.tell(notice: note)
        }
      } catch {
        throw RunError(error.code, "--control: \(error.description)", error.remedies)
      }
    }
  }
}
