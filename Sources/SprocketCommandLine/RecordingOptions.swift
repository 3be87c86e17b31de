internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` records of the frames, and where.
struct RecordingOptions: ParsableArguments {
  @Option(
    "Records a movie; the ending says of which kind. -: to standard output, as MP4 in fragments.",
    takes: "path.mov | .mp4 | .mkv | .webm | -", completion: .file())
  var movie: String?

  @Option("What --movie - is: mp4 (the default), mov, mkv or webm.", takes: "kind")
  var container: String?

  @Option(
    "How --movie holds pictures: auto (the camera's own where it can be, else mjpeg; the default), mjpeg, "
      + "h264, hevc, av1, vp9, or an encoder of libavcodec, and its settings, such as "
      + "h264:crf=20,preset=medium; `\(programName) stages movie` lists them.",
    takes: "name[:key=value,...]")
  var codec: String?

  @Flag(
    help: """
      --movie has one more track: the lines that --reports writes, each at its frame's time.
      """)
  var movieReports = false

  @Option(
    "Writes a JPEG file per frame. A folder is made; a pattern names the files, with {n}, {time}, "
      + "{name} and {bracket}, and says by the ending what they are: shots/{time}-{n}.jpg, "
      + ".png, .tif, .dng.", takes: "FOLDER | PATTERN", completion: .directory)
  var stills: String?

  @Option(
    "One still per so much time, the first frame at or after each: 1s, 500ms.", takes: "duration",
    as: Duration.parsePositive)
  var every: Duration?

  @Option(
    "One still per so much time, the sharpest frame: 2s; adds `focus` where it is missing.",
    takes: "duration", as: Duration.parsePositive)
  var stillsSharpest: Duration?

  @Option(
    "Quality of JPEG that is encoded, 1 to 100; default 90. A camera's own is kept as it is.",
    takes: "n", as: wholeNumber(1...100, example: 90))
  var quality: Int?

  @Option(
    "Writes all that the source delivers, as MCAP, to be replayed or read.", takes: "path",
    completion: .file())
  var dump: String?

  @Flag(
    help: """
      --movie and --stills wait until they are asked for: by a key, a signal, or the control socket. \
      `{n}` in --movie stands for the file's number.
      """)
  var onDemand = false

  @Option(
    "A movie goes on in its next file after so much time, or so many bytes: 60s, 500M.",
    takes: "DURATION | SIZE", as: Extent.parse)
  var split: Extent?

  @Option(
    "A movie ends after so much time, or so many bytes over all its files: 10m, 4G.",
    takes: "DURATION | SIZE", as: Extent.parse)
  var longest: Extent?

  @Option(
    "A movie ends when its disk has less free than that: 2G.", takes: "size", as: ByteCount.parse)
  var keepFree: ByteCount?

  @Option(
    "Deletes the oldest files of --movie NAME-{n}.mov, of earlier runs too, so that all take less than that: "
      + "50G.", takes: "size", as: ByteCount.parse)
  var keepTotal: ByteCount?

  @Option(
    "What --movie, --dump, --sound and --reports write is on the disk so much later at most: what a power "
      + "cut costs, 100ms or more. Default: as the kernel does it.", takes: "duration",
    as: { text in
      let time = try Duration.parsePositive(text)
      guard time >= .milliseconds(100) else {
        throw ValidationError("give 100ms or more, such as 1s")
      }
      return time
    })
  var sync: Duration?

  @Option(
    "With --on-demand or --record-when: a recording begins so long before it was asked for, and photographs "
      + "of so long ago can be asked for.",
    takes: "duration", as: Duration.parsePositive)
  var preRoll: Duration?

  @Option(
    "Most memory of --pre-roll; default 256M. A pre-roll that needs more is shorter.",
    takes: "size", as: ByteCount.parse)
  var preRollMemory: ByteCount?

  @Option(
    "--movie records while this holds, and begins before: 'motion.score > 0.2'. Compares fields of the "
      + "stages' reports with < <= > >= == !=; and, or, not.", takes: "condition")
  var recordWhen: String?

  @Option(
    "With --record-when: goes on for so long after; default 3s.", takes: "duration",
    as: Duration.parse)
  var keep: Duration?
}
