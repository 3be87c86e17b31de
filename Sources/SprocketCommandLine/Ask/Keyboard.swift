internal import Glibc
internal import Sprocket

/// Reads single keys from the terminal, without echo. Restores the terminal when it is destroyed, or when the
/// program ends early (`restore`).
struct Keyboard: ~Copyable {
  /// The terminal's settings before the run; `nil` if there is nothing to restore.
  private static let before = Locked<Settings?>(nil)

  private struct Settings: Sendable {
    var terminal: termios
  }

  /// `nil` if standard input is no terminal, or the program runs in the background.
  init?() {
    var settings = termios()
    guard isatty(0) == 1, tcgetpgrp(0) == getpgrp(), unsafe tcgetattr(0, &settings) == 0 else {
      return nil
    }
    Self.before.withLock { $0 = Settings(terminal: settings) }
    Self.takeSingleKeys(settings)
  }

  deinit { Self.restore() }

  private static func takeSingleKeys(_ settings: termios) {
    var settings = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe tcsetattr(0, TCSANOW, &settings)
  }

  /// Restores the terminal's settings.
  static func restore() {
    // In the background the kernel would stop the program here, and the shell has restored the terminal.
    guard tcgetpgrp(0) == getpgrp(), var settings = before.withLock({ $0.take() }) else { return }
    unsafe tcsetattr(0, TCSANOW, &settings.terminal)
  }

  /// The next key that was pressed; `nil` if there is none. Does not wait.
  func take() -> Character? {
    // The shell restores the terminal when the program is stopped (Ctrl-Z): single keys are set again.
    if let settings = Self.before.withLock({ $0 }) {
      var now = termios()
      if unsafe tcgetattr(0, &now) == 0, now.c_lflag & tcflag_t(ICANON) != 0,
        tcgetpgrp(0) == getpgrp()
      {
        Self.takeSingleKeys(settings.terminal)
      }
    }
    var request = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    guard tcgetpgrp(0) == getpgrp(), unsafe poll(&request, 1, 0) == 1,
      request.revents & Int16(POLLIN) != 0
    else { return nil }
    var byte: UInt8 = 0
    guard unsafe read(0, &byte, 1) == 1 else { return nil }
    return Character(UnicodeScalar(byte))
  }
}
