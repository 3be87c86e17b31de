/// A form of a value in files.
public enum SettingForm: Sendable, Hashable {
  case number(isWhole: Bool)
  case flag
  case words([String])
  /// A regular expression (ECMA-262) that the whole text fits; `nil`: any text.
  case text(pattern: String?)
}
