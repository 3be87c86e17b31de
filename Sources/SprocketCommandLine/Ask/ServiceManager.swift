internal import Glibc
internal import Sprocket

/// Tells a service manager, such as systemd, how the run does: by the protocol of `sd_notify(3)`, which is
/// one datagram per message to the socket that `NOTIFY_SOCKET` names. Does nothing if there is none.
final class ServiceManager {
  private let descriptor: Int32
  private let address: SocketAddress
  /// Nanoseconds between two messages to the watchdog; `nil` if there is none (`WATCHDOG_USEC`).
  private let interval: Int64?
  private var isStopping = false
  private var lastSign: Int64 = 0
  private var lastFrames: UInt64 = 0

  init?() {
    guard let name = Self.environment("NOTIFY_SOCKET"), let address = SocketAddress(path: name)
    else {
      return nil
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    self.address = address
    // Half of the time after which the manager would restart the program.
    let watchdog = Self.environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    interval = 1...1_000_000_000_000 ~= watchdog ? watchdog * 1000 / 2 : nil
  }

  deinit { close(descriptor) }

  private static func environment(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  func tellReady() { send("READY=1\nSTATUS=running") }

  /// Once.
  func tellStopping() {
    guard !isStopping else { return }
    isStopping = true
    send("STOPPING=1\nSTATUS=stopping")
  }

  /// Shows the watchdog a sign of life, but only while frames come: a camera that hangs is worth a restart.
  func showProgress(_ progress: Progress) {
    guard let interval, progress.produced != lastFrames else { return }
    let now = monotonicNow()
    guard now - lastSign >= interval else { return }
    (lastSign, lastFrames) = (now, progress.produced)
    send("WATCHDOG=1\nSTATUS=\(progress.produced) frames")
  }

  /// The corresponding C function is `sendto`. A manager that does not listen is no reason to fail.
  private func send(_ text: String) {
    var bytes = Array(text.utf8)
    unsafe address.withPointer { pointer, length in
      _ = unsafe sendto(
        descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), pointer,
        length)
    }
  }
}
