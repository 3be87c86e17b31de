internal import SprocketYAML

extension Tree {
  /// Reads YAML: one document of UTF-8, without aliases, anchors and tags. Throws for all else, and beyond
  /// the bounds of files.
  public init(yaml bytes: [UInt8]) throws(TreeError) {
    try TreeBounds.description.check(bytes)
    var reader = YAMLReader(parser: try parsing { () throws(YAMLError) in try YAMLParser(bytes) })
    self = try reader.document()
  }
}

/// Makes a tree of events.
private struct YAMLReader {
  let parser: YAMLParser
  private var count = TreeCount()

  init(parser: YAMLParser) { self.parser = parser }

  private func next() throws(TreeError) -> (event: YAMLEvent, mark: Mark) {
    let (event, mark) = try parsing { () throws(YAMLError) in try parser.next() }
    return (event, Mark(line: mark.line, column: mark.column))
  }

  mutating func document() throws(TreeError) -> Tree {
    var (event, mark) = try next()
    // A text without a value has no document.
    guard event != .end else { return Tree("", isQuoted: false) }
    (event, mark) = try next()
    let tree = try value(event, mark)
    let (after, place) = try next()
    guard after == .end else {
      throw TreeError(mark: place, problem: "a second document begins; keep one in a file")
    }
    return tree
  }

  private mutating func value(_ event: YAMLEvent, _ mark: Mark) throws(TreeError) -> Tree {
    switch event {
    case .scalar(let text, let isQuoted, let isCut):
      try count.add(mark)
      return Tree(
        .scalar(Tree.Scalar(text: text, isQuoted: isQuoted, isCut: isCut)), mark: mark)
    case .beginList: return Tree(.list(try list(mark)), mark: mark)
    case .beginMap: return Tree(.map(try map(mark)), mark: mark)
    case .alias(let name):
      throw TreeError(
        mark: mark,
        problem:
          "*\(name) is an alias, and aliases are not taken; write out what is meant, or put a text "
          + "that begins with * into quotes")
    case .endList, .endMap, .beginDocument, .end:
      throw TreeError(mark: mark, problem: "a value is missing")
    }
  }

  private mutating func list(_ mark: Mark) throws(TreeError) -> [Tree] {
    try count.enter(mark)
    defer { count.leave() }
    var list: [Tree] = []
    while true {
      let (event, mark) = try next()
      if event == .endList { return list }
      list.append(try value(event, mark))
    }
  }

  private mutating func map(_ mark: Mark) throws(TreeError) -> [Tree.Entry] {
    try count.enter(mark)
    defer { count.leave() }
    var entries: [Tree.Entry] = []
    while true {
      let (event, mark) = try next()
      if event == .endMap { return entries }
      guard case .scalar(let key, _, _) = event else {
        throw TreeError(
          mark: mark, problem: "a key is a text; put a text with [, { or * into quotes")
      }
      let (following, place) = try next()
      try entries.add(Tree.Entry(key, try value(following, place), mark: mark))
    }
  }
}

/// What most files mean where the library says this.
private func remedy(_ problem: String) -> String {
  if problem.contains("cannot start any token") {
    return "indent with spaces, not tabs; put a text that begins with @, % or ` into quotes"
  }
  let isAlias = problem.contains("alphabetic")
  if !isAlias, problem.contains("did not find expected") || problem.contains("unexpected end") {
    return
      "a quote or bracket before it may have no end, a # may begin a comment there, or lines are not "
      + "indented alike; put a name that has {, }, [, ], * or # into quotes"
  }
  return "put a name or text that has such characters into quotes"
}

private func parsing<Result>(
  _ body: () throws(YAMLError) -> Result
) throws(TreeError) -> Result {
  do throws(YAMLError) {
    return try body()
  } catch {
    guard let mark = error.mark else { throw TreeError(mark: nil, problem: error.problem) }
    throw TreeError(
      mark: Mark(line: mark.line, column: mark.column),
      problem: "\(error.problem); \(remedy(error.problem))")
  }
}
