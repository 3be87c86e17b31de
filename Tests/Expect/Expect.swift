// Builds of programs with a static standard library compile every target of the package, and have no Testing.
#if canImport(Testing)
  public import Testing

  // Expectations as plain functions. `#expect` is a macro that the compiler expands and checks at each of
  // thousands of places, which takes most of the time that building tests takes. These print both sides,
  // too, and where they stand. `#expect` stays for errors, exits and tuples.

  /// Expects `actual == expected`.
  public func expectEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual == expected { return }
    fail(actual, "==", expected, comment(), sourceLocation)
  }

  /// Expects `actual != other`.
  public func expectUnequal<Value: Equatable>(
    _ actual: Value, _ other: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual != other { return }
    fail(actual, "!=", other, comment(), sourceLocation)
  }

  /// Expects `actual < limit`.
  public func expectLess<Value: Comparable>(
    _ actual: Value, _ limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual < limit { return }
    fail(actual, "<", limit, comment(), sourceLocation)
  }

  /// Expects `actual <= limit`.
  public func expectAtMost<Value: Comparable>(
    _ actual: Value, _ limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual <= limit { return }
    fail(actual, "<=", limit, comment(), sourceLocation)
  }

  /// Expects `actual > limit`.
  public func expectGreater<Value: Comparable>(
    _ actual: Value, _ limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual > limit { return }
    fail(actual, ">", limit, comment(), sourceLocation)
  }

  /// Expects `actual >= limit`.
  public func expectAtLeast<Value: Comparable>(
    _ actual: Value, _ limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual >= limit { return }
    fail(actual, ">=", limit, comment(), sourceLocation)
  }

  /// Expects that the condition holds.
  public func expectTrue(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if condition { return }
    fail("the condition is false", comment(), sourceLocation)
  }

  /// Expects that the condition does not hold.
  public func expectFalse(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if !condition { return }
    fail("the condition is true", comment(), sourceLocation)
  }

  /// Expects that there is no value.
  public func expectNil<Value>(
    _ value: Value?, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard let value else { return }
    fail("\(String(reflecting: value)) == nil", comment(), sourceLocation)
  }

  /// Expects that there is a value.
  public func expectNotNil<Value>(
    _ value: Value?, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if value != nil { return }
    fail("nil != nil", comment(), sourceLocation)
  }

  /// Expects that nothing is in the collection.
  public func expectEmpty<Values: Collection>(
    _ values: Values, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if values.isEmpty { return }
    fail("\(String(reflecting: values)) is empty", comment(), sourceLocation)
  }

  private func fail<Value>(
    _ actual: Value, _ relation: String, _ other: Value, _ comment: Comment?,
    _ place: SourceLocation
  ) {
    fail(
      "\(String(reflecting: actual)) \(relation) \(String(reflecting: other))", comment, place)
  }

  private func fail(_ what: String, _ comment: Comment?, _ place: SourceLocation) {
    let note = comment.map { ", \($0)" } ?? ""
    Issue.record("Expectation failed: \(what)\(note)", sourceLocation: place)
  }
#endif
