public import SprocketCore

/// How a file's sound follows the picture's clock.
public enum AudioSync: String, Sendable, CaseIterable, SettingValue {
  /// Bit for bit until it is 3 ms off, then corrected to the file's end.
  case auto
  /// Never corrected.
  case exact
}
