internal import ArgumentParser
internal import Glibc
public import Sprocket
@_exported public import SprocketStages

/// The whole command line, over the stages that the caller knows.
///
/// ```swift
/// sprocketMain(stages: builtinStages + [Vignette.plugin])
/// ```
///
/// Does not return: it exits with 0 when the run is done, 1 when it failed, 2 when it was asked for
/// in a wrong way. Errors are one sentence on standard error.
public func sprocketMain(stages: [Plugin]) -> Never {
  // A reader that goes away is an error of write(2), told and counted, not the end of the process.
  signal(SIGPIPE, SIG_IGN)
  // So is a file that outgrows the limit (ulimit -f).
  signal(SIGXFSZ, SIG_IGN)
  checkArguments()
  let registry: Registry
  do throws(RunError) {
    registry = try Registry(stages: stages)
  } catch {
    fail(error.description, .usage)
  }
  var command: any ParsableCommand
  do {
    command = try SprocketCommand.parseAsRoot()
  } catch {
    guard SprocketCommand.exitCode(for: error) != .success else {
      SprocketCommand.exit(withError: error)
    }
    let lines = SprocketCommand.message(for: error).split(whereSeparator: \.isNewline)
    fail(lines.joined(separator: " "), .usage)
  }
  do {
    switch command {
    case let run as RunCommand: try run.execute(registry)
    case let list as DevicesCommand: try list.execute()
    case let inspect as StagesCommand: try inspect.execute(registry)
    default: try command.run()
    }
  } catch let error as RunError {
    fail(error.description, error.code)
  } catch {
    SprocketCommand.exit(withError: error)
  }
  exit(0)
}

/// Refuses what is not UTF-8: text would be another name than the file has.
private func checkArguments() {
  for (index, argument) in CommandLine.arguments.enumerated() {
    // Repaired already, here; the system's own is as given.
    guard let given = unsafe CommandLine.unsafeArgv[index] else { continue }
    if unsafe String(validatingCString: given) == nil {
      fail("\(argument) is not UTF-8 text, as names must be; rename the file", .usage)
    }
  }
}

/// One sentence on standard error, and the exit code that goes with it.
func fail(_ sentence: String, _ code: RunError.Code) -> Never {
  printError("sprocket: \(sentence)")
  exit(code == .usage ? 2 : 1)
}

/// A line on standard error. Standard output belongs to `--pipe`.
func printError(_ line: String) {
  writeError(line + "\n")
}

/// Text on standard error, unbuffered.
func writeError(_ text: String) {
  var text = text
  text.withUTF8 { bytes in
    guard let start = bytes.baseAddress else { return }
    _ = unsafe write(2, start, bytes.count)
  }
}

struct SprocketCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sprocket",
    abstract: "Captures frames, processes them, and accounts for every one.",
    subcommands: [RunCommand.self, DevicesCommand.self, StagesCommand.self])
}
