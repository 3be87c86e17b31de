internal import Sprocket

/// Sprocket's version, as `--version` prints it and CHANGELOG.md has it.
let sprocketVersion = "0.1.0"

/// The name under which the program was started: a program built on Sprocket has a name of its own.
let programName: String = {
  let called = CommandLine.arguments.first ?? ""
  let name = called.split(separator: "/").last.map { printable(String($0)) } ?? ""
  return name.isEmpty ? "sprocket" : name
}()

extension RunError {
  /// The sentence, and the options that it is about.
  var told: String { OptionNames.sentence(self, CommandLine.arguments.dropFirst()) }
}
