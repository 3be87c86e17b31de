/// A type that has one spelling on the command line.
public protocol SettingValue: Sendable {
  /// Reads what a user typed; `nil` if it is not allowed.
  init?(settingText: String)
  /// The value as a user would type it: `init(settingText:)` reads it back.
  var settingText: String { get }
  /// What may be typed, as a person would say it.
  static var allowed: String { get }
  /// The allowed words, if only certain words are allowed; empty by default.
  static var choices: [String] { get }
  /// How it is written in files, for schemas. By default one of `choices`, or any text.
  static var forms: [SettingForm] { get }
}

extension SettingValue {
  /// What is said behind a range: that a unit is part of the value.
  static var unitNote: String { Self.self == Duration.self ? " with its unit" : "" }
  public static var choices: [String] { [] }
  public static var forms: [SettingForm] {
    choices.isEmpty ? [.text(pattern: nil)] : [.words(choices)]
  }
}

extension Double: SettingValue {
  public init?(settingText: String) {
    guard let value = Double(settingText), value.isFinite else { return nil }
    self = value
  }
  public var settingText: String {
    self == rounded() && magnitude < 1e15 ? "\(Int64(self))" : "\(self)"
  }
  public static var allowed: String { "a number" }
  public static var forms: [SettingForm] { [.number(isWhole: false)] }
}

extension Int: SettingValue {
  public init?(settingText: String) { self.init(settingText) }
  public var settingText: String { "\(self)" }
  public static var allowed: String { "a whole number" }
  public static var forms: [SettingForm] { [.number(isWhole: true)] }
}

extension UInt64: SettingValue {
  public init?(settingText: String) { self.init(settingText) }
  public var settingText: String { "\(self)" }
  public static var allowed: String { "a whole number, 0 or more" }
  public static var forms: [SettingForm] { [.number(isWhole: true)] }
}

extension Bool: SettingValue {
  public init?(settingText: String) {
    switch settingText {
    case "true", "on", "yes", "1": self = true
    case "false", "off", "no", "0": self = false
    default: return nil
    }
  }
  public var settingText: String { self ? "true" : "false" }
  public static var allowed: String { "true or false" }
  public static var choices: [String] { ["true", "false"] }
  public static var forms: [SettingForm] { [.flag] }
}

/// A value that is chosen by the program where the user leaves it open.
extension Optional: SettingValue where Wrapped: SettingValue {
  public init?(settingText: String) {
    if settingText == "auto" {
      self = .none
    } else if let value = Wrapped(settingText: settingText) {
      self = .some(value)
    } else {
      return nil
    }
  }
  public var settingText: String { map(\.settingText) ?? "auto" }
  public static var allowed: String { Wrapped.allowed + ", or auto" }
  public static var choices: [String] {
    Wrapped.choices.isEmpty ? [] : Wrapped.choices + ["auto"]
  }
  public static var forms: [SettingForm] { Wrapped.forms + [.words(["auto"])] }
}

extension String: SettingValue {
  public init?(settingText: String) { self = settingText }
  public var settingText: String { self }
  public static var allowed: String { "text" }
}

/// Durations are spelled `500ms`, `2s`, `1.5s`, `40us`, `5m`, `1h`, wherever one is asked for. A bare
/// number is refused: some would mean seconds by it, others milliseconds.
extension Duration: SettingValue {
  public init?(settingText: String) {
    let units: [(suffix: String, nanoseconds: Double)] = [
      ("ms", 1e6), ("us", 1e3), ("ns", 1), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
    ]
    for unit in units where settingText.hasSuffix(unit.suffix) {
      guard let value = Double(settingText.dropLast(unit.suffix.count)), value.isFinite,
        value >= 0, value * unit.nanoseconds < 9e18
      else { continue }
      self = .nanoseconds(Int64((value * unit.nanoseconds).rounded()))
      return
    }
    return nil
  }
  public var settingText: String {
    let nanoseconds = nanosecondCount
    if nanoseconds % 1_000_000_000 == 0 { return "\(nanoseconds / 1_000_000_000)s" }
    if nanoseconds % 1_000_000 == 0 { return "\(nanoseconds / 1_000_000)ms" }
    if nanoseconds % 1_000 == 0 { return "\(nanoseconds / 1_000)us" }
    return "\(nanoseconds)ns"
  }
  public static var allowed: String { "a duration with its unit, such as 500ms, 2s or 5m" }
  public static var forms: [SettingForm] {
    [.text(pattern: "[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)")]
  }

  /// Whole nanoseconds; a duration of over 292 years saturates.
  public var nanosecondCount: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product &+ attoseconds / 1_000_000_000
  }
}

/// A closed set of words: an enumeration of strings needs only to be declared one.
extension SettingValue where Self: RawRepresentable & CaseIterable, RawValue == String {
  public init?(settingText: String) { self.init(rawValue: settingText) }
  public var settingText: String { rawValue }
  public static var allowed: String { choices.joined(separator: ", ") }
  public static var choices: [String] { allCases.map(\.rawValue) }
}

extension PixelFormat: SettingValue {
  public init?(settingText: String) { self.init(fourcc: settingText) }
  public var settingText: String { String(fourcc.filter { $0 != " " }) }
  public static var allowed: String { "one of " + choices.joined(separator: ", ") }
  public static var choices: [String] { allCases.map(\.settingText) }
}
