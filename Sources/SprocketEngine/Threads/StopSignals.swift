internal import CSprocketSystem
internal import Glibc

/// Reads SIGINT, SIGTERM and SIGHUP, and optionally SIGUSR1 and SIGUSR2, by polling instead of handlers.
///
/// While a value lives they are blocked in the thread that made it and in those started after it,
/// so that they stay pending until `take` reads them.
public struct StopSignals: ~Copyable {
  private var signals = sigset_t()
  private var before = sigset_t()

  private var userSignals = sigset_t()
  private let takesUserSignals: Bool
  private let isForGood: Bool
  private var hasHungUp = false

  /// With `isForGood` they stay blocked after the value is destroyed, for a program that ends then: a
  /// signal must not kill it before its last messages are written. With `takesUserSignals`, SIGUSR1 and
  /// SIGUSR2 are blocked, too, for `takeUserSignal`.
  public init(isForGood: Bool = false, takesUserSignals: Bool = false) {
    self.isForGood = isForGood
    self.takesUserSignals = takesUserSignals
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGINT)
    unsafe sigaddset(&signals, SIGTERM)
    // Under `nohup` SIGHUP is ignored. It is left out, since the kernel keeps even an ignored
    // signal while it is blocked.
    if !Self.isIgnored(SIGHUP) { unsafe sigaddset(&signals, SIGHUP) }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, &before)
    unsafe sigemptyset(&userSignals)
    if takesUserSignals {
      unsafe sigaddset(&userSignals, SIGUSR1)
      unsafe sigaddset(&userSignals, SIGUSR2)
      unsafe pthread_sigmask(SIG_BLOCK, &userSignals, nil)
    }
  }

  /// The corresponding C function is `sigaction`.
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    // Functions cannot be compared, addresses can.
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Discards pending signals: they were meant for the run that has ended.
  deinit {
    var none = timespec()
    var waiting = signals
    while unsafe sigtimedwait(&waiting, nil, &none) > 0 {}
    if isForGood { return }
    var mask = before
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Takes a pending user signal. Returns 1 for SIGUSR1, 2 for SIGUSR2, `nil` if there is none. Does not
  /// wait.
  public mutating func takeUserSignal() -> Int? {
    guard takesUserSignals else { return nil }
    var none = timespec()
    let number = unsafe sigtimedwait(&userSignals, nil, &none)
    return number == SIGUSR1 ? 1 : number == SIGUSR2 ? 2 : nil
  }

  /// True once for each signal that has come; does not wait. Only the first SIGHUP counts: when a
  /// terminal closes, the kernel and the shell may each send one, but it is a single request.
  public mutating func take() -> Bool {
    var none = timespec()
    while true {
      let number = unsafe sigtimedwait(&signals, nil, &none)
      if number != SIGHUP || !hasHungUp {
        if number == SIGHUP { hasHungUp = true }
        return number > 0
      }
    }
  }
}
