internal import ArgumentParser
internal import Sprocket

/// `recover`: makes a plain file from one that a crash cut off.
struct RecoverCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recover",
    abstract: "Makes a plain file of what a crash or a full disk left: all that is there, in step.",
    discussion: """
      Movies (.mov, .mp4, .mkv) are copied without being decoded; the ending of the new name says of which \
      kind it is. With .wav or .flac it is the sound alone. Of a dump (.mcap) all whole frames are written \
      into a new one.
      """)

  @Argument(help: "The broken file, such as take.partial.mov.", completion: .file())
  var broken: String

  @Argument(help: "The new file.", completion: .file())
  var out: String

  @Flag(help: "Replaces a file that exists.")
  var overwrite = false

  @Flag(help: "Prints errors alone.")
  var quiet = false

  func execute(
    _ registry: Registry, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    if broken.lowercased().hasSuffix(".mcap") {
      var arguments = ["--source", "replay:\(broken)", "--dump", out]
      if overwrite { arguments.append("--overwrite") }
      if quiet { arguments.append("--quiet") }
      return try RunCommand.parse(arguments).execute(registry, invocation, &signals)
    }
    if SoundSink.isAlone(out) {
      var arguments = ["--source", "none", "--microphone", "file:\(broken)", "--sound", out]
      if overwrite { arguments.append("--overwrite") }
      if quiet { arguments.append("--quiet") }
      return try RunCommand.parse(arguments).execute(registry, invocation, &signals)
    }
    let (broken, out, overwrite) = (broken, out, overwrite)
    let contents = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MovieCopy.copy(broken, to: out, overwrite: overwrite, isInterrupted: isInterrupted)
    }
    guard !quiet else { return }
    for line in FileEntry(file: out, contents).lines { Console.errors.say(line) }
  }
}
