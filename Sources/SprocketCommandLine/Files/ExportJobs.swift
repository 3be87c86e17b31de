internal import Sprocket
internal import SprocketPipelines

extension ExportCommand {
  /// One input and the output that is made of it.
  struct Job: Sendable {
    let input: String
    let output: String
    /// The input is files of pictures, which have neither times nor sound.
    let isPictures: Bool

    init(input: String, output: String) {
      (self.input, self.output) = (input, output)
      isPictures = !Self.isDump(input) && FileSource.namesPictures(input)
    }

    private static func isDump(_ path: String) -> Bool { path.lowercased().hasSuffix(".mcap") }

    var isDump: Bool { Self.isDump(input) }
    /// The kind of source, and of microphone, that reads it.
    var kind: String { isDump ? ReplaySource.kind.name : FileSource.kind.name }
    /// The argument of `--source`.
    var source: String { "\(kind):\(input)" }
  }

  var jobs: [Job] {
    get throws(RunError) {
      let target = paths[paths.count - 1]
      let isBatch = target.hasSuffix("/") || PartialFile.isFolder(target)
      var inputs: [String] = []
      for input in paths.dropLast() {
        let isPictures = FileSource.namesPictures(input)
        let movies = MediaFolder.files(in: input).filter(isExported)
        if isPictures, let first = movies.first {
          throw RunError(
            .usage,
            "\(input) has pictures and movies; name one kind, as a pattern in quotes, such as "
              + "'\(input)/*.jpg', or the movies, such as \(first)")
        }
        if movies.isEmpty, !isPictures, !PartialFile.isFolder(input),
          let first = FileSource.files(in: input).first
        {
          throw RunError(
            .usage,
            "\(input) matches nothing that is exported in a batch\(copy ? " of copies" : ""); name each "
              + "file, such as \(first)")
        }
        inputs += movies.isEmpty ? [input] : movies
      }
      guard inputs.count > 1 || isBatch else {
        return [Job(input: inputs[0], output: target)]
      }
      guard PartialFile.isFolder(target) else {
        if !isBatch, inputs.allSatisfy(FileSource.namesPictures) {
          throw RunError(
            .usage,
            "for one movie of \(inputs.count) pictures give their folder, or the pattern in quotes, such as "
              + "'shots/*.jpg'")
        }
        throw RunError(
          .usage, "\(target) is not a folder, and several files need one; make it: mkdir \(target)")
      }
      var jobs: [Job] = []
      for input in inputs {
        let name = input.split(separator: "/").last ?? ""
        if name.contains(where: { "*?[%".contains($0) }), !PartialFile.isThere(input) {
          throw RunError(
            .usage, "\(input) becomes one film, which needs a name, such as \(target)/film.mp4")
        }
        let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name
        let ending = copy ? name.dropFirst(stem.count) : ".mp4"
        let folder = target.hasSuffix("/") ? target : target + "/"
        jobs.append(Job(input: input, output: "\(folder)\(stem)\(ending)"))
      }
      try Self.check(jobs)
      return jobs
    }
  }

  /// Returns a note about what a movie has besides pictures and sound.
  func others(_ job: Job, _ header: MovieContents?) -> String? {
    guard let others = header?.others, !others.isEmpty else { return nil }
    return "left out of \(job.input): \(others.joined(separator: ", "))"
  }

  /// Returns what the user should know before the export begins.
  func notes(_ job: Job, _ header: MovieContents?) -> [String] {
    var notes: [String] = []
    let tracks = header?.tracks ?? []
    if let others = others(job, header) { notes.append(others) }
    if tracks.contains(where: { $0.kind == "reports" }) {
      notes.append("the reports of \(job.input) are left out: --copy keeps them")
    }
    if let sound = tracks.first(where: { $0.kind == "audio" }),
      !tracks.contains(where: { $0.kind == "audio" && $0.isReadable })
    {
      notes.append("the sound of \(job.input) is left out: its codec \(sound.codec) is not read")
    }
    let isShaped = crop != nil || aspect != nil || scale != nil
    if let video = video(of: tracks), video.orientation != 1, isShaped,
      !upright
    {
      notes.append(
        "\(job.input) is shown turned or mirrored, and --crop, --aspect and --scale are about the picture as "
          + "it lies; add --upright for the picture as it is shown")
    }
    return notes
  }

  /// Returns the track of pictures that `--stream` names, or else the first one. Without `--stream`, the
  /// source may choose another one by its flags or its size.
  func video(of tracks: [MovieContents.Track]) -> MovieContents.Track? {
    let videos = tracks.filter { $0.kind == "video" }
    return videos.first { stream == "\($0.number)" } ?? videos.first
  }

  /// Whether a file of a folder or of a pattern is exported. Files of sound alone are not; with `--copy`,
  /// dumps are not either.
  func isExported(_ path: String) -> Bool {
    !FileSource.isNamedSound(path) && !(copy && path.lowercased().hasSuffix(".mcap"))
  }

  /// Throws if a job would overwrite an input or an output of another job, under its final or partial name.
  private static func check(_ jobs: [Job]) throws(RunError) {
    var read: [String: String] = [:]
    for job in jobs { if let file = FileIdentity.of(job.input) { read[file] = job.input } }
    var written: [String: Job] = [:]
    for job in jobs {
      let names = [job.output, OutputFile.partialPath(of: PartialFile.target(of: job.output))]
      for file in names.compactMap(FileIdentity.of) {
        if let input = read[file] {
          throw RunError(
            .usage,
            "\(job.input) would become \(job.output), and that or its partial file is \(input), which would "
              + "be lost; choose another folder")
        }
        if let other = written.updateValue(job, forKey: file) {
          throw RunError(
            .usage,
            "\(other.input) and \(job.input) would both become \(job.output) or its partial file; export "
              + "them apart")
        }
      }
    }
  }
}

/// Finds the files of a folder, or of a pattern, that Sprocket can read.
enum MediaFolder {
  /// Paths of the movies, dumps and files of sound in a folder or of a pattern, sorted by name. With `isAll`
  /// also of pictures, and of partial files (`NAME.partial.EXT`).
  static func files(in text: String, isAll: Bool = false) -> [String] {
    let path = text.hasSuffix("/") && text.count > 1 ? String(text.dropLast()) : text
    return FileSource.files(in: path).filter { file in
      let parts = (file.split(separator: "/").last ?? "").lowercased().split(separator: ".")
      let isPartial = parts.count > 2 && parts[parts.count - 2] == "partial"
      return FileSource.isNamedMedia(file) && (isAll || !isPartial)
        || isAll && FileSource.isNamedPicture(file)
    }
  }
}

/// Throws if input and output are the same file.
func refuseSame(_ input: String, _ output: String) throws(RunError) {
  if PartialFile.isThere(input), PartialFile.isThere(output), FileIdentity.isSame(input, output) {
    throw RunError(.usage, "\(input) and \(output) are the same file; give another name")
  }
}

/// Throws if the input has the partial name of the output, and would be overwritten.
func refusePartial(_ input: String, of output: String) throws(RunError) {
  if FileIdentity.isPartial(input, of: output) {
    throw RunError(
      .usage,
      "\(output) is called \(input) until it is complete, which would be lost; give another name")
  }
}
