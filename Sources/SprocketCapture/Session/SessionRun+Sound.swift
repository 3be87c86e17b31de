internal import Sprocket
internal import SprocketPipelines
internal import SprocketStages

/// The sound of a run.
struct SessionSound: Sendable {
  let engine: AudioEngine
  /// What it passes.
  let stages: [Part]
  /// The microphone; `nil` after it was removed.
  var device: CaptureDevice?
  /// When it became the run's microphone, on the monotonic clock.
  var since = monotonicNow()
  /// When the last block before the present silence came; `nil` while there is sound.
  var silentSince: Int64?
  /// The loss of the microphone was told.
  var isLossTold = false

  init(_ engine: AudioEngine, _ stages: [Part], _ device: CaptureDevice?) {
    (self.engine, self.stages, self.device) = (engine, stages, device)
  }
}

// The microphone of a run: whether it gives sound, and who reads it.
extension SessionRun {
  func setSound(_ sound: SessionSound?) {
    endSilence()
    state.withLock { state in
      if state.sound?.engine !== sound?.engine { state.toldLosses = 0 }
      state.sound = sound
    }
  }

  var sound: SessionSound? { state.withLock(\.sound) }

  /// Looks whether sound comes, and tells when that changes. A microphone that failed is told of once, by its
  /// error.
  func watchSound() {
    guard let sound, let device = sound.device else { return }
    let last = max(sound.engine.lastBlockTime, sound.since)
    let isLost = sound.engine.isLost
    if isLost, !sound.isLossTold { tellLoss(of: sound.engine) }
    guard !isLost else { return beginSilence(since: last, device) }
    if let begun = sound.silentSince {
      if last > begun { endSilence(at: last) }
      return
    }
    let hasSound = sound.engine.lastBlockTime > sound.since
    let patience = hasSound ? Self.framePatience : Self.firstPatience
    if monotonicNow() - last > patience { beginSilence(since: last, device) }
  }

  private func beginSilence(since last: Int64, _ device: CaptureDevice) {
    let isNew = state.withLock { state in
      guard !state.isChanging, state.sound?.device === device, state.sound?.silentSince == nil
      else {
        return false
      }
      state.sound?.silentSince = last
      return true
    }
    if isNew { interruptions.send(.soundBegan(device.reasonForNoFrames)) }
  }

  /// Sound comes again, or is no longer expected.
  func endSilence(at time: Int64 = monotonicNow()) {
    let begun = state.withLock { state in
      defer { state.sound?.silentSince = nil }
      return state.sound?.silentSince
    }
    if let begun { interruptions.send(.soundEnded(after: .nanoseconds(max(0, time - begun)))) }
  }

  private func tellLoss(of engine: AudioEngine) {
    let all = engine.errors.map { CaptureError($0) }
    let new = state.withLock { state in
      state.sound?.isLossTold = true
      // Another microphone may fail with the same sentence.
      let new = all.dropFirst(state.toldLosses)
      state.toldLosses = all.count
      state.toldErrors = state.toldErrors + new.map(\.description)
      return Array(new)
    }
    // A run of sound alone ends by it, and tells of it then.
    guard device != nil else { return state.withLock { $0.toldErrors = [] } }
    for error in new { runtimeErrors.send(error) }
  }

  // MARK: Who reads it

  /// Lets an output that reads each block have the microphone's. Throws if there are too many.
  func attachReader(_ output: any SessionOutput) throws(RunError) {
    guard let sound, let reader = output as? any ReadsSound else { return }
    reader.soundChanged(isThere: sound.device != nil)
    try sound.engine.attach(reader.makeAudioSink())
  }

  func detachReader(_ output: any SessionOutput) {
    if output is any ReadsSound { sound?.engine.detach(output.core.name) }
  }

  /// Another microphone, or none, takes the place of the present one.
  func exchangeMicrophone(
    for new: (device: CaptureDevice, source: OpenSound)?, _ stages: [AudioChoice]
  ) throws(RunError) {
    guard let sound else { return }
    let engine = sound.engine
    try engine.exchange(for: new?.source)
    setSound(SessionSound(engine, sound.stages, new?.device))
    if let gain = stages.lazy.compactMap({ $0[Gain.Settings.self]?.db }).first, let new {
      let volume = new.device.state.withLock(\.volume)
      let db = volume.map { volumeDecibels($0) } ?? gain
      try engine.set(SettingsChange("gain", of: Gain.Settings.self) { $0.db = db })
    }
    for output in state.withLock(\.outputs) {
      (output as? any ReadsSound)?.soundChanged(isThere: new != nil)
      if new != nil { output.soundCame() }
    }
  }
}
