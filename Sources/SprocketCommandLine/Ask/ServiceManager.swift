internal import Glibc
internal import Sprocket
internal import SprocketShare

/// Reports the run's state to a service manager, such as systemd, by the protocol of `sd_notify(3)`: one
/// datagram per message, to the socket that `NOTIFY_SOCKET` names.
final class ServiceManager {
  private let descriptor: Int32
  private let address: SocketAddress
  /// Nanoseconds between two messages to the watchdog (`WATCHDOG_USEC`); `nil` if there is no watchdog.
  private let interval: Int64?
  private var isStopping = false
  private var lastSign: Int64 = 0
  private var lastFrames: [UInt64?] = []

  /// `nil` if the program has no service manager.
  init?() {
    guard let name = Self.environment("NOTIFY_SOCKET"), let address = SocketAddress(path: name)
    else {
      return nil
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    self.address = address
    // Half of the time after which the manager restarts a silent program.
    let watchdog = Self.environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    interval = 1...1_000_000_000_000 ~= watchdog ? watchdog * 1000 / 2 : nil
  }

  deinit { close(descriptor) }

  private static func environment(_ name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  func tellReady() { send("READY=1\nSTATUS=running") }

  /// Reports the end, once.
  func tellStopping() {
    guard !isStopping else { return }
    isStopping = true
    send("STOPPING=1\nSTATUS=stopping")
  }

  /// Sends a message to the watchdog, but only while frames of each source come: if a camera hangs, the
  /// program is to be restarted. `frames` are those that each source has produced; `nil` for one that is
  /// over, or has no pictures.
  func showProgress(frames: [UInt64?]) {
    guard let interval, frames.contains(where: { $0 != nil }),
      !zip(frames, lastFrames).contains(where: { $0 != nil && $0 == $1 })
    else { return }
    let now = monotonicNow()
    guard now - lastSign >= interval else { return }
    (lastSign, lastFrames) = (now, frames)
    send("WATCHDOG=1\nSTATUS=\(frames.reduce(0) { $0 + ($1 ?? 0) }) frames")
  }

  /// The corresponding C function is `sendto`. Ignores errors: the run goes on without the manager.
  private func send(_ text: String) {
    var bytes = Array(text.utf8)
    unsafe address.withPointer { pointer, length in
      _ = unsafe sendto(
        descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), pointer,
        length)
    }
  }
}
