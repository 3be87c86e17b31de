/// One thing that a user may choose: its name, where it goes, what is allowed and what it means.
///
/// The default is what `Owner.init()` leaves at the key path, so it is written down once.
public struct Setting<Owner>: Sendable {
  public let name: String
  public let unit: String
  /// What is allowed, as a person would say it: `0 to 1`, `true or false`.
  public let allowed: String
  /// The allowed words, if only certain words are allowed; else empty.
  public let choices: [String]
  /// How it is written in files.
  public private(set) var forms: [SettingForm]
  /// The least and the largest value, as texts, where a range is allowed.
  public private(set) var range: (least: String, most: String)?
  /// One line.
  public let text: String
  /// Whether it may be changed while the run goes on (`live`).
  public private(set) var isLive = false
  /// What a run does with the file that it names; `nil` if it names none.
  public let use: FileUse?
  /// The places that a name may have.
  public let places: [String]
  let parseText: @Sendable (String) throws(SettingError) -> @Sendable (inout Owner) -> Void
  let readText: @Sendable (Owner) -> String
  private let readName: @Sendable (Owner) -> (any FileName)?
  let changeName: @Sendable (inout Owner, (inout any FileName) -> Void) -> Void

  /// This setting of a stage, which may also be changed while the run goes on: see `Stage.retune`.
  public var live: Setting {
    var setting = self
    setting.isLive = true
    return setting
  }

  /// A number within `range`.
  public init<Value: SettingValue & Comparable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable,
    range: ClosedRange<Value>, unit: String = "", _ text: String
  ) {
    self.init(
      name, path, allowed: "\(range.lowerBound.settingText) to \(range.upperBound.settingText)",
      unit: unit, text
    ) { range.contains($0) }
    self.range = (range.lowerBound.settingText, range.upperBound.settingText)
  }

  /// A number within `range`, or none: what `auto` stands for.
  public init<Value: SettingValue & Comparable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value?> & Sendable,
    range: ClosedRange<Value>, unit: String = "", _ text: String
  ) {
    let (least, most) = (range.lowerBound.settingText, range.upperBound.settingText)
    self.init(name, path, allowed: "\(least) to \(most), or auto", unit: unit, text) {
      $0.map(range.contains) ?? true
    }
    self.range = (least, most)
  }

  /// Any value that `Value` can spell.
  public init<Value: SettingValue>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable, unit: String = "",
    _ text: String
  ) {
    self.init(name, path, allowed: Value.allowed, unit: unit, text) { _ in true }
  }

  /// The name of a file that is written, or, with another `use`, of a folder, or of something that is no
  /// file. A name may have the place `{source}`,
  /// unless it is shared by all sources of a run.
  public init(
    _ name: String, _ path: any WritableKeyPath<Owner, OutputName> & Sendable,
    places: [String] = [], use: FileUse? = .written, isShared: Bool = false, _ text: String
  ) {
    let all = (isShared ? [] : ["source"]) + places
    let shown = all.map { "{\($0)}" }.joined(separator: ", ")
    self.init(
      name, path,
      allowed: all.isEmpty
        ? "a name without places; a brace is written twice, as {{"
        : "a name; its places are \(shown), and a brace is written twice, as {{",
      unit: "", text, use: use, places: all
    ) { $0.places.allSatisfy(all.contains) }
    let places = all.isEmpty ? "" : "|\\{(\(all.joined(separator: "|")))\\}"
    forms = [
      .number(isWhole: false), .flag, .text(pattern: "([^{}]|\\{\\{|\\}\\}\(places))*"),
    ]
  }

  init<Value: SettingValue>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable, allowed: String,
    unit: String, _ text: String, use: FileUse? = Value.self == InputName.self ? .read : nil,
    places: [String] = [], isAllowed: @escaping @Sendable (Value) -> Bool
  ) {
    self.name = name
    self.unit = unit
    self.allowed = allowed
    choices = Value.choices
    forms = Value.forms
    self.text = text
    (self.use, self.places) = (use, places)
    readName = { $0[keyPath: path] as? any FileName }
    changeName = { owner, change in
      guard var name = owner[keyPath: path] as? any FileName else { return }
      change(&name)
      if let changed = name as? Value { owner[keyPath: path] = changed }
    }
    parseText = { (given: String) throws(SettingError) in
      guard let value = Value(settingText: given), isAllowed(value) else {
        throw SettingError(
          name: name, given: given, allowed: allowed, unit: unit,
          near: Self.near(given, Value.choices, places))
      }
      return { owner in owner[keyPath: path] = value }
    }
    readText = { $0[keyPath: path].settingText }
  }

  /// The same setting of a type that has an `Owner` as a part.
  public func within<Whole>(_ path: any WritableKeyPath<Whole, Owner> & Sendable) -> Setting<Whole>
  {
    Setting<Whole>(self, path)
  }

  private init<Part>(_ part: Setting<Part>, _ path: any WritableKeyPath<Owner, Part> & Sendable) {
    (name, unit, allowed, choices) = (part.name, part.unit, part.allowed, part.choices)
    (forms, range) = (part.forms, part.range)
    (text, isLive) = (part.text, part.isLive)
    (use, places) = (part.use, part.places)
    let (parse, read) = (part.parseText, part.readText)
    let (readPart, changePart) = (part.readName, part.changeName)
    readName = { readPart($0[keyPath: path]) }
    changeName = { owner, change in changePart(&owner[keyPath: path], change) }
    parseText = { (given: String) throws(SettingError) in
      let store = try parse(given)
      return { owner in store(&owner[keyPath: path]) }
    }
    readText = { read($0[keyPath: path]) }
  }

  /// What was most likely meant by a text that is not allowed.
  private static func near(_ text: String, _ words: [String], _ places: [String]) -> String? {
    if let word = nearestName(to: text, among: words) { return word }
    let wrong = OutputName(settingText: text)?.places.first { !places.contains($0) }
    return wrong.flatMap { nearestName(to: $0, among: places) }.map { "{\($0)}" }
  }

  public func apply(_ text: String, to owner: inout Owner) throws(SettingError) {
    try parseText(text)(&owner)
  }

  /// The path of the file that it names; `nil` if it names none.
  func path(in owner: Owner) -> String? { readName(owner)?.path }

  /// The value as a user would type it.
  public func read(from owner: Owner) -> String { readText(owner) }
}

/// A value that does not fit its setting.
public struct SettingError: Error, Sendable, CustomStringConvertible {
  public let name: String
  public let given: String
  public let allowed: String
  public let unit: String
  /// What was most likely meant.
  public var near: String?

  public var description: String {
    let question = near.map { "; did you mean `\($0)`? " } ?? ": "
    return
      "\(name)=\(given) is not allowed\(question)give \(allowed)\(unit.isEmpty ? "" : " (\(unit))")"
  }
}

/// A type that has one spelling on the command line.
public protocol SettingValue: Sendable {
  init?(settingText: String)
  var settingText: String { get }
  /// What may be typed, as a person would say it.
  static var allowed: String { get }
  /// The allowed words, if only certain words are allowed; empty by default.
  static var choices: [String] { get }
  /// How it is written in files, for schemas. By default one of `choices`, or any text.
  static var forms: [SettingForm] { get }
}

extension SettingValue {
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
