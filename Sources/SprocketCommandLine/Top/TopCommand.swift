internal import ArgumentParser
internal import FoundationEssentials
internal import Sprocket

/// `sprocket top`: shows what runs do, once or again and again.
struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Shows what the lanes, stages and sinks of runs do.",
    discussion: """
      Runs need --control-socket. Without a socket, all of your runs are shown. On a terminal the table \
      changes each second, until q or Ctrl-C; elsewhere it is printed once. WORK and WAIT are means per \
      frame: time in a step, and time until the lane or sink took a frame. BUSY is the share of its threads' \
      time, BEHIND the number of frames that have arrived and not passed it.
      """)

  @Argument(help: "Sockets of runs.", completion: .file())
  var socket: [String] = []

  @Flag(help: "Prints the table once: of one second.")
  var once = false

  @Flag(help: "Prints a line of JSON per run, once: of one second.")
  var json = false

  /// Time between two requests. Larger: means of more frames, and later ones.
  static let interval = Duration.seconds(1)
  /// Longest wait for an answer when the table is printed once. Larger: slower runs are waited for.
  private static let patience = Duration.seconds(2)

  func execute(_ signals: inout StopSignals) throws {
    var watch = TopWatch(named: socket)
    let end = deadline(in: Self.interval.nanosecondCount)
    watch.ask()
    try waitForAll(&watch, &signals)
    if let error = watch.runs.lazy.compactMap(\.error).first { throw error }
    guard !watch.runs.isEmpty else {
      throw RunError(
        .failed,
        "no run of yours has a control socket; start one with --control-socket PATH, or name its socket"
      )
    }
    if Console.output.isTerminal, !once, !json {
      return TopScreen.show(&watch, &signals)
    }
    while monotonicNow() < end {
      if signals.take() { throw ExitCode(1) }
      _ = watch.wait(milliseconds: 20)
    }
    watch.ask()
    try waitForAll(&watch, &signals)
    try printOnce(watch)
  }

  /// Waits until all runs have answered, except those that are silent.
  private func waitForAll(_ watch: inout TopWatch, _ signals: inout StopSignals) throws {
    while !watch.isComplete(within: Self.patience) {
      if signals.take() { throw ExitCode(1) }
      _ = watch.wait(milliseconds: 20)
    }
  }

  private struct Silent: Encodable {
    let socket, error: String
  }

  private func printOnce(_ watch: TopWatch) throws {
    let silent = watch.runs.filter { $0.isAsked || $0.last == nil }
    if json {
      for run in watch.sorted {
        if let figures = run.figures, !run.isAsked {
          try say(figures)
        } else {
          try say(Silent(socket: run.path, error: problem(run).description))
        }
      }
    } else {
      let size = Console.output.isTerminal ? TopScreen.size : nil
      for line in watch.lines {
        Console.output.say(size.map { TopTable.cut(line, to: $0.columns) } ?? line)
      }
    }
    // A run that was named has to answer; of those that were found, one is enough.
    if let first = silent.first, !watch.isFinding || silent.count == watch.runs.count {
      // The code alone is thrown, so that the lines are written, too.
      tellError(problem(first).told)
      throw ExitCode(1)
    }
    if watch.runs.isEmpty {
      throw RunError(.failed, "the runs have ended; nothing is left to show")
    }
  }

  private func problem(_ run: WatchedRun) -> RunError {
    run.error ?? RunConnection.silence(run.path)
  }

  private func say(_ value: some Encodable) throws {
    Console.output.say(json: try jsonText(value, isOneLine: true))
  }
}
