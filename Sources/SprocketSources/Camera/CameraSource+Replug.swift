internal import SprocketCore
internal import SprocketV4L2

/// A camera that is unplugged, or whose driver or feeding program went away.
///
/// It is looked for four times a second by its identity, whatever its node is then. When it is back it is
/// opened anew in the same mode, and controls that were written are written again: a camera forgets them
/// without power. An epoch begins, and its first frame has the event `.replugged` with the time that was
/// lost. After the setting `replug` the run fails. It can be interrupted at any time.
struct CameraAbsence {
  /// Nanoseconds between two looks. Larger: less work, and it is found later.
  static let interval: Int64 = 250_000_000

  /// On CLOCK_MONOTONIC.
  let since: Int64
  var nextLook: Int64
  /// Why it could not be opened at the last look; `nil` where it was not there.
  var problem: String?
  /// Places of the other cameras at that time: a twin that has the name meanwhile is another camera.
  let others: Set<String>
  /// The epoch was ended to get lent frames back.
  var hasEnded = false
}

extension CameraSource {
  /// The camera is gone: lets go of the device. Frames that are lent stay readable.
  func leave() {
    let now = monotonicNow()
    device?.stop()
    // There is none from before: it is opened anew only when all of that is given back.
    if loans.hasLent { retired = device.take() }
    retiredLoans = loans
    device = nil
    opening += 1
    loans = CameraLoans(count: 0, mayLend: false)
    (isStreaming, isStalled) = (false, false)
    unplugs += 1
    let places = DeviceTree.system.identities(in: "video4linux").values.map(\.place)
    absence = CameraAbsence(
      since: lastFrame ?? now, nextLook: now + CameraAbsence.interval,
      others: Set(places).subtracting([identity?.place ?? ""]))
  }

  /// Looks for the camera when it is time.
  func look(within timeout: Int64) throws(RunError) -> Arrival {
    guard var absence else { return .nothing }
    guard interruption.wait(until: absence.nextLook, timeout: timeout) else { return .nothing }
    // A driver may wait for the last frame of the old opening before it makes the camera anew. Stages that
    // look back keep frames to the epoch's end.
    if retired != nil, !absence.hasEnded, let described {
      self.absence?.hasEnded = true
      return .epoch(described, .replug)
    }
    do throws(RunError) {
      absence.problem = nil
      if retired == nil, let description = try reopen(absence.others) {
        let lost = monotonicNow() - absence.since
        away += lost
        self.absence = nil
        controls.ready.add(Event(kind: .replugged, value: Double(lost) * 1e-6))
        return .epoch(description, .replug)
      }
    } catch {
      if error.code == .interrupted { throw error }
      // It may be about to come: its rights, or the program that feeds it.
      absence.problem = error.description
    }
    let now = monotonicNow()
    absence.nextLook = now + CameraAbsence.interval
    self.absence = absence
    guard now - absence.since > settings.replug.nanosecondCount else { return .nothing }
    throw RunError(
      .failed,
      "\(title) was unplugged and has not come back within \(settings.replug.settingText)"
        + (absence.problem.map { " (\($0))" } ?? "") + ": plug it in and start again")
  }

  /// Opens the camera again, in the mode that it had if it still has that; `nil` while it is not there.
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

  /// Where the camera is now; `nil` where it is not: in the port that it had, or in another one by its name.
  private func nodeNow(_ others: Set<String>) -> String? {
    guard let identity else { return path }
    let all = DeviceTree.system.identities(in: "video4linux")
    let found =
      all.first { $0.value.place == identity.place }
      ?? all.first { $0.value.name == identity.name && !others.contains($0.value.place) }
    if let found { self.identity = found.value }
    return found.map { "/dev/\($0.key)" }
  }

  var absenceNote: String? {
    guard unplugs > 0 else { return nil }
    let often = unplugs == 1 ? "once" : "\(unplugs) times"
    let seconds = (Double(away / 10_000_000) / 100).settingText
    return
      "\(title) was unplugged \(often), for \(seconds) s in all; its numbers began anew when it was back"
  }
}
