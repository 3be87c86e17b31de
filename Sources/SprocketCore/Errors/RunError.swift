/// A source, a sink or a run cannot do what was asked, or failed.
public struct RunError: Error, Sendable, CustomStringConvertible {
  /// Whose fault it is, and whether anything is wrong.
  public enum Code: Sendable {
    /// The request is wrong: a missing file, a format that is not offered, a path that cannot be written.
    case usage
    /// The request is right, and this machine cannot do it: a full disk, a device that is not there, is in
    /// use, or was unplugged.
    case failed
    /// Of a source: `interrupt` was called, and nothing is wrong.
    case interrupted
    /// Of a sink: its reader went away. It ends without an error.
    case readerGone
  }

  /// Whose fault it is.
  public let code: Code
  /// One sentence: what is wrong, and what can be done.
  public let description: String
  /// The settings to change.
  public let settings: [SettingPath]
  /// The value that is not allowed, if that is the error.
  public let refused: RefusedValue?
  /// Why a device could not be opened, if that is the error.
  public let device: DeviceRefusal?

  /// An error with its sentence: what is wrong, and what can be done. The command line names the options of
  /// `settings` behind it.
  public init(_ code: Code, _ description: String, change settings: SettingPath...) {
    self.init(code, description, settings)
  }

  /// `settings` are those of the error that this one tells of.
  public init(_ code: Code, _ description: String, _ settings: [SettingPath]) {
    (self.code, self.description, self.settings) = (code, description, settings)
    (device, refused) = (nil, nil)
  }

  /// A device cannot be opened.
  public init(_ device: DeviceRefusal, _ description: String, _ settings: [SettingPath]) {
    (code, self.description, self.settings) = (.failed, description, settings)
    (self.device, refused) = (device, nil)
  }

  /// The error of a part of a run, with the part's name before the sentence unless that begins with it.
  package init(_ error: RunError, of name: String) {
    (code, settings) = (error.code, error.settings)
    (refused, device) = (error.refused, error.device)
    let isNamed = [": ", " "].contains { error.description.hasPrefix(name + $0) }
    description = isNamed ? error.description : "\(name): \(error.description)"
  }

  /// What `body` throws.
  package static func thrown(by body: () throws(RunError) -> Void) -> [RunError] {
    do throws(RunError) { try body() } catch { return [error] }
    return []
  }

  /// A setting of `owner`, such as "the stage focus", does not take a value.
  public init(refused error: SettingError, at path: SettingPath, of owner: String) {
    (code, description, settings) = (.usage, "\(owner): \(error)", [path])
    device = nil
    refused = RefusedValue(path: path, error: error)
  }
}

/// Why a device cannot be opened.
public enum DeviceRefusal: Sendable, Hashable {
  case notFound, notPermitted, inUse
}
