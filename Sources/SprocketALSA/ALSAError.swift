internal import CSprocketALSA
internal import Glibc

/// Why a sound device does not do what it was asked for.
public struct ALSAError: Error, Equatable, Sendable {
  /// What a program can tell apart.
  public enum Code: Equatable, Sendable {
    /// There is no device, and no PCM, of that name.
    case notFound
    case notPermitted
    /// Another program has it.
    case busy
    /// Unplugged, or its driver is gone.
    case gone
    /// It was stopped, because nobody read (`EPIPE`), or by its driver: it has to be started again.
    case stopped
    /// The machine slept meanwhile (`ESTRPIPE`).
    case suspended
    /// The device cannot do that, or not in the state that it is in.
    case refused
    case outOfMemory
    /// The hardware, its driver or a plug-in of ALSA's failed.
    case failed
  }

  public let code: Code
  /// The C function that failed.
  public let operation: String
  /// 0 where no call failed.
  public let errno: Int32
  /// What ALSA calls the device.
  public let name: String

  public init(_ code: Code, operation: String, errno: Int32 = 0, name: String) {
    self.code = code
    self.operation = operation
    self.errno = errno
    self.name = name
  }

  /// The code is made of what a function of ALSA's returned, a negative errno. A device that is to be opened
  /// and of which nothing is known was never there.
  init(operation: String, result: Int32, name: String, isOpening: Bool = false) {
    let number = -result
    let code: Code =
      switch number {
      case ENOENT: .notFound
      case ENODEV, ENXIO: isOpening ? .notFound : .gone
      case EACCES, EPERM: .notPermitted
      case EBUSY, EAGAIN: .busy
      case EPIPE, EBADFD: .stopped
      case ESTRPIPE: .suspended
      case EINVAL, ENOTTY, ERANGE: .refused
      case ENOMEM: .outOfMemory
      default: .failed
      }
    self.init(code, operation: operation, errno: number, name: name)
  }

  /// ALSA's words for ``errno``.
  ///
  /// The corresponding C function is `snd_strerror`.
  public var reason: String {
    guard errno != 0, let text = unsafe snd_strerror(errno) else { return "no error" }
    return unsafe String(cString: text)
  }
}

extension ALSAError: CustomStringConvertible {
  /// A sentence that says what is wrong and what can be done.
  public var description: String {
    switch code {
    case .notFound: "there is no microphone \(name); plug it in; `devices` lists what is there"
    case .notPermitted:
      "you may not use \(name): join the group audio with `sudo usermod -aG audio $USER`, then log "
        + "out and in again"
    case .busy: "\(name) is in use by another program; close that"
    case .gone: "\(name) is gone: it was unplugged, or its driver stopped"
    case .stopped: "\(name) was stopped (\(reason), in \(operation)); start again"
    case .suspended: "\(name) sleeps (\(operation)); start again"
    case .refused: "\(name) refuses \(operation) (\(reason)); its driver cannot do that"
    case .outOfMemory:
      "there is not enough memory for \(name) (\(operation)); ask for a shorter buffer"
    case .failed:
      "\(name) failed (\(reason), in \(operation)); unplug it and plug it in again, or restart the "
        + "sound server that it belongs to"
    }
  }
}
