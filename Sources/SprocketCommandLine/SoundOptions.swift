internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` hears, and what of it goes into files of its own.
struct SoundOptions: ParsableArguments {
  @Option(
    "Where sound comes from, repeatable; `\(programName) devices` lists microphones. `auto`: the scene's "
      + "where the scene is the source, else the first. `none`: also not a file's own.",
    takes: "NAME | scene | file:PATH | replay:PATH | auto | none")
  var microphone: [String] = []

  @Option("An audio stage; the order given is their order.", takes: "name[:key=value,...]")
  var audioStage: [String] = []

  @Option(
    "Samples per second in files; default the microphone's. 22050, 44100.", takes: "hz",
    as: wholeNumber(AudioFormat.rates, example: 44100))
  var audioRate: Int?

  @Option(
    "Channels in files; default the microphone's. 1 mixes them down.", takes: "n",
    as: wholeNumber(1...AudioFormat.mostChannels, example: 1))
  var audioChannels: Int?

  @Option("How movies hold sound; default pcm, in .mp4 aac.", takes: "pcm | aac | opus | flac")
  var audioCodec: AudioCodec?

  @Option(
    "Of aac and opus, all channels together; default 64k and 48k per channel.", takes: "bits/s",
    as: BitRate.parse)
  var audioBitrate: BitRate?

  @Option(
    "Whether a sound card's wrong clock is corrected in files: auto, once it is 3 ms off, or never.",
    takes: "auto | exact")
  var audioSync: AudioSync?

  @Option(
    "Writes the sound of the first microphone into a file of its own.",
    takes: "path.wav | .flac | .mov | .mkv", completion: .file())
  var sound: String?

  @Option(
    "Writes the levels of each block of sound as JSON Lines. `-` is standard output.",
    takes: "path", completion: .file())
  var levels: String?
}
