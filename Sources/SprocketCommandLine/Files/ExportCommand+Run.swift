internal import Sprocket
internal import SprocketPipelines

// What an export is, as a run.
extension ExportCommand {
  private var length: Duration? {
    to.map { .nanoseconds($0.nanosecondCount - (from?.nanosecondCount ?? 0)) }
  }

  /// The run that exports sound alone.
  func soundRun(_ job: Job, _ kinds: Kinds) throws(RunError) -> Run {
    let pictures = changes.first { $0.isGiven && $0.option != "--audio" }?.option
    if let option = copy ? "--copy" : audio != nil ? "--audio" : pictures {
      throw RunError(.usage, "\(job.output) is a file of sound alone: leave out \(option)")
    }
    let kind = try kinds.kind(job.kind, .microphone)
    var pipeline = Pipeline(source: Part(EmptySource.kind))
    pipeline.sound.microphones = [Part(kind.name, try kind.settings(texts(job)))]
    pipeline.sound.files.path = OutputName(literal: job.output)
    return limited(Run(pipeline))
  }

  /// What the source of pictures, or of sound, is to do.
  private func texts(_ job: Job) -> [String: String] {
    var texts = ["path": job.input]
    texts["from"] = from?.settingText
    texts["stream"] = stream
    return texts
  }

  private func limited(_ run: Run) -> Run {
    var run = run
    run.settings.duration = length
    (run.settings.overwrite, run.settings.verify) = (overwrite, verify)
    return run
  }

  /// The run that exports pictures, and their sound.
  func run(_ job: Job, _ kinds: Kinds) throws(RunError) -> Run {
    if stream != nil, job.isPictures {
      throw RunError(
        .usage, "\(job.input) names pictures, each of which is whole; leave out --stream")
    }
    let isMovie = !job.isDump && !job.isPictures && job.input != "-"
    let header = isMovie ? try MovieCopy.header(of: job.input) : nil
    // A stream without times gets this rate. Of a movie, frames are doubled and left out instead.
    let isTimed = !job.isPictures && header?.hasTimes ?? true
    let source = try kinds.kind(job.kind, .source)
    var pipeline = Pipeline(source: Part(source.name, try source.settings(texts(job))))
    if !isTimed { pipeline.format.rate = rate }
    pipeline.outputs = [try movie(job, rate: isTimed ? rate : nil, kinds)]
    let tracks = Set((header?.tracks ?? []).filter(\.isReadable).map(\.kind))
    if audio == SoundParts.none {
      pipeline.sound.microphones = [Part(SoundParts.none, NoSettings())]
    } else if let codec = audio ?? (tracks.contains("audio") ? AudioCodec.aac.settingText : nil) {
      do throws(SettingError) { try pipeline.sound.files.set("codec", to: codec) } catch {
        throw RunError(refused: error, at: SettingPath("sound", "codec"), of: "sound")
      }
    }
    if !quiet { for note in notes(job, header) { Console.errors.say(note) } }
    pipeline.stages = try stages(job, kinds)
    return limited(Run(pipeline))
  }

  private func movie(_ job: Job, rate: FrameRate?, _ kinds: Kinds) throws(RunError) -> Part {
    var (name, texts) = try nameAndValues(codec ?? "h264", option: "--codec")
    texts["codec"] = name
    texts["rate"] = rate?.settingText ?? texts["rate"]
    texts["path"] = OutputName(literal: job.output).settingText
    let kind = try kinds.kind(MovieSink.kind.name, .output)
    return Part(kind.name, try kind.settings(texts))
  }

  private func stages(_ job: Job, _ kinds: Kinds) throws(RunError) -> [Part] {
    var parts = try stage.map { (text) throws(RunError) in try kinds.stage(text) }
    // Pictures of one film may have been taken upright and across.
    let upright = upright || job.isPictures
    let isTurned = upright || rotate != nil
    let wanted: [(name: String, texts: [String: String?])] = [
      ("rotate", ["upright": isTurned ? upright.settingText : nil, "turn": rotate]),
      ("crop", ["pixels": crop, "aspect": aspect]),
      (
        "resize",
        [
          "square": upright ? true.settingText : nil, "size": scale,
          "hold": job.isPictures ? true.settingText : nil,
        ]
      ),
    ]
    for (name, texts) in wanted {
      let given = texts.compactMapValues(\.self)
      guard !given.isEmpty else { continue }
      let kind = try kinds.kind(name, .stage)
      parts.append(Part(name, try kind.settings(given)))
    }
    return parts
  }
}
