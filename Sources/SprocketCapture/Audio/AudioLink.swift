internal import Glibc
internal import Sprocket
internal import SprocketStages

/// The way of the sound from a session's microphone to one output.
public struct AudioLink: Sendable {
  let core: OutputCore
  let addition: Int

  public var state: LinkState { core.state(of: addition) }

  /// What a meter shows now, per channel in dBFS: a peak that falls by 20 dB in a second, and the RMS of
  /// 0.3 s. Empty while the session has no running microphone.
  public var levels: [(peak: Double, rms: Double)] {
    guard let sound = core.run?.sound, sound.device != nil else { return [] }
    let audio = sound.engine
    let levels = audio.summary.levels
    return (0..<audio.description.format.channels).map {
      (levels.peakDecibels($0), levels.rmsDecibels($0))
    }
  }

  /// False: no block of sound reaches the output. Of outputs that give sound to the program.
  public var isEnabled: Bool { core.link.isSoundEnabled }

  /// Throws if the output was removed, or its adding was refused, and for movies: a movie has the sound of
  /// the session's microphone.
  public func setEnabled(_ isEnabled: Bool) throws(CaptureError) {
    guard core.state.withLock({ $0.turn == nil }) else {
      throw CaptureError(
        .settingsRefused,
        "a movie's sound cannot be switched off; set its volume, or remove the microphone")
    }
    try core.setLink(addition) { $0.isSoundEnabled = isEnabled }
  }

  /// Factors that `setVolume` takes: up to 63, which is 36 dB.
  public static let volumes = 0.0...63.0

  /// Makes the microphone's sound louder or softer from now on, for all outputs: 1 leaves it as it is, 0 is
  /// silence. It needs the stage `gain` among the session's sound stages, and also holds when a session
  /// starts the microphone later.
  ///
  /// Throws if no session runs the microphone, if there is no such stage, and for other factors.
  public func setVolume(_ factor: Double) throws(CaptureError) {
    guard let run = core.run, let sound = run.sound, let device = sound.device else {
      throw CaptureError(.notRunning, "no session runs a microphone for this output; start it")
    }
    guard Self.volumes.contains(factor) else {
      throw CaptureError(
        .valueOutOfRange, "a volume is 0, silence, to 63 times the microphone's, not \(factor)")
    }
    do throws(RunError) {
      try sound.engine.set(
        SettingsChange("gain", of: Gain.Settings.self) { $0.db = volumeDecibels(factor) })
    } catch {
      throw CaptureError(
        .controlUnsupported, "\(error.description); add .gain() to the session's sound stages")
    }
    device.state.withLock { $0.volume = factor }
  }
}

/// A factor as the stage `gain` has it; silence is its lowest value.
func volumeDecibels(_ factor: Double) -> Double { max(20 * log10(factor), -96) }
