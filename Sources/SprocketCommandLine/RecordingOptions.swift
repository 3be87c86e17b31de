internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` records of the frames, and where.
struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Records a movie; the ending says of which kind.", valueName: "path.mov | .mp4 | .mkv"),
    completion: .file())
  var movie: String?

  @Option(
    help: ArgumentHelp(
      "How --movie holds pictures: mjpeg (the default), h264, hevc, av1, or an encoder of libavcodec, and "
        + "its settings, such as h264:crf=20,preset=medium; `\(programName) stages movie` lists them.",
      valueName: "name[:key=value,...]"))
  var codec: String?

  @Flag(
    help: """
      --movie has one more track: the lines that --reports writes, each at its frame's time.
      """)
  var movieReports = false

  @Option(
    help: ArgumentHelp(
      "Writes a JPEG file per frame. A folder is made; a pattern names the files, with {n}, {time}, "
        + "{name} and {bracket}, and says by the ending what they are: shots/{time}-{n}.jpg, "
        + ".png, .tif, .dng.",
      valueName: "FOLDER | PATTERN"),
    completion: .directory)
  var stills: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "One still per so much time, the first frame at or after each: 1s, 500ms.",
      valueName: "duration"),
    transform: Duration.parsePositive)
  var every: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "One still per so much time, the sharpest frame: 2s; adds `focus` where it is missing.",
      valueName: "duration"),
    transform: Duration.parsePositive)
  var stillsSharpest: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Quality of JPEG that is encoded, 1 to 100; default 90. A camera's own is kept as it is.",
      valueName: "n"),
    transform: wholeNumber(1...100, example: 90))
  var quality: Int?

  @Option(
    help: ArgumentHelp(
      "Writes all that the source delivers, as MCAP, to be replayed or read.", valueName: "path"),
    completion: .file())
  var dump: String?

  @Flag(
    help: """
      --movie and --stills wait until they are asked for: by a key, a signal, or the control socket. \
      `{n}` in --movie stands for the file's number.
      """)
  var onDemand = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie goes on in its next file after so much time, or so many bytes: 60s, 500M.",
      valueName: "DURATION | SIZE"), transform: Extent.parse)
  var split: Extent?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie ends after so much time, or so many bytes over all its files: 10m, 4G.",
      valueName: "DURATION | SIZE"), transform: Extent.parse)
  var longest: Extent?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "A movie ends when its disk has less free than that: 2G.", valueName: "size"),
    transform: ByteCount.parse)
  var keepFree: ByteCount?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "What --movie, --dump, --sound and --reports write is on the disk so much later at most: what a power "
        + "cut costs, 100ms or more. Default: as the kernel does it.", valueName: "duration"),
    transform: { text in
      let time = try Duration.parsePositive(text)
      guard time >= .milliseconds(100) else {
        throw ValidationError("give 100ms or more, such as 1s")
      }
      return time
    })
  var sync: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With --on-demand or --record-when: a recording begins so long before it was asked for.",
      valueName: "duration"
    ),
    transform: Duration.parsePositive)
  var preRoll: Duration?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Most memory of --pre-roll; default 256M. A pre-roll that needs more is shorter.",
      valueName: "size"), transform: ByteCount.parse)
  var preRollMemory: ByteCount?

  @Option(
    help: ArgumentHelp(
      "--movie records while this holds, and begins before: 'motion.score > 0.2'. Compares fields of the "
        + "stages' reports with < <= > >= == !=; and, or, not.", valueName: "condition"))
  var recordWhen: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With --record-when: goes on for so long after; default 3s.", valueName: "duration"),
    transform: Duration.parse)
  var keep: Duration?
}
