internal import Sprocket

/// Sprocket's version, as `--version` prints it and CHANGELOG.md has it.
let sprocketVersion = "0.1.0"

/// What the program was called with. No other file reads it.
enum ProgramArguments {
  /// Without the program's name.
  static let given = Array(CommandLine.arguments.dropFirst())

  /// Refuses arguments that are not UTF-8. `CommandLine.arguments` has replaced their invalid bytes, so they
  /// would name another file.
  static func check() throws(RunError) {
    for (index, argument) in CommandLine.arguments.enumerated() {
      // `CommandLine.arguments` is already repaired; `unsafeArgv` has the original bytes.
      guard let given = unsafe CommandLine.unsafeArgv[index] else { continue }
      if unsafe String(validatingCString: given) == nil {
        throw RunError(.usage, "\(argument) is not UTF-8 text, as names must be; rename the file")
      }
    }
  }
}

/// The name under which the program was started: a program built on Sprocket has a name of its own.
let programName: String = {
  let called = CommandLine.arguments.first ?? ""
  let name = called.split(separator: "/").last.map { printable(String($0)) } ?? ""
  return name.isEmpty ? "sprocket" : name
}()

extension RunError {
  /// The sentence, and the options that it is about.
  var told: String { OptionNames.sentence(self, ProgramArguments.given[...]) }
}
