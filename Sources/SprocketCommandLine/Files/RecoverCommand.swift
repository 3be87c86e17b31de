internal import ArgumentParser
internal import Glibc
internal import Sprocket
internal import SprocketPipelines

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
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    try refuseSame(broken, out)
    if isDump != out.lowercased().hasSuffix(".mcap") {
      throw RunError(
        .usage,
        isDump
          ? "\(broken) is a dump, and recover makes no movies; give a name in .mcap, or make a movie of it: "
            + "\(programName) export \(broken) \(out)"
          : "recover makes dumps of dumps alone, whose names end in .mcap; give \(out) another ending"
      )
    }
    guard FileIdentity.isPartial(broken, of: out) else {
      return try recover(to: out, kinds, invocation, &signals)
    }
    if PartialFile.isThere(out), !overwrite {
      throw RunError.opening(out, purpose: "a recovered file", EEXIST)
    }
    let lock = try PartialFile.openUnwritten(broken)
    defer { close(lock) }
    // The partial name of the new file is taken by the broken one.
    let other = PartialFile.freeName(PartialFile.target(of: out), with: ".recovered")
    try recover(to: other, kinds, invocation, &signals)
    try PartialFile.rename(other, to: out, replaces: overwrite)
  }

  /// The user named `out`. No other file is replaced.
  private func mayReplace(_ path: String) -> Bool { overwrite && path == out }

  private var isDump: Bool { broken.lowercased().hasSuffix(".mcap") }

  private func recover(
    to path: String, _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    let overwrite = mayReplace(path)
    if isDump, !(try isOwnDump(&signals)) { return try recoverRecords(to: path, &signals) }
    if isDump || SoundSink.isAlone(path) {
      var job = RunJob(run(to: path))
      (job.run.settings.overwrite, job.isQuiet) = (overwrite, quiet)
      return try job.makeWhole(path, kinds, invocation, &signals)
    }
    if FileSource.isNamedPicture(broken) {
      throw RunError(
        .usage,
        "\(broken) is a picture, and recover mends movies, sound and dumps; export takes what is whole"
      )
    }
    let broken = broken
    let contents = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MovieCopy.copy(broken, to: path, overwrite: overwrite, isInterrupted: isInterrupted)
    }
    if !quiet { FileEntry(file: out, contents).tell(copyOf: broken) }
  }

  /// A dump of the dump, or the sound alone.
  private func run(to path: String) -> Run {
    guard isDump else {
      var pipeline = Pipeline(source: Part(EmptySource.kind))
      var sound = FileSoundSettings()
      sound.path = InputName(broken)
      pipeline.sound.microphones = [Part(FileAudioSource.kind.name, sound)]
      pipeline.sound.files.path = OutputName(literal: path)
      return Run(pipeline)
    }
    var (replay, dump) = (ReplaySettings(), DumpSettings())
    (replay.path, dump.path) = (InputName(broken), OutputName(literal: path))
    var pipeline = Pipeline(source: Part(ReplaySource.kind.name, replay))
    pipeline.outputs = [Part(DumpSink.kind.name, dump)]
    return Run(pipeline)
  }

  /// Whether Sprocket wrote the file, from one source.
  private func isOwnDump(_ signals: inout StopSignals) throws -> Bool {
    let broken = broken
    let listing = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MCAPListing.read(broken, isInterrupted: isInterrupted)
    }
    // A replay plays one source; of several, the records are copied.
    return listing.sources == [""]
  }

  private func recoverRecords(to path: String, _ signals: inout StopSignals) throws {
    let (broken, overwrite) = (broken, mayReplace(path))
    let found = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MCAPRecovery.recover(broken, to: path, overwrite: overwrite, isInterrupted: isInterrupted)
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
