internal import CSprocketSystem
internal import Glibc

/// SIGINT and SIGTERM, looked at instead of handled.
///
/// While a value lives they are blocked in the thread that made it and in those started after it, so
/// that they wait until `take` asks.
public struct StopSignals: ~Copyable {
  private var signals = sigset_t()
  private var before = sigset_t()

  public init() {
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGINT)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, &before)
  }

  /// A signal that came and was not looked at goes with the run that it was meant to end.
  deinit {
    var none = timespec(tv_sec: 0, tv_nsec: 0)
    var waiting = signals
    while unsafe sigtimedwait(&waiting, nil, &none) > 0 {}
    var mask = before
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// True once for each signal that has come; does not wait.
  public mutating func take() -> Bool {
    var none = timespec(tv_sec: 0, tv_nsec: 0)
    return unsafe sigtimedwait(&signals, nil, &none) > 0
  }
}
