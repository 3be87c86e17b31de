/// What a run does with the file that a setting names.
public enum FileUse: Sendable, Hashable {
  case read, written
  /// Files within it are written.
  case folder
}

/// A name of a file as a setting's value.
public protocol FileName: SettingValue {
  /// The path, with places as they are spelled.
  var path: String { get }
  /// Lets a relative path begin at a folder.
  mutating func move(to folder: String)
  /// Leaves the last part of the path alone.
  mutating func removeFolder()
}

extension String {
  /// The name of a folder, for a name within it to follow.
  fileprivate var withSlash: String { hasSuffix("/") ? self : self + "/" }
}

extension FileName {
  /// Whether it is none, standard input or output, or begins at the root.
  fileprivate var isPlaced: Bool { path.isEmpty || path == "-" || path.hasPrefix("/") }
}

/// The name of a file that is read. It is taken as it is.
public struct InputName: Hashable, FileName, ExpressibleByStringLiteral {
  public var path: String

  public init(_ path: String) { self.path = path }
  public init(stringLiteral path: String) { self.path = path }
  public init?(settingText: String) { path = settingText }

  public var settingText: String { path }
  public static var allowed: String { "the name of a file" }

  public mutating func move(to folder: String) {
    if !isPlaced { path = folder.withSlash + path }
  }

  public mutating func removeFolder() { path = String(path.split(separator: "/").last ?? "") }
}

/// The name of a file that is written, or of many: it may have places, such as `{n}`, which the sink fills,
/// and `{source}`, which the run fills with the label of the source. A brace of the name itself is written
/// twice: `{{`, `}}`.
public struct OutputName: Hashable, FileName, ExpressibleByStringLiteral {
  /// A piece of the name: text, or a place between braces.
  public enum Part: Sendable, Hashable {
    case text(String)
    /// The word between the braces.
    case place(String)
  }

  public private(set) var parts: [Part] = []

  /// No name.
  public init() {}

  /// A name without places.
  public init(literal path: String) { if !path.isEmpty { parts = [.text(path)] } }

  /// The name that a pattern stands for. Braces that are no place are taken as they are.
  public init(_ pattern: String) { self = Self(settingText: pattern) ?? Self(literal: pattern) }

  public init(stringLiteral pattern: String) { self.init(pattern) }

  public init?(settingText: String) {
    var text = ""
    var rest = settingText[...]
    while let next = rest.popFirst() {
      guard next == "{" || next == "}" else {
        text.append(next)
        continue
      }
      if rest.first == next {
        rest.removeFirst()
        text.append(next)
        continue
      }
      guard next == "{", let end = rest.firstIndex(of: "}") else { return nil }
      let word = rest[..<end]
      guard !word.isEmpty, word.allSatisfy({ $0.isLetter || $0 == "_" }) else { return nil }
      if !text.isEmpty { parts.append(.text(text)) }
      text = ""
      parts.append(.place(String(word)))
      rest = rest[rest.index(after: end)...]
    }
    if !text.isEmpty { parts.append(.text(text)) }
  }

  public var settingText: String {
    parts.map { part in
      switch part {
      case .text(let text): text.replacing("{", with: "{{").replacing("}", with: "}}")
      case .place(let word): "{\(word)}"
      }
    }.joined()
  }

  public static var allowed: String {
    "the name of a file; a brace of the name is written twice, as {{"
  }

  public var isEmpty: Bool { parts.isEmpty }

  public var path: String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .place(let word): "{\(word)}"
      }
    }.joined()
  }

  public var places: [String] {
    parts.compactMap { if case .place(let word) = $0 { word } else { nil } }
  }

  /// Returns the name with a text in a place.
  public func filled(_ place: String, with text: String) -> OutputName {
    var name = self
    name.parts = Self.merged(parts.map { $0 == .place(place) ? .text(text) : $0 })
    return name
  }

  /// The parts with texts that touch as one, so that equal names are equal values.
  private static func merged(_ parts: [Part]) -> [Part] {
    parts.reduce(into: []) { merged, part in
      if case .text(let text) = part, case .text(let before) = merged.last {
        merged[merged.count - 1] = .text(before + text)
      } else {
        merged.append(part)
      }
    }
  }

  public mutating func move(to folder: String) {
    if !isPlaced { parts = Self.merged([.text(folder.withSlash)] + parts) }
  }

  public mutating func removeFolder() {
    let text = settingText
    self = OutputName(
      text.lastIndex(of: "/").map { String(text[text.index(after: $0)...]) } ?? text)
  }
}

extension KindSettings {
  /// The files that the settings name, with their settings and uses.
  public var files: [(setting: String, use: FileUse, path: String)] {
    Self.settings.compactMap { setting in
      guard let use = setting.use, let path = setting.path(in: self), !path.isEmpty else {
        return nil
      }
      return (setting.name, use, path)
    }
  }

  /// Lets relative names of files begin at a folder.
  public mutating func moveFiles(to folder: String) {
    for setting in Self.settings where setting.use != nil {
      setting.changeName(&self) { $0.move(to: folder) }
    }
  }

  package mutating func removeFolders() {
    for setting in Self.settings where setting.use != nil {
      setting.changeName(&self) { $0.removeFolder() }
    }
  }

  /// Clears the settings that name an output, if `isUnwanted` is true for the name. By default clears all.
  package mutating func removeOutputNames(where isUnwanted: (String) -> Bool = { _ in true }) {
    for setting in Self.settings {
      setting.changeName(&self) { if $0 is OutputName, isUnwanted($0.path) { $0 = OutputName() } }
    }
  }

  /// Fills a place of all names that are written.
  public mutating func fill(_ place: String, with text: String) {
    for setting in Self.settings where !setting.places.isEmpty {
      setting.changeName(&self) { name in
        if let output = name as? OutputName { name = output.filled(place, with: text) }
      }
    }
  }
}
