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
      into a new one; of an MCAP file of another program, all whole messages, attachments and metadata.
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
    try refuseSame(broken, out)
    if broken.lowercased().hasSuffix(".mcap"), try !isOwnDump(&signals) {
      return try recoverRecords(&signals)
    }
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

  /// Whether Sprocket wrote the file.
  private func isOwnDump(_ signals: inout StopSignals) throws -> Bool {
    let broken = broken
    let listing = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MCAPListing.read(broken, isInterrupted: isInterrupted)
    }
    return listing.topics.contains { $0.schema == "sprocket.session" && $0.messages > 0 }
  }

  private func recoverRecords(_ signals: inout StopSignals) throws {
    let (broken, out, overwrite) = (broken, out, overwrite)
    let found = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MCAPRecovery.recover(broken, to: out, overwrite: overwrite, isInterrupted: isInterrupted)
    }
    guard !quiet else { return }
    Console.errors.say(
      "\(out): \(found.messages) messages, \(found.attachments) attachments, \(found.metadata) of metadata"
    )
    if found.damaged > 0 {
      Console.errors.say("  \(found.damaged) records or chunks are damaged, and left out")
    }
    if found.strayMessages > 0 {
      Console.errors.say(
        "  \(found.strayMessages) messages are on channels that are not told of, and left out")
    }
    if found.isCutOff { Console.errors.say("  \(broken) is cut off") }
  }
}
