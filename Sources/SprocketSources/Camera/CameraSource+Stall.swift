internal import SprocketCore
internal import SprocketV4L2

// Streams that stand still.

extension CameraSource {
  /// After each third of the patience for a frame the stream is started again; when it is over, the run
  /// fails or the camera counts as unplugged.
  func checkPatience(_ now: Int64) throws(V4L2Error) {
    let waited = now - lastArrival
    let period = format?.rate.frameNanoseconds ?? 0
    if firstNumber != nil, waited > max(4 * period, 500_000_000) { isStalled = true }
    let patience = max(settings.timeout.nanosecondCount, 4 * period)
    guard waited > patience else {
      // A restart does not wake the program that feeds a loopback.
      if loans.mayLend, waited > (restartsInStall + 1) * (patience / 3) { try restart() }
      return
    }
    // A camera that opens and gives nothing is not waited for longer than one that is not there.
    if settings.replug > .zero, now - (lastFrame ?? now) <= settings.replug.nanosecondCount {
      return leave()
    }
    let seconds = Double(waited / 100_000_000) / 10
    failure = RunError(
      .failed,
      "\(title) has given no frame for \(seconds.settingText) s: check its cable, or the program that "
        + "feeds it")
  }

  /// Nanoseconds from one restart of a queue that has stopped to the next. Shorter: a driver whose queue
  /// stops at once again keeps a core busy.
  static let restartInterval: Int64 = 250_000_000

  /// Stops the stream and starts it again. A device that refuses is asked again later.
  func restart() throws(V4L2Error) {
    restartsInStall += 1
    restarts += 1
    lastRestart = monotonicNow()
    device!.stop()
    loans.didStop()
    do throws(V4L2Error) {
      try startStream()
    } catch {
      if error.code == .gone { throw error }
    }
  }

  /// What the user should know of a camera that is slower than it promised.
  var rateNote: String? {
    let control = controls.writable.first { $0.id == V4L2Control.exposurePriority }
    return clock.rateNote(title, promised: format?.rate ?? .unknown, priority: control?.name)
  }
}
