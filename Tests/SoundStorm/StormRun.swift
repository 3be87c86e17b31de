import Glibc
import Sprocket

extension Storm {
  /// Runs it. Returns what is to be said of it as lines of JSON; throws where the run did not end.
  func run() throws -> [String] {
    let engine = try makeEngine()
    limitFiles(fileLimit)
    try engine.start()
    act(on: engine)
    guard engine.wait(for: .seconds(60)) else {
      throw RunError(.failed, "the run did not end within 60 s; look at what it waits for")
    }
    limitFiles(nil)
    let wrong = hesitant.reduce(0) { $0 + $1.wrong }
    guard wrong == 0 else {
      throw RunError(.failed, "\(wrong) blocks were not what their records say")
    }
    return engine.summary.audio.map { line($0) }
  }

  /// Requests, changes and ends at random times.
  private func act(on engine: Engine) {
    var ids: [RecordingID] = []
    let stopsAt = random.chance(300_000) ? random.below(40) : .max
    let cutsAt = random.chance(150_000) ? random.below(40) : .max
    var isExtra = false
    for count in 0..<40 where !engine.wait(for: .zero) {
      if count == stopsAt { engine.stop() }
      if count == cutsAt { audio[random.below(audio.count)].stop() }
      if isOnDemand, random.chance(500_000) { ids += ask(engine, ids) }
      if random.chance(50_000) { change(engine, &isExtra) }
      usleep(UInt32(random.below(isLive ? 100_000 : 10_000)))
    }
  }

  private func ask(_ engine: Engine, _ ids: [RecordingID]) -> [RecordingID] {
    let isNew = ids.isEmpty || random.chance(400_000)
    let moment: Moment =
      random.chance(600_000)
      ? .now
      : random.chance(500_000)
        ? .frame(UInt64(random.below(500))) : .time(.milliseconds(random.below(5000)))
    let frames = random.chance(300_000) ? UInt64(1 + random.below(100)) : nil
    let path = random.chance(200_000) ? "take{n}.\(random.pick(["mov", "mkv"]))" : nil
    let request: Request =
      isNew
      ? .record(sink: "movie", path: path, frames: frames)
      : random.chance(300_000) ? .next(random.pick(ids)) : .stop(random.pick(ids))
    // Refusals are part of it.
    return (try? engine.ask([request], at: moment)) ?? []
  }

  private func change(_ engine: Engine, _ isExtra: inout Bool) {
    var change = Reconfiguration()
    if random.chance(400_000) {
      change.stages = chain()
    } else if isExtra {
      change.detached = ["checksum"]
    } else {
      change.attached = [ChecksumSink()]
    }
    if (try? engine.reconfigure(change)) != nil, change.stages == nil { isExtra.toggle() }
  }

  /// What the summary says of one source of sound.
  private func line(_ sound: AudioSummary) -> String {
    let format = sound.source.format
    let entries = sound.ledger.entries.map { entry in
      let counts = Fate.allCases.map { "\"\($0.name)\":\(entry.counts[$0])" }
      return "\"\(entry.sink)\":{\(counts.joined(separator: ","))}"
    }
    let files = sound.files.map { sink, file in
      "{\"sink\":\"\(sink)\",\"path\":\"\(file.path)\",\"samples\":\(file.samples),"
        + "\"delivered\":\(file.delivered),\"silence\":\(file.silence),"
        + "\"corrected\":\(file.corrected)}"
    }
    return "{\"produced\":\(sound.ledger.produced),\"missing\":\(sound.missing),"
      + "\"rate\":\(format.rate),\"channels\":\(format.channels),"
      + "\"number\":\"\(format.number.rawValue)\",\"is_copied\":\(isCopied),"
      + "\"is_limited\":\(fileLimit != nil),\"is_over\":\(sound.isOver),\"errors\":\(sound.errors.count),"
      + "\"sinks\":{\(entries.joined(separator: ","))},\"files\":[\(files.joined(separator: ","))]}"
  }
}

/// Writes beyond that length of a file fail: `EFBIG`.
private func limitFiles(_ bytes: Int?) {
  var limit = rlimit()
  unsafe getrlimit(__rlimit_resource_t(1), &limit)
  limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
  unsafe setrlimit(__rlimit_resource_t(1), &limit)
}
