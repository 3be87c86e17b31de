internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `export`: converts movies and dumps into movies for other programs.
///
/// It is `run` over a file, offline, with other names and defaults; with `--copy` it is ``MovieCopy``.
struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Converts a movie or a dump: trims, crops, scales, encodes as H.264.",
    discussion: """
      Takes movies, dumps (.mcap), pictures (a folder, 'shots/*.jpg' or Z-%03d.png, with --rate) and \
      standard input (-). Writes .mp4, .mov or .mkv, or sound alone (.wav, .flac). Several files, a folder \
      or a pattern of movies, or one and a folder, are a batch: each becomes FOLDER/NAME.mp4. The picture \
      passes --stage, then --upright, --rotate, --crop, --aspect and --scale, in this order; oblong pixels \
      become square in the last step.
      """)

  @Argument(help: "Files, and then the new file, or a folder.", completion: .file())
  var paths: [String]

  @Option("Begins with the first frame from this time on.", takes: "duration", as: Duration.parse)
  var from: Duration?

  @Option(
    "Ends before the first frame from this time on.", takes: "duration", as: Duration.parsePositive)
  var to: Duration?

  @Option("A stage, such as stabilize.", takes: "name[:key=value,...]")
  var stage: [String] = []

  @Flag(help: "Turns the picture as its file says.")
  var upright = false

  @Option("Turns the picture clockwise, in degrees.", takes: "90 | 180 | 270")
  var rotate: String?

  @Option("The part that is kept, in pixels.", takes: "x/y/width/height")
  var crop: String?

  @Option("The largest part of that aspect in the middle.", takes: "1:1 | 4:3")
  var aspect: String?

  @Option("The new size, or one side of it.", takes: "1280x | WxH")
  var scale: String?

  @Option(
    "Makes the frame rate constant: doubles and leaves out frames. Of pictures, theirs.",
    takes: "frames/s", as: FrameRate.parse)
  var rate: FrameRate?

  @Option(
    "How pictures are encoded: h264 (the default), hevc, av1, mjpeg, and settings, such as h264:crf=20; "
      + "`\(programName) stages movie` lists them.", takes: "name[:key=value,...]")
  var codec: String?

  @Option(
    "How sound is: aac (the default), opus, flac, pcm; none leaves it out.",
    takes: "aac | opus | flac | pcm | none")
  var audio: String?

  @Option(
    "Makes a file of that size, in two passes: 10M, 10MB. Short ones come less near.",
    takes: "size", as: ByteCount.parse)
  var targetSize: ByteCount?

  @Option(
    "Of a dump of several sources the one that is exported; of a file of several films, or sounds, the "
      + "number of its stream, as ffprobe counts.", takes: "NAME | NUMBER")
  var stream: String?

  @Flag(help: "Copies without encoding; begins with the key frame at or before --from.")
  var copy = false

  @Flag(help: "Joins movies, in order, into the last file, of which --from and --to are a part.")
  var join = false

  @Flag(help: "Replaces files that exist.")
  var overwrite = false

  @Flag(help: "Prints errors alone.")
  var quiet = false

  // `BatchExport` alone sets this flag.
  @Flag(help: .private)
  var brief = false

  @Flag(help: "Looks longer, for damage that decoding hides.")
  var verify = false

  func validate() throws {
    guard paths.count > 1 else {
      throw ValidationError(
        "give a file to read and one to write: \(programName) export in.mov out.mp4")
    }
    if let from, let to, from >= to {
      throw ValidationError("--to \(to.settingText) is not after --from \(from.settingText)")
    }
    if copy, let option = changes.first(where: \.isGiven)?.option {
      throw ValidationError("\(option) changes pictures or sound, which --copy leaves as they are")
    }
    if copy, stream != nil {
      throw ValidationError("--copy takes all that a file has; leave out --stream")
    }
  }

  /// Options that change pictures or sound.
  var changes: [(option: String, isGiven: Bool)] {
    [
      ("--stage", !stage.isEmpty), ("--rotate", rotate != nil), ("--crop", crop != nil),
      ("--aspect", aspect != nil), ("--scale", scale != nil), ("--codec", codec != nil),
      ("--upright", upright), ("--audio", audio != nil), ("--rate", rate != nil),
      ("--target-size", targetSize != nil), ("--verify", verify),
    ]
  }

  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    if join { return try join(kinds, &signals) }
    let jobs = try self.jobs
    if jobs.count > 1 { return try BatchExport(command: self, jobs: jobs).execute(&signals) }
    try export(jobs[0], kinds, invocation, &signals)
  }

  /// One file.
  private func export(
    _ job: Job, _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    if FileSource.isNamedPicture(job.output) {
      throw RunError(
        .usage,
        "export writes movies (.mp4, .mov, .mkv) and sound (.wav, .flac), and \(job.output) is a picture; "
          + "for pictures: \(programName) run --source \(job.source) --stills FOLDER")
    }
    if SoundSink.isAlone(job.output) {
      if !quiet, !job.isDump, let note = others(job, try? MovieCopy.header(of: job.input)) {
        Console.errors.say(note)
      }
      return try runJob(soundRun(job, kinds)).makeWhole(job.output, kinds, invocation, &signals)
    }
    if let targetSize {
      return try SizedExport(self, job, size: targetSize.bytes).execute(kinds, invocation, &signals)
    }
    guard copy else {
      return try runJob(run(job, kinds)).makeWhole(job.output, kinds, invocation, &signals)
    }
    if job.isDump || job.isPictures || FileSource.isNamedPicture(job.input) {
      let what = job.isDump ? "is a dump" : "names pictures"
      throw RunError(.usage, "--copy is for movies, and \(job.input) \(what); leave it out")
    }
    try refuseSame(job.input, job.output)
    try refusePartial(job.input, of: job.output)
    let (from, to, overwrite) = (from, to, overwrite)
    let contents = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      try MovieCopy.copy(
        job.input, to: job.output, from: from?.nanosecondCount ?? 0,
        until: to?.nanosecondCount ?? .max, overwrite: overwrite, isInterrupted: isInterrupted)
    }
    if !quiet { FileEntry(file: job.output, contents).tell(copyOf: job.input, isBrief: brief) }
  }

  /// The same for a process that exports one file of a batch, with so many threads of the encoder.
  func arguments(alone job: Job, threads: Int) throws(RunError) -> [String] {
    let given = try CommandHelp.root["export"]?.options(in: ProgramArguments.given) ?? []
    var all = ["export", quiet ? "--quiet" : "--brief"]
    for (option, words) in given where !["--codec", "--quiet"].contains(option.longNames[0]) {
      all += words
    }
    if !copy {
      let codec = codec ?? "h264"
      let isOwn = codec.contains("threads=")
      all += ["--codec", isOwn ? codec : codec.adding(setting: "threads=\(max(1, threads))")]
    }
    // Names may begin with a hyphen.
    return all + ["--", job.input, job.output]
  }

  /// A run that tells as much as the export.
  func runJob(_ run: Run) -> RunJob {
    var job = RunJob(run)
    (job.isQuiet, job.isBrief) = (quiet, brief)
    return job
  }
}

extension String {
  /// `NAME[:KEY=VALUE,...]` with another setting at its end.
  func adding(setting: String) -> String { self + (contains(":") ? "," : ":") + setting }
}
