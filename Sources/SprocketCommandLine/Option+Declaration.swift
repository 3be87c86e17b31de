internal import ArgumentParser

// How options are declared: a sentence, a name for the value, and how its text is read. Options whose
// texts are read take whatever follows, so that an error is about `-3` and not about a missing value.

extension Option {
  init<T: ExpressibleByArgument>(
    _ text: String, takes value: String, completion: CompletionKind? = nil
  ) where Value == T? {
    self.init(help: ArgumentHelp("\(text)", valueName: value), completion: completion)
  }

  init<T>(
    _ text: String, takes value: String, as parse: @escaping @Sendable (String) throws -> T
  ) where Value == T? {
    self.init(
      parsing: .unconditional, help: ArgumentHelp("\(text)", valueName: value), transform: parse)
  }

  /// May be given several times.
  init(wrappedValue: [String], _ text: String, takes value: String) where Value == [String] {
    self.init(wrappedValue: wrappedValue, help: ArgumentHelp("\(text)", valueName: value))
  }

  /// May be given several times.
  init<T>(
    wrappedValue: [T], _ text: String, takes value: String,
    as parse: @escaping @Sendable (String) throws -> T
  ) where Value == [T] {
    self.init(
      wrappedValue: wrappedValue, parsing: .unconditionalSingleValue,
      help: ArgumentHelp("\(text)", valueName: value), transform: parse)
  }
}
