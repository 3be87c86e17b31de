internal import SprocketCore
internal import SprocketV4L2

/// State while the camera is missing: unplugged, its driver removed, or its feeding program ended.
///
/// The source searches for it by identity four times a second. When it is back, the source opens it in
/// the same mode and writes the controls again, since a camera loses them without power. A new epoch
/// begins; its first frame has the event `.replugged` with the lost time. After the setting `replug` the
/// run fails. The search can be interrupted at any time.
struct CameraAbsence {
  /// Time between two searches, in nanoseconds. A larger value costs less and finds the camera later.
  static let interval: Int64 = 250_000_000

  enum Reason {
    case unplugged
    /// The input receives another resolution.
    case sourceChange

    var epoch: EpochReason { self == .unplugged ? .replug : .formatChange }
  }

  /// On CLOCK_MONOTONIC.
  let since: Int64
  var nextLook: Int64
  let reason: Reason
  /// Error of the last attempt to open it; `nil` if no node was found.
  var problem: String?
  /// Places of the other cameras when it disappeared. A twin among them that gets the same name is not
  /// this camera.
  let others: Set<String>
  /// Whether the epoch was ended so that lent frames are returned.
  var hasEnded = false
}

extension CameraSource {
  /// Closes the missing device, or one whose input receives another resolution: that cannot be set while
  /// buffers are there. Lent frames stay readable.
  func leave(for reason: CameraAbsence.Reason = .unplugged) {
    let now = monotonicNow()
    device?.stop()
    // `retired` is empty here, because the device is only reopened when it is.
    if loans.hasLent { retired = device.take() }
    retiredLoans = loans
    device = nil
    opening += 1
    loans = CameraLoans(count: 0, mayLend: false)
    (isStreaming, isStalled, hasNewNumbers, silence) = (false, false, false, 0)
    if reason == .unplugged { unplugs += 1 } else { sourceChanges += 1 }
    let places = DeviceTree.videoNodes().values.map(\.place)
    absence = CameraAbsence(
      since: lastFrame ?? now,
      nextLook: reason == .unplugged ? now + CameraAbsence.interval : now, reason: reason,
      others: Set(places).subtracting([identity?.place ?? ""]))
  }

  /// Searches for the camera if a search is due.
  func look(within timeout: Int64) throws(RunError) -> Arrival {
    guard var absence else { return .nothing }
    guard interruption.wait(until: absence.nextLook, timeout: timeout) else { return .nothing }
    // Some drivers need the old file closed first, so all lent frames must be returned. Stages with
    // history keep frames until the epoch ends.
    if retired != nil, !absence.hasEnded, let described {
      self.absence?.hasEnded = true
      return .epoch(described, absence.reason.epoch)
    }
    do throws(RunError) {
      absence.problem = nil
      if retired == nil, let description = try reopen(absence.others) {
        let lost = monotonicNow() - absence.since
        self.absence = nil
        if absence.reason == .unplugged {
          away += lost
          controls.ready.add(Event(kind: .replugged, value: Double(lost) * 1e-6))
        }
        return .epoch(description, absence.reason.epoch)
      }
    } catch {
      if error.code == .interrupted { throw error }
      // Its rights or its feeding program may still be missing.
      absence.problem = error.description
    }
    let now = monotonicNow()
    absence.nextLook = now + CameraAbsence.interval
    self.absence = absence
    if retired != nil {
      absence.problem = "a sink that blocks still reads a frame of it"
    }
    let patience = absence.reason == .unplugged ? settings.usedReplug : settings.timeout
    guard now - absence.since > patience.nanosecondCount else { return .nothing }
    guard absence.reason == .unplugged else {
      throw RunError(
        .failed,
        "\(title) receives another resolution, and has not been set to it within \(patience.settingText)"
          + (absence.problem.map { " (\($0))" } ?? "") + ": start again")
    }
    throw RunError(
      .failed,
      "\(title) was unplugged and has not come back within \(settings.usedReplug.settingText)"
        + (absence.problem.map { " (\($0))" } ?? "") + ": plug it in and start again")
  }

  /// Reopens the camera, in the same mode if it is still offered. `nil` if no node was found.
  private func reopen(_ others: Set<String>) throws(RunError) -> SourceDescription? {
    guard let node = nodeNow(others) else { return nil }
    device = nil
    try asking { () throws(V4L2Error) in
      device = try V4L2Device(path: node, converts: settings.conversion)
    }
    path = node
    sequence.restart()
    clock.restart()
    signal.changed()
    firstNumber = nil
    let before = controls
    do throws(RunError) {
      return try prepare(before: before)
    } catch {
      device = nil
      controls = before
      throw error
    }
  }

  /// Present node of the camera: in the same port, or by name in another one. `nil` if there is none.
  private func nodeNow(_ others: Set<String>) -> String? {
    guard let identity else { return path }
    let all = DeviceTree.videoNodes()
    let found =
      all.first { $0.value.place == identity.place }
      ?? all.first { $0.value.name == identity.name && !others.contains($0.value.place) }
    if let found { self.identity = found.value }
    return found.map { "/dev/\($0.key)" }
  }

  /// Why a run that ends now has less than was asked for; `nil` while the camera is there, and where the run
  /// failed before.
  var absenceError: RunError? {
    guard failure == nil, let absence, absence.reason == .unplugged else { return nil }
    let seconds = (Double((monotonicNow() - absence.since) / 100_000_000) / 10).settingText
    return RunError(
      .failed,
      "\(title) was unplugged, or gave no frame, \(seconds) s ago and is not back"
        + (absence.problem.map { " (\($0))" } ?? "") + ": plug it in and start again")
  }

  var absenceNote: String? {
    guard unplugs > 0 else { return nil }
    let seconds = (Double(away / 10_000_000) / 100).settingText
    let note = "\(title) was unplugged \(often(unplugs)), for \(seconds) s in all"
    return absence?.reason == .unplugged
      ? note + "; it is not back" : note + "; its numbers began anew when it was back"
  }
}
