internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` hears, and what of it goes into files of its own.
struct SoundOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where sound comes from, repeatable; `\(programName) devices` lists microphones. `auto`: the scene's "
        + "where the scene is the source, else the first. `none`: also not a file's own.",
      valueName: "NAME | scene | file:PATH | replay:PATH | auto | none"))
  var microphone: [String] = []

  @Option(
    help: ArgumentHelp(
      "An audio stage; the order given is their order.", valueName: "name[:key=value,...]"))
  var audioStage: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Samples per second in files; default the microphone's. 22050, 44100.", valueName: "hz"),
    transform: wholeNumber(AudioFormat.rates, example: 44100))
  var audioRate: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Channels in files; default the microphone's. 1 mixes them down.", valueName: "n"),
    transform: wholeNumber(1...AudioFormat.mostChannels, example: 1))
  var audioChannels: Int?

  @Option(
    help: ArgumentHelp(
      "How movies hold sound; default pcm, in .mp4 aac.", valueName: "pcm | aac | opus | flac"))
  var audioCodec: AudioCodec?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Of aac and opus, all channels together; default 64k and 48k per channel.",
      valueName: "bits/s"), transform: BitRate.parse)
  var audioBitrate: BitRate?

  @Option(
    help: ArgumentHelp(
      "Whether a sound card's wrong clock is corrected in files: auto, once it is 3 ms off, or never.",
      valueName: "auto | exact"))
  var audioSync: AudioSync?

  @Option(
    help: ArgumentHelp(
      "Writes the sound of the first microphone into a file of its own.",
      valueName: "path.wav | .flac | .mov | .mkv"), completion: .file())
  var sound: String?

  @Option(
    help: ArgumentHelp(
      "Writes the levels of each block of sound as JSON Lines. `-` is standard output.",
      valueName: "path"), completion: .file())
  var levels: String?
}
