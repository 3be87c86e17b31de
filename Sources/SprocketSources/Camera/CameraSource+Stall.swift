internal import SprocketCore
internal import SprocketV4L2

// Stalled streams.

extension CameraSource {
  /// Restarts the stream after each third of the timeout without a frame. After the whole timeout, the
  /// run fails or the camera counts as unplugged.
  func checkPatience(_ now: Int64) throws(V4L2Error) {
    let waited = now - lastArrival
    silence = waited
    let period = format?.rate.frameNanoseconds ?? 0
    if firstNumber != nil, waited > max(4 * period, 500_000_000) { isStalled = true }
    let patience = max(settings.timeout.nanosecondCount, 4 * period)
    guard waited > patience else {
      // A restart has no effect on the program that feeds a loopback.
      if loans.mayLend, waited > (restartsInStall + 1) * (patience / 3) { try restart() }
      return
    }
    // The limit also holds for a camera that can be opened but delivers no new frame.
    if settings.usedReplug > .zero,
      now - (lastNewFrame ?? now) <= settings.usedReplug.nanosecondCount
    {
      return leave()
    }
    let seconds = Double(waited / 100_000_000) / 10
    failure = RunError(
      .failed,
      "\(title) has given no frame for \(seconds.settingText) s: check its cable, or the program that "
        + "feeds it")
  }

  /// Least time between two restarts of a stopped queue, in nanoseconds. With a smaller value, a driver
  /// whose queue stops repeatedly keeps a core busy.
  static let restartInterval: Int64 = 250_000_000

  /// Restarts the stream. If the device refuses, the next restart tries again.
  func restart() throws(V4L2Error) {
    restartsInStall += 1
    restarts += 1
    lastRestart = monotonicNow()
    device!.stop()
    loans.didStop()
    // The driver's numbers begin anew: what they would say of the time between is not true.
    sequence.restart()
    hasNewNumbers = lastFrame != nil
    do throws(V4L2Error) {
      try startStream()
    } catch {
      if error.code == .gone { throw error }
    }
  }

  /// Waits until a camera that has refused to start may be tried again: false if that is later.
  func mayStart(within timeout: Int64) -> Bool {
    refusedSince == nil
      || interruption.wait(until: lastRestart + Self.restartInterval, timeout: timeout)
  }

  /// Starts the stream. A camera that has streamed before and refuses is tried again until the timeout: false
  /// while it refuses.
  func starts() throws(RunError) -> Bool {
    let now = monotonicNow()
    do throws(RunError) {
      try asking { () throws(V4L2Error) in try startStream() }
      refusedSince = nil
      return true
    } catch {
      let since = refusedSince ?? now
      guard lastFrame != nil, !isGone, error.code != .interrupted,
        now - since < max(settings.timeout, settings.usedReplug).nanosecondCount
      else { throw error }
      (refusedSince, lastRestart) = (since, monotonicNow())
      restarts += 1
      device!.stop()
      loans.didStop()
      return false
    }
  }

  /// Note about a camera that delivers fewer frames than it promised.
  var rateNote: String? {
    let priority = controls.writable.first { $0.id == V4L2Control.exposurePriority }
    let hasExposure = controls.writable.contains { V4L2Control.exposures.contains($0.id) }
    return clock.rateNote(
      title, promised: format?.rate ?? .unknown, priority: priority?.name, hasExposure: hasExposure)
  }

  /// Note about a camera from which nothing came any more when the run ended.
  var silenceNote: String? {
    guard failure == nil, silence > max(4 * (format?.rate.frameNanoseconds ?? 0), 2_000_000_000)
    else { return nil }
    let seconds = Double(silence / 100_000_000) / 10
    return
      "\(title) gave no frame in the last \(seconds.settingText) s: check its cable, or the program that "
      + "feeds it"
  }
}
