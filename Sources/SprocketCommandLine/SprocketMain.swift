internal import ArgumentParser
internal import Glibc
public import Sprocket
internal import SprocketPipelines
@_exported public import SprocketStages

/// The whole command line, over the stages, sources and sinks that the caller knows.
///
/// ```swift
/// sprocketMain(stages: builtinStages + [Vignette.plugin])
/// ```
///
/// Does not return: it exits with 0 when the run is done, also when a signal ended it after it had
/// begun; 1 when it failed, or was stopped before it began; 2 when it was asked for in a wrong way.
/// `bench --fail-above` has two codes of its own (see `BenchVerdict`).
/// Errors are one sentence on standard error.
public func sprocketMain(
  stages: @escaping @autoclosure () -> [Plugin] = builtinStages,
  sources: @escaping @autoclosure () -> [SourceKind] = builtinSources,
  sinks: @escaping @autoclosure () -> [SinkKind] = builtinSinks,
  audioStages: @escaping @autoclosure () -> [AudioPlugin] = builtinAudioStages,
  audioSources: @escaping @autoclosure () -> [AudioSourceKind] = builtinAudioSources
) -> Never {
  reportTraps()
  // Before anything else: from here on a signal stays pending until `take` reads it.
  let start = Start()
  // When a reader goes away, write(2) fails and the error is handled; the signal would end the
  // process.
  signal(SIGPIPE, SIG_IGN)
  // The same for a file that reaches the size limit (ulimit -f).
  signal(SIGXFSZ, SIG_IGN)
  // SVT-AV1 tells of itself on standard error; 1 is for errors. Before any thread may read the environment.
  _ = unsafe setenv("SVT_LOG", "1", 0)
  shareHeapIfLimited()
  refuseHugePages()
  Console.errors.start()
  let command = {
    runCommand(start) { () throws(RunError) in
      try Kinds(
        sources: sources(), microphones: audioSources(), stages: stages(),
        audioStages: audioStages(), outputs: sinks())
    }
  }
  // The first thread's stack may have no more than 64 KB (`ulimit -s 64`), which the parser's metadata and
  // options fill. If there is no thread to be had, there is none for a run either, which says so.
  guard let work = try? BackgroundWork("command", command) else { command() }
  while true { _ = work.wait(for: .seconds(3600)) }
}

/// What has to be done before anything else.
private final class Start {
  init() {
    let names = ProgramArguments.given.contains {
      $0.hasPrefix("--control-socket") || $0.contains("fd:")
    }
    if names { GivenDescriptors.note() }
  }

  var signals = StopSignals(
    isForGood: true, takesUserSignals: ProgramArguments.given.contains(AskingOptions.signalOption))
  let invocation = Invocation()
}

/// Does what the arguments say, and ends the program.
private func runCommand(
  _ start: Start, _ makeRegistry: () throws(RunError) -> Kinds
) -> Never {
  var code: Int32 = 0
  do {
    try ProgramArguments.check()
    try execute(makeRegistry, start.invocation, &start.signals)
  } catch {
    code = told(error)
  }
  // What was said before an error is there, too. Once: a signal ends this wait.
  do {
    try finishOutput(&start.signals)
  } catch {
    if code == 0 { code = told(error) }
  }
  leave(code)
}

/// Tells of an error on standard error. Returns the program's exit code.
private func told(_ error: any Error) -> Int32 {
  if let code = error as? ExitCode { return code.rawValue }
  let failure = error as? RunError ?? RunError(.failed, "\(error)")
  tellError(failure.told)
  return failure.code == .usage ? 2 : 1
}

private func execute(
  _ kinds: () throws(RunError) -> Kinds, _ invocation: Invocation,
  _ signals: inout StopSignals
) throws {
  let arguments = ProgramArguments.given[...]
  if arguments.first == Completer.option {
    let completer = try Completer(program: CommandHelp.root, kinds: kinds())
    let answer = completer.answer(Array(arguments.dropFirst()))
    for line in answer.lines { Console.output.say(line) }
    return
  }
  if arguments.first == "help" { return try tellHelp(Array(arguments.dropFirst())) }
  do {
    switch try SprocketCommand.parseAsRoot() {
    case let run as RunCommand:
      try refuseRepetitions()
      try run.execute(kinds(), invocation, &signals)
    case let photo as PhotoCommand:
      try refuseRepetitions()
      try photo.execute(kinds(), invocation, &signals)
    case let check as CheckCommand: try check.execute(kinds())
    case let schema as SchemaCommand: try schema.execute(kinds())
    case let bench as BenchCommand:
      try refuseRepetitions()
      try bench.execute(kinds(), &signals)
    case let ask as AskCommand: try ask.execute(kinds(), &signals)
    case let top as TopCommand: try top.execute(&signals)
    case let export as ExportCommand:
      try refuseRepetitions()
      try export.execute(kinds(), invocation, &signals)
    case let look as InspectCommand: try look.execute(kinds(), invocation, &signals)
    case let recover as RecoverCommand: try recover.execute(kinds(), invocation, &signals)
    case let plot as PlotCommand: try plot.execute()
    case let list as DevicesCommand: try list.execute(&signals)
    case let inspect as StagesCommand: try inspect.execute(kinds())
    case let completions as CompletionsCommand: completions.execute()
    case var other: try other.run()
    }
  } catch let error as RunError {
    throw error
  } catch let error as ExitCode {
    throw error
  } catch {
    try tell(parser: error, arguments)
  }
}

/// Answers what the parser throws: help, the version, or what is wrong.
private func tell(parser error: any Error, _ arguments: ArraySlice<String>) throws(RunError) {
  let command = arguments.first.flatMap { $0.hasPrefix("-") ? nil : $0 }
  guard SprocketCommand.exitCode(for: error) != .success else {
    let text = SprocketCommand.fullMessage(for: error)
    if text.hasPrefix("OVERVIEW") { return try tellHelp(command.map { [$0] } ?? []) }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      Console.output.say(String(line))
    }
    return
  }
  if let command, !commandNames.contains(command) { throw unknownCommand(command) }
  let lines = SprocketCommand.message(for: error).split(whereSeparator: \.isNewline)
  let sentence = ForeignWords.improved(lines.joined(separator: " "), command: command)
  // An argument without an option is most often the name of a file.
  let isStray = sentence.hasPrefix("Unexpected argument") || sentence.contains(" unexpected arg")
  let control = arguments.dropFirst(2).first { $0.contains("=") && !$0.hasPrefix("-") }
  // The parser names it in single quotes.
  let file = sentence.split(separator: "'").dropFirst().first.map(String.init) ?? ""
  let ending = file.split(separator: ".").last?.lowercased() ?? ""
  let hint =
    command == DevicesCommand.configuration.commandName
    ? control.map { "; write --control \($0)" } ?? ""
    : ["yaml", "yml", "json"].contains(ending)
      ? "; a file that describes the run is named so: --pipeline \(file)"
      : "; a file to read is named so: --source file:PATH"
        + (["mov", "mp4", "mkv"].contains(ending) ? ", and one to record: --movie \(file)" : "")
  throw RunError(.usage, sentence + (isStray ? hint : ""))
}

private func refuseRepetitions() throws(RunError) {
  let sentence = try RepeatedOptions.sentence(ProgramArguments.given)
  if let sentence { throw RunError(.usage, sentence) }
}

private func tellHelp(_ words: [String]) throws(RunError) {
  for line in try HelpPage(words).lines { Console.output.say(line) }
}

private let commandNames = SprocketCommand.configuration.subcommands.map { $0._commandName }

func unknownCommand(_ name: String) -> RunError {
  let answer = ForeignWords.answer(to: name, of: nil) ?? knownNames(commandNames, near: name)
  return RunError(.usage, "there is no command `\(name)`; \(answer)")
}

/// How the program was started.
struct Invocation {
  /// Standard output was closed: what is written there is lost.
  let isOutputClosed: Bool

  /// Opens the null device for each of the descriptors 0 to 2 that is closed; otherwise the next
  /// file that is opened would get that number. As in the C library, it is opened for the opposite
  /// direction, so that reading and writing fail instead of doing nothing. The corresponding C
  /// functions are `fcntl` and `open`.
  init() {
    let closed = (Int32(0)...2).filter { fcntl($0, F_GETFD) == -1 && errno == EBADF }
    // The kernel takes the lowest number that is free.
    for descriptor in closed { _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) }
    isOutputClosed = closed.contains(1)
  }
}

/// Waits until all that was asked for is on standard output.
private func finishOutput(_ signals: inout StopSignals) throws(RunError) {
  while !Console.output.finish(within: Runner.tick) {
    if signals.take() {
      throw RunError(.failed, "stopped before all was written to standard output")
    }
  }
  switch Console.output.failure {
  // EPIPE: the reader closed standard output, which is no error.
  case 0, EPIPE: return
  case EBADF:
    throw RunError(.failed, "standard output is closed; send it to a terminal, file or pipe")
  case let code:
    throw RunError(
      .failed, "writing to standard output failed: \(RunError.text(code)); send it elsewhere")
  }
}

/// A sentence on standard error.
func tellError(_ sentence: String) { Console.errors.say("\(programName): \(sentence)") }

/// Ends the program, after waiting up to two seconds until standard error is written.
func leave(_ code: Int32) -> Never {
  Keyboard.restore()
  _ = Console.errors.finish(within: .seconds(2))
  exit(code)
}

/// Like `leave`, for use while another thread still runs: `_exit` runs no exit handlers, which
/// could free what that thread uses.
func leaveAtOnce(_ code: Int32) -> Never {
  Keyboard.restore()
  _ = Console.errors.finish(within: .seconds(2))
  _exit(code)
}

struct SprocketCommand: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: programName,
      abstract: "Captures frames, processes them, and accounts for every one.",
      version: "Sprocket \(sprocketVersion)",
      subcommands: [
        RunCommand.self, PhotoCommand.self, AskCommand.self, TopCommand.self, ExportCommand.self,
        InspectCommand.self, RecoverCommand.self, BenchCommand.self, PlotCommand.self,
        DevicesCommand.self, StagesCommand.self, CheckCommand.self, SchemaCommand.self,
        CompletionsCommand.self,
      ])
  }
}
