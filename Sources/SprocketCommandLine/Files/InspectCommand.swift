internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `inspect`: what is in a file.
struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract:
      "Says what is in a movie, a picture, a file of sound, or a dump: how much, when, what is missing.",
    discussion: """
      Reads the whole file, without decoding it. A gap is a longer pause between two pictures than their \
      rate has; of sound, a hole of 2 ms and more. What was filled with silence is in a run's summary alone.
      """)

  @Argument(help: "Files to look at, and folders.", completion: .file())
  var files: [String]

  @Flag(help: "Prints a JSON list instead: an entry for each file.")
  var json = false

  @Option(
    "Writes a small picture of the file: upright, 320 pixels wide, from a tenth of its time on.",
    takes: "path.jpg | .png", completion: .file())
  var thumbnail: String?

  @Flag(help: "Replaces a picture that exists.")
  var overwrite = false

  func validate() throws {
    if thumbnail != nil, files.count > 1 || PartialFile.isFolder(files[0]) {
      throw ValidationError("--thumbnail is of one file; give one")
    }
    if let thumbnail {
      let ending = thumbnail.lowercased()
      guard ending.hasSuffix(".jpg") || ending.hasSuffix(".jpeg") || ending.hasSuffix(".png")
      else {
        throw ValidationError(
          "--thumbnail \(thumbnail) is not the name of a picture; give one that ends in .jpg or .png"
        )
      }
    }
    if thumbnail == nil, overwrite {
      throw ValidationError("--overwrite is for --thumbnail; inspect writes nothing else")
    }
  }

  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    let entries = try inspect(&signals)
    guard let thumbnail, let entry = entries.first else { return }
    guard let video = entry.tracks.first(where: { $0.kind == "video" }) else {
      throw RunError(.usage, "\(entry.file) has no pictures to make a thumbnail of")
    }
    // A file may say anything.
    let seconds = video.durationSeconds.isFinite ? min(max(video.durationSeconds, 0), 1e9) : 0
    let begin = Duration.nanoseconds(Int64(seconds * 1e8))
    let isDump = entry.topics != nil
    var texts = ["path": entry.file]
    texts["stream"] = video.source
    if video.count > 10, begin > .zero { texts["from"] = begin.settingText }
    let source = try kinds.kind(isDump ? ReplaySource.kind.name : FileSource.kind.name, .source)
    var pipeline = Pipeline(source: Part(source.name, try source.settings(texts)))
    pipeline.stages = [
      try kinds.stage("rotate:upright=true"), try kinds.stage("resize:square=true,size=320x"),
    ]
    pipeline.sound.microphones = [Part(SoundParts.none, NoSettings())]
    var stills = StillSettings()
    stills.path = OutputName(literal: thumbnail)
    pipeline.outputs = [Part(StillSink.kind.name, stills)]
    var job = RunJob(Run(pipeline))
    (job.run.settings.frames, job.run.settings.overwrite, job.isQuiet) = (1, overwrite, true)
    try job.execute(kinds, invocation, &signals)
  }

  /// The given files. A folder is replaced by the files that it contains.
  private var paths: [String] {
    get throws(RunError) {
      var paths: [String] = []
      for file in files {
        guard PartialFile.isFolder(file) else {
          paths.append(file)
          continue
        }
        let found = MediaFolder.files(in: file, isAll: true)
        guard !found.isEmpty else {
          throw RunError(.usage, "\(file) is a folder without movies, pictures, sound or dumps")
        }
        paths += found
      }
      return paths
    }
  }

  private func inspect(_ signals: inout StopSignals) throws -> [FileEntry] {
    let files = try paths
    var failures: [RunError] = []
    var entries: [FileEntry] = []
    for file in files {
      do throws(RunError) {
        let entry = try inspected(file, &signals)
        entries.append(entry)
        if !json {
          if entries.count > 1 { Console.output.say("") }
          for line in entry.lines { Console.output.say(line) }
        }
      } catch {
        if error.code == .interrupted || files.count == 1 { throw error }
        tellError(error.told)
        failures.append(error)
      }
    }
    if json { try Console.output.say(encoding: entries) }
    // If all files are refused, the command is wrong.
    let isWrong = failures.count == files.count && failures.allSatisfy { $0.code == .usage }
    if !failures.isEmpty { throw ExitCode(isWrong ? 2 : 1) }
    return entries
  }

  private func inspected(_ file: String, _ signals: inout StopSignals) throws(RunError) -> FileEntry
  {
    try interruptible(&signals) { (isInterrupted) throws(RunError) in
      if file.lowercased().hasSuffix(".mcap") {
        return try FileEntry(dump: file, MCAPListing.read(file, isInterrupted: isInterrupted))
      }
      var entry = FileEntry(
        file: file, try MovieCopy.contents(of: file, isInterrupted: isInterrupted))
      if let notes = try PictureNotes.read(path: file, isInterrupted: isInterrupted) {
        entry.add(notes)
      }
      return entry
    }
  }
}

/// Does work on another thread; the first signal asks it to stop.
func interruptible<Result: Sendable>(
  _ signals: inout StopSignals,
  _ body: @escaping @Sendable (@escaping @Sendable () -> Bool) throws(RunError) -> Result
) throws(RunError) -> Result {
  let flag = StopFlag()
  do {
    return try BackgroundWork("file") { try body { flag.isSet } }.value(&signals) {
      flag.set()
      return .seconds(2)
    }
  } catch let error as RunError {
    throw error
  } catch {
    throw RunError(
      .failed, "stopped, though the file's disk does not answer; look at what it waits for")
  }
}
