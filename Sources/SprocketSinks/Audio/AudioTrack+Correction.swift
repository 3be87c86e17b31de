internal import SprocketCore
internal import SprocketLibAV

/// The resampler of a track, and how much it corrects.
struct AudioCorrection {
  let resampler: AudioResampler
  /// Sound goes through the resampler; else it is copied.
  var isOn: Bool
  /// The track was too far off once: from then on it is corrected.
  var isCorrecting = false
  /// Samples of the device that are consumed beyond the nominal number, as a part of it.
  var amount = 0.0
  /// Samples that were taken into the track before the resampler's first.
  var fedBefore: Int64 = 0

  init(from source: AudioFormat, to format: AudioFormat) throws(RunError) {
    do throws(AudioResamplerError) {
      resampler = try AudioResampler(from: source.shape, to: format.shape)
    } catch {
      throw .resampling(error, from: source, to: format)
    }
    isOn = format != source
  }

  /// Corrects from the first sample on, as the file before did at its end.
  mutating func goOn(with amount: Double) {
    (self.amount, isOn, isCorrecting) = (amount, true, true)
  }

  /// The next amount: what the device's rate asks for, and what leads an `error` (seconds; above 0 where
  /// sound is heard before its time) back.
  static func next(after amount: Double, rateExcess: Double, error: Double) -> Double {
    let lead = max(-mostLead, min(mostLead, error / secondsToLead))
    return amount + max(-mostStep, min(mostStep, rateExcess - lead - amount))
  }

  /// Changes of the correction in a second of the file. They are at certain numbers of samples, so that a
  /// replay gives the same.
  static let updatesPerSecond = 2
  /// Seconds off at which correction begins. Larger: more recordings stay bit for bit what came, and are
  /// further off; 5 ms are heard by nobody (ITU-R BT.1359: 45 ms).
  static let tolerance = 3e-3
  /// Seconds in which an error would go away. Larger: a steadier pitch, and errors that last.
  static let secondsToLead = 20.0
  /// Most correction of an error, beyond the rate. Larger: errors go away sooner, and are heard sooner as
  /// a change of pitch: 30 ppm are 0.05 cents.
  static let mostLead = 30e-6
  /// Most change in half a second: 19 ppm in a second, to which the library's own steps add 0.95. Larger: the
  /// same.
  static let mostStep = 9.5e-6
}

extension AudioTrack {
  /// Number of the sample before which the correction is looked at next.
  var nextUpdate: Int64 { updates * Int64(format.rate / AudioCorrection.updatesPerSecond) }

  /// Samples that the track takes in a second of the file.
  var fedRate: Double { Double(reader.format.rate) * (1 + (correction?.amount ?? 0)) }

  /// When the sample that is taken next will be heard in the file, nanoseconds.
  var nextTime: Int64 {
    var seconds = Double(emitted) / Double(format.rate)
    if isConverted, fed > 0, let resampler = correction?.resampler {
      seconds += (Double(resampler.fed) - resampler.position) / fedRate
    }
    return start.clampedSum(Int64(clamping: (seconds * 1e9).rounded()))
  }

  /// The first samples are about to be taken: of sound that follows what was heard before, the resampler gets
  /// that too.
  func begin(_ piece: AudioPiece) throws(RunError) {
    guard let resampler = correction?.resampler else { return }
    correction?.fedBefore = fed
    do throws(AudioResamplerError) {
      try reader.withConsumed(piece.kind == .sound ? AudioResampler.most : 0) {
        (before) throws(AudioResamplerError) in try resampler.begin(with: before)
      }
      if let amount = correction?.amount, amount != 0 { try resampler.correct(by: amount) }
    } catch {
      throw .resampling(error, from: reader.format, to: format)
    }
  }

  /// Looks at how far the sound is off, and corrects it, where the file wants that. `piece` is what is
  /// taken next.
  func update(_ piece: AudioPiece) throws(RunError) {
    updates += 1
    guard settings.sync == .auto, var correction, pending.first ?? piece.kind == .sound,
      reader.runCount > 0, let line = reader.line(ofRun: 0)
    else { return }
    // The next sample of the file lies between two of the device.
    let part =
      correction.isOn
      ? Double(correction.fedBefore) + correction.resampler.position - Double(passed) : 0
    let heard = Double(line.time(of: reader.runs[0].first) &- start) / 1e9 + part / line.rate
    let error = heard - Double(emitted) / Double(format.rate)
    guard correction.isCorrecting || abs(error) >= AudioCorrection.tolerance else { return }
    if !correction.isOn { try begin(piece) }
    correction.fedBefore = correction.isOn ? correction.fedBefore : fed
    (correction.isOn, correction.isCorrecting) = (true, true)
    correction.amount = AudioCorrection.next(
      after: correction.amount, rateExcess: line.rate / Double(reader.format.rate) - 1, error: error
    )
    do throws(AudioResamplerError) {
      try correction.resampler.correct(by: correction.amount)
    } catch {
      throw .resampling(error, from: reader.format, to: format)
    }
    self.correction = correction
  }
}

extension AudioFormat {
  /// As the library's wrapper calls it.
  var shape: AudioResampler.Shape {
    AudioResampler.Shape(number: PCMFormat(self).number, rate: rate, channels: channels)
  }
}

extension RunError {
  static func resampling(
    _ error: AudioResamplerError, from source: AudioFormat, to format: AudioFormat
  ) -> RunError {
    if let missing = error.missing {
      return RunError(.failed, "the sound cannot be recorded: \(missing)")
    }
    return RunError(
      .failed,
      "libswresample cannot make sound of \(format.rate) Hz and \(format.channels) channels from such of "
        + "\(source.rate) Hz and \(source.channels) (\(error.operation): \(error.status)); choose "
        + "another rate, or leave the sound as it is",
      change: .audioRate, .audioChannels)
  }
}
