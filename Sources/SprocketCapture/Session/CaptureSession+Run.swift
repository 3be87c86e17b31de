internal import Sprocket
internal import SprocketPipelines

// The session's engine: one for each time that it runs.
extension CaptureSession {
  /// Time for threads to finish what is under way when the run ends or changes its shape. Larger: a slower
  /// disk loses nothing, and a callback that blocks delays `stop` for longer.
  private static let drainLimit = Duration.seconds(5)

  func beginChange() async -> SessionShape {
    await takeTurn()
    return shape
  }

  /// Ends a change of which nothing holds.
  func abandon(_ added: [any CaptureOutput], because error: CaptureError) {
    for output in added where !shape.has(output) { output.core.didRemove() }
    tell(thrown: error)
    endTurn()
  }

  func commit(_ draft: SessionDraft) throws(CaptureError) {
    endIfOver()
    let camera = draft.shape.camera
    let loops = camera?.state.withLock(\.loops)
    do throws(CaptureError) {
      if let refusal = CaptureError(all: draft.refusals) { throw refusal }
      let choice = try draft.shape.solve()
      draft.shape.forgetLoops(since: shape)
      if let run { try change(run, to: draft.shape, choice) }
    } catch {
      if let loops { camera?.state.withLock { $0.loops = loops } }
      abandon(draft.added, because: error)
      throw error
    }
    for output in shape.outputs where !draft.shape.has(output) { output.core.didRemove() }
    for output in draft.shape.outputs { output.core.didAdd() }
    shape = draft.shape
    endTurn()
  }

  // MARK: Beginning

  /// Makes an engine of a shape and starts it.
  func begin(_ shape: SessionShape) throws(CaptureError) {
    let (camera, choice) = (shape.camera, try shape.solve())
    guard camera != nil || shape.microphone != nil else {
      throw CaptureError(
        .noInput, "the session has no camera and no microphone; add a DeviceInput")
    }
    if let camera, camera.state.withLock(\.run) != nil {
      throw CaptureError(
        .busy, "another session runs \(camera.localizedName); stop it first, or take another camera"
      )
    }
    let run = SessionRun(
      device: camera, choice: choice, interruptions: interruptionCast,
      runtimeErrors: runtimeErrorCast)
    let stages = shape.usedStages
    run.setStages(stages)
    var refusal: CaptureError?
    do throws(RunError) {
      let sound = try shape.makeSound()
      run.setSound(sound)
      let setup = OutputSetup(run, shape)
      var sinks: [any Sink] = [SessionWatch(run)]
      var made: [(any SessionOutput, [any Sink])] = []
      for output in shape.workers {
        var new: [any Sink] = []
        do throws(CaptureError) {
          if camera != nil { new = try output.makeSinks(setup) }
        } catch {
          refusal = error
          throw RunError(.usage, error.description)
        }
        made.append((output, new))
        sinks += new
      }
      let engine = try Engine(
        source: shape.makeSource(choice, run), stages: stages, sinks: sinks,
        audio: sound.map { [$0.engine] } ?? [], options: RunOptions(drainLimit: Self.drainLimit))
      run.begin(engine) { [weak self] run in
        Task { [weak self] in
          if let self { return await self.didEnd(run) }
          // The session was released: its files are completed all the same.
          _ = await run.engine?.hasEnded(within: Self.drainLimit * 3)
          run.close()
        }
      }
      if let camera { run.writeWanted(of: camera) }
      for (output, sinks) in made { run.attach(output, sinks) }
      try engine.start()
      // Outputs may record from now on.
      sound?.engine.awaitBegin()
    } catch {
      run.close()
      throw refusal ?? CaptureError(error)
    }
    if let camera { run.belongs(to: camera) }
    self.run = run
    setRunning(true)
  }

  // MARK: Changing

  /// Brings a run in line with a new shape, or leaves it as it is and throws.
  private func change(
    _ run: SessionRun, to new: SessionShape, _ choice: FormatChoice?
  ) throws(CaptureError) {
    guard let engine = run.engine else {
      throw CaptureError(.failed, "the session's run has just ended; configure it again")
    }
    guard new.camera != nil || new.microphone != nil else {
      throw CaptureError(
        .noInput, "a running session needs a camera or a microphone; stop it first")
    }
    if new.microphone != nil, let sound = run.sound, sound.stages != new.soundParts {
      return try restart(run, as: new)
    }
    let sound = try SoundChange(of: run, from: shape, to: new)
    try changePictures(run, engine, to: new, choice, sound)
    do throws(RunError) {
      try sound.make(in: run, engine, from: shape, to: new)
    } catch {
      // The new pictures are there, and the new sound cannot be had in this run.
      try restart(run, as: new)
    }
  }

  /// Brings source, stages and sinks of pictures in line.
  private func changePictures(
    _ run: SessionRun, _ engine: Engine, to new: SessionShape, _ choice: FormatChoice?,
    _ sound: SoundChange
  ) throws(CaptureError) {
    let camera = new.camera
    var (before, after) = (shape.pipeline(run.choice), new.pipeline(choice))
    (before.sound, after.sound) = (SoundParts(), SoundParts())
    let difference = try Self.difference(before, after)
    var change = Reconfiguration()
    let left = shape.pictured.filter { difference.detached.contains($0.core.name) }
    change.detached = left.flatMap { $0.core.state.withLock(\.sinks) }
    // A loop of the camera's begins anew where it is configured.
    let retuned = difference.settings.first { !SessionShape.loopStages.contains($0.stage) }
    let isSameStages =
      difference.stages == nil && (difference.settings.isEmpty || retuned != nil)
    let stages = new.usedStages
    if !isSameStages { change.stages = stages }
    if camera !== run.device || choice != run.choice || difference.source != nil {
      do throws(RunError) {
        change.source = try new.makeSource(choice, run)
      } catch { throw CaptureError(error) }
    }
    if !isSameStages { for output in new.pictured { try output.check(stages: new.stageNames) } }
    let setup = OutputSetup(run, new, sound.engine)
    var attached: [(any SessionOutput, [any Sink])] = []
    for output in new.workers {
      let isNew = !shape.has(output)
      guard isNew || (camera == nil) != (shape.camera == nil) else { continue }
      let sinks = camera == nil ? [] : try output.makeSinks(setup)
      attached.append((output, sinks))
      change.attached += sinks
    }
    do throws(RunError) {
      if let retuned { try engine.set(retuned) }
      if change.source != nil || !isSameStages || !change.attached.isEmpty
        || !change.detached.isEmpty
      {
        run.beginChange()
        defer { run.endChange() }
        // A ramp is one of the camera that it began with.
        if change.source != nil { run.state.withLock { $0.ramp = nil } }
        try engine.reconfigure(change)
      }
    } catch {
      throw CaptureError(error)
    }
    if !isSameStages { run.setStages(stages) }
    for output in shape.workers where left.contains(where: { $0 === output }) || !new.has(output) {
      run.detach(output)
    }
    for (output, sinks) in attached { run.attach(output, sinks) }
    guard change.source != nil else { return }
    let old = run.device
    run.setSource(camera, choice)
    if old !== camera { old?.state.withLock { $0.run = nil } }
    guard let camera else { return }
    run.writeWanted(of: camera)
    run.belongs(to: camera)
  }

  private static func difference(
    _ before: Pipeline, _ after: Pipeline
  ) throws(CaptureError) -> PipelineChange {
    do throws(RunError) {
      return try PipelineChange(from: before, to: after)
    } catch { throw CaptureError(error) }
  }

  /// Ends the run and begins another: for other sound stages. Goes back to the old shape if that fails.
  private func restart(_ run: SessionRun, as new: SessionShape) throws(CaptureError) {
    end(run)
    do throws(CaptureError) {
      try begin(new)
    } catch {
      do throws(CaptureError) {
        try begin(shape)
      } catch let again {
        // Nobody is thrown this: the caller learns that its change failed.
        runtimeErrorCast.send(
          CaptureError(
            again.code,
            "the session has stopped, since it could not go on as before a change that failed: \(again)"
          ))
      }
      throw error
    }
  }

  // MARK: Ending

  /// Stops a run and waits for its end. No task refers to the session afterwards: its outputs can be added to
  /// another session as soon as this one is released.
  func end(_ run: SessionRun) {
    run.ignoreEnd()
    run.beginChange()
    run.engine?.stop()
    finish(run)
  }

  /// Lets go of a run that has ended by itself, and was not let go yet.
  func endIfOver() {
    if let run, run.engine?.wait(for: .zero) ?? true { didEnd(run) }
  }

  /// A run has ended by itself: its camera is gone, or an error ended it.
  func didEnd(_ ended: SessionRun) {
    guard let run, run === ended else { return }
    var errors = finish(run)
    if errors.isEmpty {
      errors = [CaptureError(.failed, "the run of the session ended; start it again")]
    }
    // Several parts of a run may fail for one reason.
    var told: Set<String> = []
    for error in errors where told.insert(error.description).inserted {
      runtimeErrorCast.send(error)
    }
  }

  /// Waits for a run's end, and lets go of it. Returns its errors.
  @discardableResult
  func finish(_ run: SessionRun) -> [CaptureError] {
    guard let engine = run.engine else { return [] }
    if !engine.wait(for: Self.drainLimit + .seconds(5)) {
      engine.stop()
      _ = engine.wait(for: .seconds(10))
    }
    let summary = engine.summary
    self.run = nil
    setRunning(false)
    let told = run.state.withLock(\.toldErrors)
    run.close()
    self.summary = summary
    return summary.errors.map { CaptureError($0) }.filter { !told.contains($0.description) }
  }
}

extension OutputCore {
  func didAdd() { state.withLock { $0.membership = .active } }

  func didRemove() {
    let end = state.withLock { state in
      // One that was never part of a session can still be added.
      let wasActive = state.membership == .active
      (state.membership, state.session) = (.removed, nil)
      state.addition += 1
      return wasActive ? state.onRemove : nil
    }
    end?()
  }
}
