internal import SprocketALSA
public import SprocketCore

/// A microphone of this machine, by ALSA.
///
/// The name is any that ALSA knows (`hw:1,0`, `plughw:CARD=USB`, `default`), a card's name, or a part of it
/// that only one has; none is the first that nobody uses. `hw:` gives the device's own samples, bit for bit;
/// `plughw:` and `default` convert where it is necessary. `MicrophoneNegotiation` says how format, rate and
/// channels are chosen.
///
/// ## Time
///
/// One status is asked for each wake-up, and tells how far the device was and when
/// (`ArrivedSound.Timing`). If the device's times are on another clock than the monotonic one, the
/// program reads the clock after the wake-up instead; `AudioDescription.note` says so.
///
/// ## Losses
///
/// When nobody reads for longer than the buffer lasts, the device goes on and overwrites the oldest samples.
/// It counts them, so `missing` is exact. Where a driver stops the device instead, the machine sleeps, or the
/// microphone is unplugged, the device is started again, and `missing` is estimated from times.
///
/// ## Trouble
///
/// An unplugged microphone is waited for: when its card is back (by short name and name) and takes the same
/// format, sound goes on. After the setting `replug` the run fails; so it does without any sound for the
/// setting `timeout`, and where the microphone is not back when the run ends.
public final class MicrophoneSource: AudioSource {
  let name: String
  let settings: MicrophoneSettings
  /// What ALSA calls the device; of a device of a card, by the card's short name.
  var address = ""
  var title = ""
  /// `nil` for what belongs to no card.
  var card: ALSACard?
  var device: ALSACapture?
  var mode: MicrophoneMode?
  var packer: SamplePacker?
  var tally = MicrophoneTally(rate: 1, buffer: 0, period: 0)
  var times = MicrophoneTimes(isMonotonic: false, latencyMilliseconds: 0)
  var blockSamples = 0
  let interruption = SourceInterrupt()
  private var isRunning = false
  private var failure: RunError?
  /// When sound came last, or the device was opened.
  private var lastArrival: Int64 = 0
  /// What the next block tells: missing before it, and that the device was started again.
  private var missing: UInt64 = 0
  private var isRestarted = false
  var losses = MicrophoneLosses()
  private var absence: Absence?

  /// The microphone is unplugged.
  private struct Absence {
    let since: Int64
    var nextLook: Int64
  }

  /// Nanoseconds between two looks for an unplugged microphone. Larger: less work, and it is found later.
  private static let lookInterval: Int64 = 250_000_000
  /// Nanoseconds to rest where a device is ready and has nothing, so that it does not keep a core busy.
  private static let rest: Int64 = 5_000_000

  /// Opens nothing yet.
  public init(name: String = "", _ settings: MicrophoneSettings = MicrophoneSettings()) {
    self.name = name
    self.settings = settings
  }

  public func interrupt() { interruption.set() }

  public func read(
    into bytes: inout MutableSpan<UInt8>, timeout: Int64
  ) throws(RunError) -> AudioArrival {
    if let failure { throw failure }
    let end = monotonicNow().clampedSum(timeout)
    do throws(RunError) {
      while !interruption.isSet {
        if let sound = try readOnce(into: &bytes, until: end) { return .block(sound) }
        let now = monotonicNow()
        try checkPatience(now)
        if now >= end { return .nothing }
      }
      return .end
    } catch {
      failure = error
      throw error
    }
  }

  /// One wait or one look; `nil` when no sound came of it.
  private func readOnce(
    into bytes: inout MutableSpan<UInt8>, until end: Int64
  ) throws(RunError) -> ArrivedSound? {
    if absence != nil {
      try look(until: end)
      return nil
    }
    do throws(ALSAError) {
      if !isRunning { try begin() }
      return try take(into: &bytes, until: end)
    } catch {
      try recover(from: error, until: end)
      return nil
    }
  }

  private func begin() throws(ALSAError) {
    try device!.start()
    isRunning = true
    lastArrival = monotonicNow()
  }

  private func take(
    into bytes: inout MutableSpan<UInt8>, until end: Int64
  ) throws(ALSAError) -> ArrivedSound? {
    guard let available = try wait(until: end) else { return nil }
    let excess = tally.excess(available: available)
    guard excess == 0 else {
      let count = try device!.skip(excess)
      lose(count)
      if count == 0 { sleep(until: min(end, monotonicNow() + Self.rest)) }
      return nil
    }
    let (ahead, time) = (tally.waiting, tally.time)
    let count = try packer!.read(min(ahead, blockSamples), from: &device!, into: &bytes)
    guard count > 0 else {
      sleep(until: min(end, monotonicNow() + Self.rest))
      return nil
    }
    if tally.isTight(available: available),
      tally.wereOverwritten(count, available: try device!.status().available)
    {
      lose(count)
      return nil
    }
    tally.took(count)
    lastArrival = monotonicNow()
    var sound = ArrivedSound(
      count: count, missing: missing, timing: .status(ahead: ahead, time: time))
    sound.isRestarted = isRestarted
    (missing, isRestarted) = (0, false)
    return sound
  }

  /// How many samples the device has. Waits for a period, unless the last wake-up left some.
  private func wait(until end: Int64) throws(ALSAError) -> Int? {
    guard tally.waiting == 0 else { return try device!.status().available }
    let patience = max(0, min(end.clampedDifference(monotonicNow()), SourceInterrupt.attention))
    guard try device!.wait(milliseconds: Int32((patience + 999_999) / 1_000_000)) else {
      return nil
    }
    let status = try device!.status()
    let now = monotonicNow()
    guard status.available > 0 else {
      sleep(until: min(end, now + Self.rest))
      return nil
    }
    let estimate = tally.wokeUp(
      available: status.available, at: times.time(status.nanoseconds, now: now))
    missing += UInt64(estimate)
    losses.estimated += UInt64(estimate)
    return status.available
  }

  /// Samples were overwritten before they were read.
  private func lose(_ count: Int) {
    guard count > 0 else { return }
    tally.took(count)
    missing += UInt64(count)
    losses.overwritten += UInt64(count)
    losses.overruns += 1
  }

  private func recover(from error: ALSAError, until end: Int64) throws(RunError) {
    switch error.code {
    case .stopped:
      losses.stops += 1
      try restart()
    case .suspended where device!.isAwake():
      losses.sleeps += 1
      try restart()
    case .suspended, .busy:
      sleep(until: min(end, monotonicNow() + SourceInterrupt.attention))
    case .gone: try leave(error)
    default: throw RunError(error, title: title)
    }
  }

  /// Starts the device again. One that stops again and again ends the run by `checkPatience`.
  private func restart() throws(RunError) {
    sleep(until: monotonicNow() + Self.rest)
    forget()
    do throws(ALSAError) {
      try device!.start()
    } catch {
      switch error.code {
      case .gone: try leave(error)
      case .stopped, .suspended, .busy: break
      default: throw RunError(error, title: title)
      }
    }
  }

  private func forget() {
    tally.restart()
    isRestarted = true
  }

  /// The microphone was unplugged.
  private func leave(_ error: ALSAError) throws(RunError) {
    device = nil
    losses.unplugs += 1
    forget()
    guard settings.replug > .zero else { throw RunError(error, title: title) }
    let now = monotonicNow()
    absence = Absence(since: now, nextLook: now + Self.lookInterval)
  }

  private func look(until end: Int64) throws(RunError) {
    guard var absence else { return }
    let now = monotonicNow()
    guard interruption.wait(until: absence.nextLook, timeout: max(0, end - now)) else { return }
    if isBack() {
      self.absence = nil
      isRunning = false
      return
    }
    absence.nextLook = monotonicNow() + Self.lookInterval
    self.absence = absence
    guard now - absence.since > settings.replug.nanosecondCount else { return }
    throw RunError(
      .failed,
      "\(title) was unplugged and has not come back within \(settings.replug.settingText): plug it in "
        + "and start again")
  }

  private func checkPatience(_ now: Int64) throws(RunError) {
    guard absence == nil, isRunning, now - lastArrival > settings.timeout.nanosecondCount else {
      return
    }
    let seconds = Double((now - lastArrival) / 100_000_000) / 10
    throw RunError(
      .failed,
      "\(title) has given no sound for \(seconds.settingText) s: check its cable, or the program that "
        + "feeds it")
  }

  /// Throws if the microphone is away: what was asked for after that is silence.
  public func close() throws(RunError) {
    device?.stop()
    device = nil
    guard failure == nil, let absence else { return }
    let seconds = (Double((monotonicNow() - absence.since) / 100_000_000) / 10).settingText
    throw RunError(
      .failed, "\(title) was unplugged \(seconds) s ago and is not back: plug it in and start again"
    )
  }

  public var notes: [String] { losses.notes(title, replacedTimes: times.replaced) }
}
