internal import ArgumentParser
internal import Glibc
internal import Sprocket

// From the request to a run that is ready: on a thread of its own, since opening may take long.

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

extension RunCommand {
  /// Opens and configures everything. Throws where a signal comes meanwhile: then nothing was recorded.
  ///
  /// The first signal interrupts the source. After a second one, what does not return within two seconds
  /// is left behind.
  func open(
    _ registry: Registry, _ invocation: Invocation, _ voice: Voice, _ signals: inout StopSignals
  ) throws -> PreparedRuns {
    let interrupter = Interrupter()
    let parts = try parts()
    let work = try BackgroundWork("open") {
      try prepare(parts, registry, invocation, voice, interrupter)
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
      let removal = try? BackgroundWork("clean") {
        for part in parts { part.command.removeEmptyFiles(registry) }
      }
      _ = removal?.wait(for: .seconds(1))
      leaveAtOnce(1)
    } catch  where !isStopped {
      throw error
    } catch {}
    throw RunError(.failed, "stopped before the run began: nothing was recorded")
  }

  private func prepare(
    _ parts: [RunPart], _ registry: Registry, _ invocation: Invocation, _ voice: Voice,
    _ interrupter: Interrupter
  ) throws -> PreparedRuns {
    var choices: [[SinkChoice]] = []
    for part in parts { choices.append(try part.command.sinkChoices(registry)) }
    try Self.checkFiles(parts, choices, isClosed: invocation.isOutputClosed)
    var sources: [any Source] = []
    for part in parts {
      let source = try part.naming(among: parts) { () throws(RunError) in
        try part.command.makeSource(registry)
      }
      interrupter.watch(source)
      sources.append(source)
    }
    try Self.checkDevices(parts, sources)
    let shared = Shared(
      dump: sharedDump(parts.count),
      pairing: try pairing.pairing(parts.map(\.label), overwrite: overwrite))
    let summaryFile = try SummaryFile(path: summary, overwrite: overwrite)
    let traceFile = try TraceFile(path: trace, overwrite: overwrite)
    var runs: [PreparedRun] = []
    for (index, part) in parts.enumerated() {
      let voice = voice.labelled(parts.count > 1 ? part.label : nil)
      let (choices, source) = (choices[index], sources[index])
      runs.append(
        try part.naming(among: parts) { () throws(RunError) in
          try part.command.prepare(index, of: parts, choices, source, shared, registry, voice)
        })
    }
    return PreparedRuns(runs, shared.pairing, summaryFile: summaryFile, traceFile: traceFile)
  }

  /// What the sources of a run share.
  private struct Shared {
    let dump: DumpOutput?
    let pairing: FramePairing?
  }

  /// One source's run.
  private func prepare(
    _ index: Int, of parts: [RunPart], _ choices: [SinkChoice], _ source: any Source,
    _ shared: Shared, _ registry: Registry, _ voice: Voice
  ) throws(RunError) -> PreparedRun {
    if source is EmptySource { try checkSoundAlone(choices) }
    let chain = try chain(registry)
    let audio = try sound.engines(
      registry, beside: source,
      isRecorded: choices.contains {
        [MovieSink.kind.name, DumpSink.kind.name].contains($0.kind.name)
      },
      held: heldSound, overwrite: overwrite, sync: recording.sync)
    let requests = outputRequests(audio)
    var sinks: [any Sink] = []
    for choice in choices {
      if choice.option == "--dump", let dump = shared.dump {
        sinks.append(
          DumpSink(
            sharing: dump, source: parts[index].label, index: index,
            sound: try requests.other.makeTaps(DumpSink.kind.name), sync: recording.sync))
      } else {
        sinks.append(try choice.make(requests))
      }
    }
    let trigger = try addTrigger(to: &sinks, voice)
    if let pairing = shared.pairing { sinks.append(pairing.sink(index)) }
    let end = try controllers.bracketEnd(addedTo: &sinks)
    if let empty = source as? EmptySource {
      guard !audio.isEmpty else {
        throw RunError(
          .usage, "--source none is for sound alone; add --microphone NAME", change: .source)
      }
      empty.isOver = { audio.allSatisfy(\.isOver) }
    }
    let engine = try Engine(
      source: source, stages: chain, sinks: sinks, audio: audio, options: options(parts.count))
    end.connect(engine)
    try setControls(engine, voice)
    let desk = RequestDesk(
      engine,
      RunParts(
        registry, outputs: requests, source: try sourceText(registry),
        paths: paths(choices).filter { !$0.option.hasPrefix("--source") }.map(\.path)))
    if recording.recordsAtOnce { _ = try desk.record() }
    trigger?.connect(desk)
    let script = try asking.script.map { (path) throws(RunError) in
      try RequestScript(path, desk, voice)
    }
    return PreparedRun(
      label: parts.count > 1 ? parts[index].label : nil, self, desk,
      digest: sinks.lazy.compactMap { $0 as? ChecksumSink }.first,
      controlSocket: try asking.controlSocket.map { path throws(RunError) in
        try ControlSocket(path: path, desk)
      }, trigger: trigger, script: script, voice: voice)
  }

  private func chain(_ registry: Registry) throws(RunError) -> [StageChoice] {
    var chain: [StageChoice] = []
    for text in stage { chain.append(try registry.choice(text)) }
    return try controllers.appended(
      to: chain, needsFocus: recording.stillsSharpest != nil, registry)
  }

  /// Of one of so many sources.
  private func options(_ sources: Int) -> RunOptions {
    var options = RunOptions(
      workers: workers ?? processorCount(), wait: wait, frameLimit: frames,
      durationLimit: duration, verifies: verify, memoryLimit: memory,
      traceLimit: trace == nil ? nil : TraceFile.limit)
    options.memorySharers = sources
    return options
  }

  /// Throws where two sources are the same device.
  private static func checkDevices(
    _ parts: [RunPart], _ sources: [any Source]
  ) throws(RunError) {
    guard parts.count > 1 else { return }
    var known: [String: String] = [:]
    for (part, source) in zip(parts, sources) {
      guard let device = source.deviceIdentity else { continue }
      guard let other = known.updateValue(part.label, forKey: device) else { continue }
      throw RunError(
        .usage,
        "\(other) and \(part.label) are the same camera, \(device); name each, as `\(programName) devices` "
          + "lists them", change: .source)
    }
  }

  private func addTrigger(
    to sinks: inout [any Sink], _ voice: Voice
  ) throws(RunError) -> TriggeredRecording? {
    guard let condition = recording.recordWhen else { return nil }
    let trigger = TriggeredRecording(keep: recording.keep ?? .seconds(3), voice)
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
    if let virtual { choices.append(try registry.virtual(virtual)) }
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
}
