/// One thing that a user may choose: its name, where it goes, what is allowed and what it means.
///
/// The default is what `Owner.init()` leaves at the key path, so it is written down once.
public struct Setting<Owner>: Sendable {
  /// What files and options call it: letters, digits, `-` and `_`.
  public let name: String
  /// Shown behind the range; empty for none.
  public let unit: String
  /// What is allowed, as a person would say it: `0 to 1`, `true or false`.
  public var allowed: String { words.allowed() }
  /// The allowed words, if only certain words are allowed; else empty.
  public var choices: [String] { words.choices() }
  /// How it is written in files.
  public var forms: [SettingForm] { words.forms() }
  /// The least and the largest value, as texts, where a range is allowed.
  public var range: (least: String, most: String)? { words.range() }
  private let words: SettingWords
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
  /// Copies the value from one owner to another.
  let copy: @Sendable (Owner, inout Owner) -> Void
  /// Whether it is the setting of a property.
  let isAt: @Sendable (PartialKeyPath<Owner>) -> Bool
  private let readName: @Sendable (Owner) -> (any FileName)?
  let changeName: @Sendable (inout Owner, (inout any FileName) -> Void) -> Void

  /// This setting of a stage, which may also be changed while the run goes on: see `Stage.retune`.
  public var live: Setting {
    var setting = self
    setting.isLive = true
    return setting
  }

  /// A number or a duration within `range`, both ends included. A value outside is refused by an error that
  /// names the range: "patience=9ms is not allowed: give 10ms to 60s with its unit".
  ///
  ///     Setting("patience", \.patience, range: .milliseconds(10) ... .seconds(60), "before it is told")
  ///
  /// `unit` is shown in help and errors; a `Duration` has none, since its unit is typed: `500ms`, `2s`.
  public init<Value: SettingValue & Comparable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable,
    range: ClosedRange<Value>, unit: String = "", _ text: String
  ) {
    let bounds = { @Sendable in (range.lowerBound.settingText, range.upperBound.settingText) }
    self.init(
      name, path,
      SettingWords(
        Value.self, allowed: { "\(bounds().0) to \(bounds().1)\(Value.unitNote)" },
        range: { bounds() }),
      unit: unit, text
    ) { range.contains($0) }
  }

  /// A number or a duration within `range`, or none: what `auto` stands for.
  public init<Value: SettingValue & Comparable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value?> & Sendable,
    range: ClosedRange<Value>, unit: String = "", _ text: String
  ) {
    let bounds = { @Sendable in (range.lowerBound.settingText, range.upperBound.settingText) }
    self.init(
      name, path,
      SettingWords(
        Value?.self, allowed: { "\(bounds().0) to \(bounds().1)\(Value.unitNote), or auto" },
        range: { bounds() }),
      unit: unit, text
    ) { $0.map(range.contains) ?? true }
  }

  /// Any value that `Value` can spell.
  public init<Value: SettingValue>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable, unit: String = "",
    _ text: String
  ) {
    self.init(
      name, path, SettingWords(Value.self, allowed: { Value.allowed }), unit: unit, text
    ) { _ in true }
  }

  /// The name of a file that is written, or, with another `use`, of a folder, or of something that is no
  /// file. A name may have the place `{source}`,
  /// unless it is shared by all sources of a run.
  public init(
    _ name: String, _ path: any WritableKeyPath<Owner, OutputName> & Sendable,
    places: [String] = [], use: FileUse? = .written, isShared: Bool = false, _ text: String
  ) {
    let all = (isShared ? [] : ["source"]) + places
    var words = SettingWords(OutputName.self) {
      let shown = all.map { "{\($0)}" }.joined(separator: ", ")
      return all.isEmpty
        ? "a name without places; a brace is written twice, as {{"
        : "a name; its places are \(shown), and a brace is written twice, as {{"
    }
    words.forms = {
      let places = all.isEmpty ? "" : "|\\{(\(all.joined(separator: "|")))\\}"
      return [
        .number(isWhole: false), .flag, .text(pattern: "([^{}]|\\{\\{|\\}\\}\(places))*"),
      ]
    }
    self.init(name, path, words, unit: "", text, use: use, places: all) {
      $0.places.allSatisfy(all.contains)
    }
  }

  private init<Value: SettingValue>(
    _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable, _ words: SettingWords,
    unit: String, _ text: String, use: FileUse? = Value.self == InputName.self ? .read : nil,
    places: [String] = [], isAllowed: @escaping @Sendable (Value) -> Bool
  ) {
    self.name = name
    self.unit = unit
    self.words = words
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
          name: name, given: given, allowed: words.allowed(), unit: unit,
          near: Self.near(given, Value.choices, places))
      }
      return { owner in owner[keyPath: path] = value }
    }
    readText = { $0[keyPath: path].settingText }
    copy = { other, owner in owner[keyPath: path] = other[keyPath: path] }
    isAt = { $0 == path }
  }

  /// The same setting of a type that has an `Owner` as a part.
  public func within<Whole>(_ path: any WritableKeyPath<Whole, Owner> & Sendable) -> Setting<Whole>
  {
    Setting<Whole>(self, path)
  }

  private init<Part>(_ part: Setting<Part>, _ path: any WritableKeyPath<Owner, Part> & Sendable) {
    (name, unit, words) = (part.name, part.unit, part.words)
    (text, isLive) = (part.text, part.isLive)
    (use, places) = (part.use, part.places)
    let (parse, read, copyPart) = (part.parseText, part.readText, part.copy)
    let (readPart, changePart) = (part.readName, part.changeName)
    readName = { readPart($0[keyPath: path]) }
    changeName = { owner, change in changePart(&owner[keyPath: path], change) }
    parseText = { (given: String) throws(SettingError) in
      let store = try parse(given)
      return { owner in store(&owner[keyPath: path]) }
    }
    readText = { read($0[keyPath: path]) }
    copy = { other, owner in copyPart(other[keyPath: path], &owner[keyPath: path]) }
    isAt = { _ in false }
  }

  /// What was most likely meant by a text that is not allowed.
  private static func near(_ text: String, _ words: [String], _ places: [String]) -> String? {
    if let word = nearestName(to: text, among: words) { return word }
    let wrong = OutputName(settingText: text)?.places.first { !places.contains($0) }
    return wrong.flatMap { nearestName(to: $0, among: places) }.map { "{\($0)}" }
  }

  /// Sets the value that a user typed. Throws if it is not allowed, and then changes nothing.
  public func apply(_ text: String, to owner: inout Owner) throws(SettingError) {
    try parseText(text)(&owner)
  }

  /// The path of the file that it names; `nil` if it names none.
  func path(in owner: Owner) -> String? { readName(owner)?.path }

  /// The value as a user would type it.
  public func read(from owner: Owner) -> String { readText(owner) }
}

/// What is said of a setting, made when it is asked for: a run reads few of a program's settings.
private struct SettingWords: Sendable {
  let allowed: @Sendable () -> String
  let choices: @Sendable () -> [String]
  var forms: @Sendable () -> [SettingForm]
  let range: @Sendable () -> (least: String, most: String)?

  init<Value: SettingValue>(
    _ type: Value.Type, allowed: @escaping @Sendable () -> String,
    range: @escaping @Sendable () -> (least: String, most: String)? = { nil }
  ) {
    (self.allowed, self.range) = (allowed, range)
    choices = { Value.choices }
    forms = { Value.forms }
  }
}

/// A value that does not fit its setting.
public struct SettingError: Error, Sendable, CustomStringConvertible {
  public let name: String
  public let given: String
  /// What may be given, as a person would say it.
  public let allowed: String
  /// Empty for none.
  public let unit: String
  /// What was most likely meant.
  public var near: String?

  public var description: String {
    let question = near.map { "; did you mean `\($0)`? " } ?? ": "
    return
      "\(name)=\(given) is not allowed\(question)give \(allowed)\(unit.isEmpty ? "" : " (\(unit))")"
  }
}
