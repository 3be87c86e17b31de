internal import Sprocket
internal import SprocketPipelines

/// What a new shape changes of a run's sound. Whatever may be refused is done when this is made, beside the
/// sound that goes on.
struct SoundChange {
  /// The sound of the run from then on; `nil` while it has none.
  let engine: AudioEngine?
  /// The run gets its first sound.
  private let isFirst: Bool
  private let exchange: Exchange

  private enum Exchange {
    case none
    case away
    case new(CaptureDevice, OpenSound)
  }

  /// Opens a new microphone. Throws if it cannot be had, or does not give what the present one gives.
  init(of run: SessionRun, from old: SessionShape, to new: SessionShape) throws(CaptureError) {
    let present = run.sound?.engine
    // One that was lost is opened again.
    let isSame = old.microphone === new.microphone && present?.isLost != true
    do throws(RunError) {
      guard let present else {
        engine = try new.makeSound()?.engine
        (isFirst, exchange) = (engine != nil, .none)
        return
      }
      (engine, isFirst) = (present, false)
      if isSame {
        exchange = .none
      } else if let device = new.microphone {
        let source = try device.makeSound(present.description.format)
        exchange = .new(device, try present.open(source))
      } else {
        exchange = .away
      }
    } catch {
      throw CaptureError(error)
    }
  }

  /// Makes the change. The outputs of the new shape are attached.
  func make(
    in run: SessionRun, _ engine: Engine, from old: SessionShape, to new: SessionShape
  ) throws(RunError) {
    if isFirst, let sound = self.engine, let device = new.microphone {
      for output in new.workers {
        if let late = output.core.state.withLock(\.lateSound) {
          late.add(try sound.makeTap(for: output.core.name))
        }
      }
      try engine.add(sound)
      run.setSound(SessionSound(sound, new.soundParts, device))
      for output in new.workers {
        (output as? any ReadsSound)?.soundChanged(isThere: true)
        output.soundCame()
      }
      return
    }
    switch exchange {
    case .none: break
    case .away: try run.exchangeMicrophone(for: nil, new.soundStages)
    case .new(let device, let source):
      try run.exchangeMicrophone(for: (device, source), new.soundStages)
    }
    for output in old.workers where !new.has(output) { run.detachReader(output) }
    for output in new.workers where !old.has(output) { try run.attachReader(output) }
  }
}

extension SessionShape {
  /// The sound of a new run: its microphone, opened, and who reads it. `nil` without a microphone.
  func makeSound() throws(RunError) -> SessionSound? {
    guard let microphone else { return nil }
    let readers = outputs.compactMap { ($0 as? any ReadsSound)?.makeAudioSink() }
    return SessionSound(
      try microphone.makeAudio(readers, soundStages), soundParts, microphone)
  }

  var soundParts: [Part] { soundStages.map { Part($0.plugin.name, $0.settings) } }

  /// The source of the pictures, not opened. Without a camera there are none, and the run goes on until it is
  /// stopped, or the microphone fails.
  func makeSource(_ choice: FormatChoice?, _ run: SessionRun) throws(RunError) -> any Source {
    if let camera, let choice { return try camera.makeSource(choice) }
    let empty = EmptySource()
    empty.isOver = { [weak run] in run?.sound?.engine.isLost ?? false }
    return empty
  }
}

extension OutputSetup {
  /// For a run with that shape; `audio`: its sound, if that is not the run's yet.
  init(_ run: SessionRun, _ shape: SessionShape, _ audio: AudioEngine? = nil) {
    self.init(
      stages: shape.stageNames, audio: audio ?? run.sound?.engine,
      hasMicrophone: shape.microphone != nil)
  }
}
