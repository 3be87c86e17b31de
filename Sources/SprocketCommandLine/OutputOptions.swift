internal import ArgumentParser
internal import Sprocket

/// What `sprocket run` tells of the frames, and what it hands to other programs.
struct OutputOptions: ParsableArguments {
  @Option(
    "Writes JSON Lines: one per produced frame. `-` is standard output.", takes: "path",
    completion: .file())
  var reports: String?

  @Option(
    "Writes how the run went as one JSON object. `-` is standard output.", takes: "path",
    completion: .file())
  var summary: String?

  @Flag(help: "Puts the whole distributions of durations into the summary.")
  var histograms = false

  @Option(
    "Writes what each thread did to each frame, to be opened in Perfetto or chrome://tracing.",
    takes: "path", completion: .file())
  var trace: String?

  @Option(
    "Writes frames to standard output. The settings are those of the sink `pipe`.",
    takes: "y4m | gray | rgb | bgr | tensor[:key=value,...]")
  var pipe: String?

  @Flag(help: "With --pipe: precedes each frame by a header with its number, times and shape.")
  var pipeHeader = false

  @Option(
    "Shares frames with other programs in memory. The settings are those of the sink `share`.",
    takes: "name[:layout][,key=value...]")
  var share: [String] = []

  @Option(
    "Is a camera for other programs, by a v4l2loopback device. The settings are those of the sink "
      + "`virtual`.", takes: "device[,key=value...]", completion: .file())
  var virtual: String?

  @Option(
    name: .customLong("page"), defaultAsFlag: "",
    help: ArgumentHelp(
      "Shows the camera in a browser: 127.0.0.1:8080 where no address is given. The settings are those "
        + "of the sink `page`.", valueName: "address:port | unix:path[,key=value...]"))
  var page: String?

  @Flag(help: "Makes a digest of every frame, and of the run.")
  var checksum = false

  @Option(
    "As --checksum, and writes a line per frame. `-` is standard output.", takes: "path",
    completion: .file())
  var checksums: String?

  @Option(
    "A sink by name, one of your own among them; `\(programName) stages` lists them.",
    takes: "name[:argument][,key=value,...]")
  var sink: [String] = []

  @Flag(help: "Counts frames and drops them; the default where no other sink is named.")
  var null = false
}
