public import SprocketCore
internal import Synchronization

/// The sounds of a run.
struct RunSounds: Sendable {
  var engines: [AudioEngine]
  /// The run begins its end: no other sound can be added.
  var isClosed = false
}

// The sound of a run.
extension Engine {
  /// Adds a sound to a run that goes on, and begins it: one that does not wait for the pictures. It ends with
  /// the run. Throws if the pictures are not live, or the sound is not, and if the run is over.
  public func add(_ sound: AudioEngine) throws(RunError) {
    try Self.checkPace(of: [sound], beside: description)
    guard sound.description.isLive else {
      throw RunError(
        .usage, "the sound of \(sound.description.name) does not come live; begin a run with it",
        change: .microphone)
    }
    guard startTime.load(ordering: .relaxed) != 0 else {
      throw RunError(.usage, "the run has not begun; start it first, or make it with this sound")
    }
    try sounds.withLock { sounds throws(RunError) in
      guard !sounds.isClosed else { throw ChangePort.isOver }
      try sound.start()
      // Replaced as a whole: others read their copy without the lock.
      sounds.engines = sounds.engines + [sound]
    }
  }

  /// Begins the sound. Sound that cannot begin is an error of the run, and the pictures go on.
  func startAudio(_ pump: SourcePump) {
    if !epoch.source.isLive {
      pump.sounds = audio.filter { !$0.description.isLive }.map(\.shared.pictures)
      for sound in pump.sounds { sound.begin() }
    }
    if let limit = options.durationLimit, epoch.source.frameCount == 0 {
      for engine in audio where !engine.description.isLive { engine.limit(to: limit) }
    }
    for engine in audio {
      do throws(RunError) { try engine.start() } catch { shared.fail(error) }
    }
  }

  /// Sound that is not live ends where the pictures do. Live sound goes on while sinks may need it.
  func limitAudio(_ pump: SourcePump) {
    let rate = epoch.source.format.rate.framesPerSecond
    // Of the last picture, as movies have it.
    let length = rate > 0 ? Int64(1e9 / rate) : max(0, pump.lastGap)
    let end = pump.lastCaptured?.nanoseconds.clampedSum(length)
    for engine in audio where !engine.description.isLive { engine.stop(at: end) }
  }

  /// Throws if the pictures are live and the sound is not, or the reverse: their times have different clocks.
  static func checkPace(
    of audio: [AudioEngine], beside source: SourceDescription
  ) throws(RunError) {
    guard source.frameCount != 0,
      let other = audio.first(where: { $0.description.isLive != source.isLive })?.description
    else { return }
    throw RunError(
      .usage,
      source.isLive
        ? "the pictures of \(source.name) come live, and the sound of \(other.name) as fast as it is read: "
          + "they would not be in step; let both come live, such as by the microphone's setting pace=real"
        : "the sound of \(other.name) comes live, and the pictures of \(source.name) as fast as they are "
          + "read: they would not be in step; let both come live, such as by the source's setting pace=real",
      change: .microphone)
  }

  /// Ends the sound when no sink of pictures needs it any more. A source that does not return is left behind.
  func endAudio(_ pump: SourcePump) {
    limitAudio(pump)
    sounds.withLock { $0.isClosed = true }
    for engine in audio where engine.description.isLive { engine.stop() }
    for engine in audio where !awaitEnd(of: engine) {
      shared.fail(
        RunError(
          .failed,
          "the sound of \(engine.description.name) did not come to an end; look at what it waits for"
        ))
    }
  }

  /// Waits while the sound goes on: without progress for the drain limit at most, and after a flush for less.
  private func awaitEnd(of engine: AudioEngine) -> Bool {
    var produced = engine.summary.ledger.produced
    var limit = deadline(in: options.drainLimit.nanosecondCount)
    while !engine.wait(for: .nanoseconds(Waiter.boundNanoseconds)) {
      let now = engine.summary.ledger.produced
      if now != produced {
        produced = now
        limit = deadline(in: options.drainLimit.nanosecondCount)
      }
      guard shared.isFlushing || monotonicNow() >= limit else { continue }
      engine.stop()
      return engine.wait(for: .nanoseconds(EpochThreads.graceNanoseconds))
    }
    return true
  }
}
