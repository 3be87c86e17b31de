internal import Sprocket

/// A place in a file. Lines and columns count from 1.
public struct Mark: Sendable, Hashable, CustomStringConvertible {
  public let line: Int
  public let column: Int

  public init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

  public var description: String { "line \(line)" }
}

/// What a file of YAML or JSON has, before anybody looks at its meaning. Scalars are texts until the setting
/// that they are for reads them. Trees are equal where their contents are, wherever they stand.
public struct Tree: Sendable, Equatable {
  /// What stands at a place of the file.
  public indirect enum Content: Sendable, Equatable {
    case scalar(Scalar)
    case list([Tree])
    case map([Entry])
  }

  /// A text, a number, `true`, `false` or `null`, as it is written.
  public struct Scalar: Sendable, Equatable {
    public var text: String
    /// Written in quotes, so that it is text and no number.
    public var isQuoted: Bool
    /// A comment follows on the line, which may have been meant as a part of the text.
    public var isCut = false

    public static func == (one: Self, other: Self) -> Bool {
      one.text == other.text && one.isQuoted == other.isQuoted
    }
  }

  /// A key of a map, with its value.
  public struct Entry: Sendable, Equatable {
    public var key: String
    public var mark: Mark?
    public var value: Tree

    public init(_ key: String, _ value: Tree, mark: Mark? = nil) {
      (self.key, self.value, self.mark) = (key, value, mark)
    }

    public static func == (one: Self, other: Self) -> Bool {
      one.key == other.key && one.value == other.value
    }
  }

  public var content: Content
  public var mark: Mark?

  public init(_ content: Content, mark: Mark? = nil) { (self.content, self.mark) = (content, mark) }

  /// A text, a number, `true` or `false`.
  public init(_ text: String, isQuoted: Bool) {
    self.init(.scalar(Scalar(text: text, isQuoted: isQuoted)))
  }

  public static func == (one: Tree, other: Tree) -> Bool { one.content == other.content }

  /// Nothing is written there, or `null`: the default is meant.
  public var isNull: Bool {
    guard case .scalar(let scalar) = content, !scalar.isQuoted else { return false }
    return ["", "~", "null"].contains(scalar.text)
  }

  /// The values of a map by their keys; `nil` where it is no map.
  public var entries: [Entry]? { if case .map(let entries) = content { entries } else { nil } }

  /// Where the value of a setting of a run stands, or as much of its path as does; `source` is the label of
  /// the source that it is of.
  func mark(of path: SettingPath, _ source: String?) -> Mark? {
    if let own = source.flatMap({ self["sources"]?[$0] }) {
      let inner = path.steps.first == "source" ? Array(path.steps.dropFirst()) : path.steps
      if inner.isEmpty { return own.mark }
      if let mark = own.mark(inner) { return mark }
    }
    return mark(path.steps)
      ?? (path == .source ? entries?.first { $0.key == "sources" }?.mark : nil)
  }

  /// `nil` where not even the first step is there.
  private func mark(_ steps: [String]) -> Mark? {
    guard let step = steps.first else { return nil }
    let found: Mark?
    let next: Tree?
    switch content {
    case .map(let entries):
      let entry = entries.first { $0.key == step }
      (found, next) = (entry?.mark, entry?.value)
    case .list(let items):
      next = items.first { item in
        item["kind"]?.text ?? item.text == step || item[step] != nil
      }
      found = next?.mark
    case .scalar: return nil
    }
    guard let next else { return nil }
    // Below a kind's name there is one level more: `{meter: {mode: spot}}`.
    let inner = next[step] ?? next
    return next.mark(Array(steps.dropFirst())) ?? inner.mark(Array(steps.dropFirst())) ?? found
  }

  /// The text of a scalar.
  private var text: String? { if case .scalar(let scalar) = content { scalar.text } else { nil } }

  public subscript(key: String) -> Tree? { entries?.first { $0.key == key }?.value }
}

/// A file cannot be read as a tree.
public struct TreeError: Error, Sendable, CustomStringConvertible {
  public let mark: Mark?
  /// What is wrong, and what to do.
  public let problem: String

  public var description: String { mark.map { "\($0): \(problem)" } ?? problem }
}

/// What bounds a file that may be hostile.
public struct TreeBounds: Sendable {
  /// Most bytes of a file. Larger: a wrong file is refused later.
  public let bytes: Int
  /// Most values. Larger: a hostile file takes more memory.
  let values: Int
  /// Deepest nesting, 32: a run has 6. Larger: a hostile file uses more of the stack.
  static let depth = 32

  /// 1 MiB and 20,000 values: a run has some hundred.
  public static let description = Self(bytes: 1 << 20, values: 20_000)
  /// 64 MiB and 2,000,000 values: a summary of 64 sources with histograms has 50,000.
  public static let summary = Self(bytes: 64 << 20, values: 2_000_000)

  func check(_ bytes: [UInt8]) throws(TreeError) {
    guard bytes.count > self.bytes else { return }
    throw TreeError(
      mark: nil,
      problem: "the file has more than \(self.bytes >> 20) MiB; it is no description of a run")
  }
}

/// Counts values, and how deep they lie.
struct TreeCount {
  private let bounds: TreeBounds
  private var values = 0
  private(set) var depth = 0

  init(_ bounds: TreeBounds = .description) { self.bounds = bounds }

  mutating func add(_ mark: Mark) throws(TreeError) {
    values += 1
    guard values > bounds.values else { return }
    throw TreeError(mark: mark, problem: "there are more than \(bounds.values) values")
  }

  mutating func enter(_ mark: Mark) throws(TreeError) {
    try add(mark)
    depth += 1
    guard depth > TreeBounds.depth else { return }
    throw TreeError(mark: mark, problem: "values lie more than \(TreeBounds.depth) deep")
  }

  mutating func leave() { depth -= 1 }
}

extension [Tree.Entry] {
  /// Adds a value; throws if there is one of that name.
  mutating func add(_ entry: Tree.Entry) throws(TreeError) {
    if let first = first(where: { $0.key == entry.key }) {
      let place = first.mark.map { ", first in \($0)" } ?? ""
      throw TreeError(
        mark: entry.mark, problem: "`\(entry.key)` is given twice\(place); give it once")
    }
    append(entry)
  }
}
