internal import Sprocket
internal import SprocketPipelines

// `--join`: one movie of several.
extension ExportCommand {
  /// Options that a join does not have: it takes pictures as they are.
  private var refusedByJoin: String? {
    changes.first { $0.isGiven && !["--codec", "--audio"].contains($0.option) }?.option
      ?? (stream != nil ? "--stream" : nil)
  }

  func join(_ kinds: Kinds, _ signals: inout StopSignals) throws {
    if let option = refusedByJoin {
      throw RunError(
        .usage,
        "--join takes pictures as they are: leave out \(option), and export the joined movie with it"
      )
    }
    let output = paths[paths.count - 1]
    let inputs = paths.dropLast().flatMap { input in
      let movies = FileSource.namesPictures(input) ? [] : MediaFolder.files(in: input)
      return movies.isEmpty ? [input] : movies
    }
    for input in inputs {
      if Job(input: input, output: output).isDump || FileSource.namesPictures(input) || input == "-"
      {
        throw RunError(
          .usage, "--join is for movies, and \(input) is none; export it as a movie first")
      }
      try refuseSame(input, output)
      try refusePartial(input, of: output)
    }
    let settings = try joinSettings(output, kinds)
    let (from, to, isCopy) = (from, to, copy)
    let made = try interruptible(&signals) { (isInterrupted) throws(RunError) in
      var film = Composition()
      for input in inputs {
        try film.insert(input, at: film.clips.count, isInterrupted: isInterrupted)
      }
      let (begin, whole) = (from ?? .zero, film.duration)
      guard begin < whole else {
        throw RunError(
          .usage,
          "the joined movie is \(whole.settingText) long, and has nothing at \(begin.settingText); "
            + "begin earlier")
      }
      if let to, to < whole { try film.remove(to..<whole, isInterrupted: isInterrupted) }
      if begin > .zero { try film.remove(.zero..<begin, isInterrupted: isInterrupted) }
      return try film.write(
        to: output, settings, mustCopy: isCopy, isInterrupted: isInterrupted)
    }
    guard !quiet else { return }
    let how = made.reasonForEncoding.map { "encoded, since \($0)" } ?? "copied as they are"
    let seconds = fixed(Double(made.duration.nanosecondCount) / 1e9, 3)
    Console.errors.say(
      "\(output): \(made.pictures) pictures, \(seconds) s, joined from \(inputs.count) files; "
        + "the pictures are \(how)")
    for note in made.notes { Console.errors.say(note) }
  }

  private func joinSettings(
    _ output: String, _ kinds: Kinds
  ) throws(RunError) -> Composition.ExportSettings {
    var settings = Composition.ExportSettings()
    settings.overwrite = overwrite
    settings.isSilent = audio == SoundParts.none
    if let audio, !settings.isSilent {
      guard let codec = AudioCodec(settingText: audio) else {
        throw RunError(.usage, "--audio \(audio): give aac, opus, flac, pcm or none")
      }
      settings.soundCodec = codec
    }
    guard let codec else { return settings }
    var (name, texts) = try nameAndValues(codec, option: "--codec")
    texts["codec"] = name
    texts["path"] = OutputName(literal: output).settingText
    let kind = try kinds.kind(MovieSink.kind.name, .output)
    let movie = Part(kind.name, try kind.settings(texts))[MovieSettings.self]
    (settings.codec, settings.quality) = (movie?.codec, movie?.quality ?? settings.quality)
    settings.metadata = movie?.metadata ?? settings.metadata
    return settings
  }
}
