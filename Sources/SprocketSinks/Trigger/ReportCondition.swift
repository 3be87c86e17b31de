internal import SprocketCore

/// A condition on the reports of a frame, such as `motion.score > 0.2 and not motion.dark`.
///
/// Fields are `stage.field`, compared with numbers, with words, or with other fields by `<`, `<=`, `>`, `>=`,
/// `==` and `!=`. A field that is true or false is a condition by itself. `not` is evaluated before `and`,
/// `and` before `or`; parentheses change that order. A comparison with an unknown number (a stage made no
/// report) is false.
indirect enum ReportCondition {
  enum Operand {
    case number(Double)
    case field(stage: String, name: String)
    case word(String)
    /// A field that `resolved` has found in the chain's reports.
    case read(ReportLayout, ReportFieldDescription)
  }

  enum Comparison: String, CaseIterable {
    // Longer signs come first, because `<=` begins with `<`.
    case atMost = "<="
    case atLeast = ">="
    case equal = "=="
    case unequal = "!="
    case below = "<"
    case above = ">"

    func holds(_ one: Double, _ other: Double) -> Bool {
      switch self {
      case .atMost: one <= other
      case .atLeast: one >= other
      case .equal: one == other
      case .unequal: one < other || one > other
      case .below: one < other
      case .above: one > other
      }
    }
  }

  case compare(Operand, Comparison, Operand)
  case isTrue(Operand)
  case not(ReportCondition)
  case all(ReportCondition, ReportCondition)
  case any(ReportCondition, ReportCondition)
}

// MARK: Reading the text

extension ReportCondition {
  init(parsing text: String) throws(RunError) {
    var parser = Parser(text: text, rest: Parser.words(text)[...])
    self = try parser.any()
    if let next = parser.rest.first { throw parser.error("`\(next)` is not expected") }
  }

  private struct Parser {
    let text: String
    var rest: ArraySlice<String>

    /// Splits a text into names, numbers and signs.
    static func words(_ text: String) -> [String] {
      var words: [String] = []
      var isName = false
      var rest = text[...]
      while let first = rest.first {
        if first.isLetter || first.isNumber || first == "." || first == "_" || first == "/"
          || first == "-" || first == "+"
        {
          if isName { words[words.count - 1].append(first) } else { words.append(String(first)) }
          isName = true
          rest.removeFirst()
          continue
        }
        isName = false
        let sign = (["&&", "||"] + Comparison.allCases.map(\.rawValue)).first { rest.hasPrefix($0) }
        if !first.isWhitespace { words.append(sign ?? String(first)) }
        rest.removeFirst(sign?.count ?? 1)
      }
      return words
    }

    func error(_ reason: String) -> RunError {
      RunError(
        .usage,
        "the condition `\(text)`: \(reason); write it as `motion.score > 0.2 and not motion.dark`")
    }

    mutating func takes(_ words: String...) -> Bool {
      guard let next = rest.first, words.contains(next) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func any() throws(RunError) -> ReportCondition {
      var found = try all()
      while takes("or", "||") { found = .any(found, try all()) }
      return found
    }

    mutating func all() throws(RunError) -> ReportCondition {
      var found = try one()
      while takes("and", "&&") { found = .all(found, try one()) }
      return found
    }

    mutating func one() throws(RunError) -> ReportCondition {
      // Each `not` and parenthesis is a nested call: the limit protects the stack.
      guard rest.count < 1000 else { throw error("it is too long") }
      if takes("not", "!") { return .not(try one()) }
      if takes("(") {
        let inner = try any()
        guard takes(")") else { throw error("a parenthesis is not closed") }
        return inner
      }
      let left = try operand()
      guard let comparison = rest.first.flatMap({ Comparison(rawValue: $0) }) else {
        return .isTrue(left)
      }
      rest.removeFirst()
      return .compare(left, comparison, try operand())
    }

    mutating func operand() throws(RunError) -> Operand {
      guard let word = rest.popFirst() else { throw error("it ends too early") }
      if let number = Double(word), number.isFinite { return .number(number) }
      guard let first = word.first, first.isLetter else { throw error("`\(word)` is not expected") }
      guard let point = word.firstIndex(of: ".") else { return .word(word) }
      return .field(
        stage: String(word[..<point]), name: String(word[word.index(after: point)...]))
    }
  }
}

// MARK: Finding its fields

extension ReportCondition {
  /// Finds the condition's fields among the reports of a chain. Throws if there is no such field.
  func resolved(_ layouts: [ReportLayout]) throws(RunError) -> ReportCondition {
    switch self {
    case .compare(let left, let comparison, let right):
      let (left, right) = (try left.resolved(layouts), try right.resolved(layouts))
      return .compare(
        try left.asNumber(like: right), comparison, try right.asNumber(like: left))
    case .isTrue(let operand):
      let operand = try operand.resolved(layouts)
      guard case .read(_, let field) = operand, field.kind == .bool else {
        throw RunError(
          .usage, "\(operand.text) is not true or false by itself; compare it, as with `> 0.2`")
      }
      return .isTrue(operand)
    case .not(let inner): return .not(try inner.resolved(layouts))
    case .all(let one, let other):
      return .all(try one.resolved(layouts), try other.resolved(layouts))
    case .any(let one, let other):
      return .any(try one.resolved(layouts), try other.resolved(layouts))
    }
  }
}

extension ReportCondition.Operand {
  var text: String {
    switch self {
    case .number(let number): "\(number)"
    case .field(let stage, let name): "\(stage).\(name)"
    case .word(let word): word
    case .read(let layout, let field): "\(layout.plugin).\(field.name)"
    }
  }

  fileprivate func resolved(_ layouts: [ReportLayout]) throws(RunError) -> Self {
    guard case .field(let stage, let name) = self else { return self }
    guard let layout = layouts.first(where: { $0.plugin == stage }) else {
      let known = layouts.map(\.plugin)
      throw RunError(
        .usage,
        "no stage \(stage) of this run reports; "
          + (known.isEmpty ? "add the stage \(stage)" : knownNames(known, near: stage)))
    }
    guard let field = layout.fields.first(where: { $0.name == name }) else {
      throw RunError(
        .usage,
        "\(stage) reports no `\(name)`; " + knownNames(layout.fields.map(\.name), near: name))
    }
    guard field.kind.isNumberOrWord else {
      throw RunError(
        .usage,
        "\(text) is \(field.kind.isList ? "a list" : "a row of numbers"); a condition compares "
          + "single numbers")
    }
    return .read(layout, field)
  }

  /// Replaces a word by its index among the words of the field that it is compared with.
  fileprivate func asNumber(like other: Self) throws(RunError) -> Self {
    guard case .word(let word) = self else { return self }
    guard case .read(_, let field) = other, case .word(let known) = field.kind else {
      throw RunError(
        .usage, "`\(word)` is no number and no field; fields are STAGE.FIELD, such as motion.score")
    }
    guard let place = known.firstIndex(of: word) else {
      throw RunError(
        .usage, "\(other.text) is never `\(word)`; " + knownNames(known, near: word))
    }
    return .number(Double(place))
  }
}

// MARK: Looking at a frame

extension ReportCondition {
  /// Whether the condition holds for a frame. Allocates nothing.
  func holds(_ frame: borrowing FrameView) -> Bool {
    switch self {
    case .compare(let left, let comparison, let right):
      comparison.holds(left.value(frame), right.value(frame))
    case .isTrue(let operand): operand.value(frame) == 1
    case .not(let inner): !inner.holds(frame)
    case .all(let one, let other): one.holds(frame) && other.holds(frame)
    case .any(let one, let other): one.holds(frame) || other.holds(frame)
    }
  }
}

extension ReportCondition.Operand {
  /// The operand's value for a frame; not a number if the stage made no report.
  fileprivate func value(_ frame: borrowing FrameView) -> Double {
    switch self {
    case .number(let number): return number
    case .field, .word: return .nan
    case .read(let layout, let field):
      let value: Double? =
        switch field.kind {
        case .double: frame.value(field, of: layout, as: Double.self)
        case .float: frame.value(field, of: layout, as: Float.self).map { Double($0) }
        case .int64: frame.value(field, of: layout, as: Int64.self).map { Double($0) }
        case .uint32: frame.value(field, of: layout, as: UInt32.self).map { Double($0) }
        case .bool: frame.value(field, of: layout, as: Bool.self).map { $0 ? 1 : 0 }
        case .word: frame.value(field, of: layout, as: UInt8.self).map { Double($0) }
        case .levelCounts, .gridValues, .matrixValues, .cornerValues, .list, .text, .binary: nil
        }
      return value ?? .nan
    }
  }
}
