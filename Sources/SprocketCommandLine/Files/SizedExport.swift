internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines

/// `export --target-size`: two passes, and more second ones while the file has another size.
struct SizedExport {
  private let command: ExportCommand
  private let job: ExportCommand.Job
  private let size: Int
  /// Seconds of the new file.
  private let seconds: Double
  /// Bytes that are not pictures: sound, and what a file says of each.
  private let otherBytes: Double

  init(_ command: ExportCommand, _ job: ExportCommand.Job, size: Int) throws(RunError) {
    guard !job.isDump, !job.isPictures else {
      throw RunError(.usage, "--target-size is for movies; export \(job.input) first")
    }
    let codec = command.codec ?? "h264"
    let name = codec.prefix { $0 != ":" }
    guard name == "h264" || name == "hevc", !codec.contains("crf="), !codec.contains("bitrate=")
    else {
      throw RunError(
        .usage,
        "--target-size finds the bit rate of h264 or hevc; leave out what --codec says of it")
    }
    let contents = try MovieCopy.contents(of: job.input)
    guard let video = command.video(of: contents.tracks), video.duration > 0 else {
      throw RunError(.failed, "\(job.input) has no moving pictures; name a movie")
    }
    let from = Double(command.from?.nanosecondCount ?? 0) / 1e9
    let to = min(video.duration, command.to.map { Double($0.nanosecondCount) / 1e9 } ?? .infinity)
    guard to > from else {
      throw RunError(
        .usage, "\(job.input) ends at \(fixed(video.duration, 3)) s; give an earlier --from")
    }
    let seconds = to - from
    let sound = command.audio == "none" ? nil : contents.tracks.first { $0.kind == "audio" }
    let soundBytes = sound.map { Double($0.channels) * Self.soundRate / 8 * seconds } ?? 0
    let frames = Double(video.packets) * seconds / video.duration
    otherBytes =
      soundBytes + frames * Self.frameBytes + seconds
      * (Self.secondBytes + (sound == nil ? 0 : 800))
    (self.command, self.job, self.size, self.seconds) = (command, job, size, seconds)
  }

  /// Bits per second of a channel of AAC.
  private static let soundRate = 64_000.0
  /// Bytes that a file says of a picture, and of a second: measured of MP4 files that this program wrote.
  private static let frameBytes = 32.0
  private static let secondBytes = 350.0
  /// Least bits per second of pictures. Smaller: encoders take no less.
  private static let least = 20_000
  /// How much smaller than asked the file may be, as a part of that size, and what is aimed at. A file that
  /// is larger is tried again, for sizes are often limits. Smaller values: more passes.
  private static let tolerance = 0.045
  private static let aim = 0.98
  /// Second passes at most.
  private static let turns = 4

  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    let aim = Double(size) * Self.aim - otherBytes
    var rate = max(Self.least, Int(aim * 8 / seconds))
    if PartialFile.isThere(job.output), !command.overwrite {
      throw RunError(.usage, "\(job.output) exists; give another name, or --overwrite")
    }
    // The second pass replaces the file of an earlier second pass, and would replace a partial file, too.
    let partial = OutputFile.partialPath(of: job.output)
    if !command.overwrite, FileCalls.byteCount(at: partial) ?? 0 > 0 {
      throw RunError.leftOver(job.output, partial: partial, purpose: "movie")
    }
    try refuseSame(job.input, job.output)
    try refusePartial(job.input, of: job.output)
    guard let folder = FileCalls.makeTemporaryFolder() else {
      throw RunError(
        .failed, "no folder can be made in /tmp, where two passes keep notes; make room there")
    }
    // Both passes count the same ticks.
    let draft = "/draft.\(try MovieCopy.ending(of: job.output))"
    defer {
      for name in ["/pass", "/pass.mbtree", "/pass.cutree", draft, ""] {
        FileCalls.remove(folder + name)
      }
    }
    try run(1, rate, folder, to: folder + draft, kinds, invocation, &signals)
    for turn in 0..<Self.turns {
      try run(2, rate, folder, to: job.output, kinds, invocation, &signals)
      let made = Double(FileCalls.byteCount(at: job.output) ?? 0)
      let off = made / Double(size) - 1
      if off <= 0, -off <= Self.tolerance { return }
      // Each turn a little lower: what is too large is of no use.
      let lower = aim - Double(size) * 0.01 * Double(turn)
      let next = Double(rate) * lower / max(1, made - otherBytes)
      let isLast = turn == Self.turns - 1 || next < Double(Self.least) && rate == Self.least
      if isLast {
        guard off > 0 else { return }
        let isLeast = rate == Self.least
        throw RunError(
          .failed,
          "\(job.output) has \(Int(made)) bytes, "
            + (isLeast
              ? "the least that it can have" : "more than was asked for, after \(Self.turns) tries")
            + "; choose a smaller --scale"
            + (otherBytes > Double(size) / 4 ? ", or --audio none" : ""))
      }
      rate = max(Self.least, Int(min(next, 1e9)))
    }
  }

  private func run(
    _ pass: Int, _ rate: Int, _ folder: String, to path: String, _ kinds: Kinds,
    _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    var command = command
    if pass == 1 { (command.audio, command.quiet) = (SoundParts.none, true) }
    var run = try command.run(ExportCommand.Job(input: job.input, output: path), kinds)
    var movie = run.sources[0].pipeline.outputs[0]
    movie[MovieSettings.self]?.codec.bitRate = BitRate(bitsPerSecond: rate)
    movie[MovieSettings.self]?.codec.pass = pass
    movie[MovieSettings.self]?.codec.statistics = OutputName(literal: "\(folder)/pass")
    run.sources[0].pipeline.outputs[0] = movie
    run.settings.overwrite = true
    if !self.command.quiet { Console.errors.say("pass \(pass) of 2, \(rate / 1000) kbit/s") }
    try command.runJob(run).makeWhole(pass == 1 ? nil : path, kinds, invocation, &signals)
  }
}
