internal import ArgumentParser
internal import Sprocket

/// Options for the ways to ask a run while it goes on.
struct AskingOptions: ParsableArguments {
  /// The option's text on the command line: signals are blocked before the options are parsed.
  static let signalOption = "--signal"

  @Flag(
    name: .customLong("signal"),
    help: "With --on-demand: SIGUSR1 takes a photograph, SIGUSR2 begins and ends a recording.")
  var takesSignals = false

  @Option(
    "Makes a Unix socket on which `\(programName) ask` and other programs ask the run.",
    takes: "path", completion: .file())
  var controlSocket: String?

  @Option(
    "Requests at certain frames or times, a line of JSON each, as on the control socket.",
    takes: "path", completion: .file())
  var script: String?
}
