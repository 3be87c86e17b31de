internal import Sprocket

/// Why a session, a device or an output did not do what it was asked for.
public struct CaptureError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public enum Code: Sendable, Hashable {
    /// The user may not open the device.
    case notAuthorized
    /// There is no such device, or it was unplugged.
    case deviceNotFound
    /// Another program has the device.
    case deviceInUse
    /// The session has an input for that kind of media already, or the input itself.
    case inputRefused
    case outputRefused
    /// The session has nothing to capture from.
    case noInput
    /// The device does not offer the preset; `alternative` is the nearest that it offers.
    case presetUnsupported
    case formatUnsupported
    /// The device has no such control, or cannot be set that way.
    case controlUnsupported
    case valueOutOfRange
    /// The output is not part of a running session.
    case notRunning
    /// Settings contradict each other, or what the output offers.
    case settingsRefused
    /// The output has such a request under way.
    case busy
    /// A file cannot be written.
    case fileRefused
    /// A limit of time, size or free space was reached.
    case limitReached
    /// The session changed in a way that ended it.
    case sessionChanged
    /// It took too long.
    case timedOut
    /// It was given up, because the session stopped or changed.
    case cancelled
    /// A device, a disk or an encoder failed.
    case failed
  }

  public let code: Code
  /// One sentence: what is wrong, and what can be done.
  public let description: String
  /// What would be possible instead of a preset.
  public let alternative: SessionPreset?
  /// All refusals, if a configuration was refused for several reasons; the first is this error itself.
  public let refusals: [CaptureError]
  /// Whether a call threw this error of `CaptureSession.runtimeErrors`, too. A program that shows what its
  /// calls throw would show such an error twice.
  public internal(set) var isThrown = false

  public init(_ code: Code, _ description: String, alternative: SessionPreset? = nil) {
    (self.code, self.description, self.alternative) = (code, description, alternative)
    refusals = []
  }

  /// Takes the engine's error and its sentence. `code` is used if the error does not concern a device.
  init(_ error: RunError, _ code: Code = .failed) {
    let device: Code? =
      switch error.device {
      case .notFound: .deviceNotFound
      case .notPermitted: .notAuthorized
      case .inUse: .deviceInUse
      case nil: nil
      }
    self.init(device ?? code, error.description)
  }

  /// The first of several refusals. `nil` if there is none.
  init?(all refusals: [CaptureError]) {
    guard let first = refusals.first else { return nil }
    (code, alternative) = (first.code, first.alternative)
    description = refusals.map(\.description).joined(separator: "; ")
    self.refusals = refusals.count > 1 ? refusals : []
  }
}

/// The answer to a question that changes nothing: yes, or why not.
public enum Answer: Sendable {
  case yes
  case no(CaptureError)

  public var isYes: Bool { reason == nil }

  /// Why not; `nil` for yes.
  public var reason: CaptureError? {
    if case .no(let error) = self { error } else { nil }
  }
}
