internal import ArgumentParser
internal import Sprocket

/// Where the frames of `sprocket run` come from.
struct SourceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where frames come from: if nothing is said, the first camera, or the built-in scene where there is "
        + "none. `\(programName) stages` lists every source. May be given several times, as LABEL=SOURCE: a "
        + "label names each in options and in `{source}`, which stands for it in names of files.",
      valueName: "camera[:NAME] | file:PATH | replay:PATH | pipe:FD | scene | none"))
  var source: [String] = []

  @Option(
    help: ArgumentHelp(
      "A setting of the source; `\(programName) stages scene` lists them.",
      valueName: "[label.]key=value"))
  var sourceSet: [String] = []

  @Option(
    help: ArgumentHelp(
      "Pixel format, as a fourcc.", valueName: "[label=]fourcc"),
    transform: Labelled.parser { $0 })
  var format: [Labelled<String>] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Width and height in pixels: 1280x720.", valueName: "[label=]WxH"),
    transform: Labelled.parser(FrameSize.parse))
  var size: [Labelled<FrameSize>] = []

  @Option(
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Frames per second: 30, 29.97, 30000/1001.", valueName: "[label=]fps"),
    transform: Labelled.parser(FrameRate.parse))
  var rate: [Labelled<FrameRate>] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Begins with the first frame at or after this time, from the first frame: for file: and replay:.",
      valueName: "duration"),
    transform: Duration.parse)
  var from: Duration?

  @Option(
    help: ArgumentHelp(
      "A control of the source, set at the start.", valueName: "[label.]name=value"))
  var control: [String] = []

  @Option(
    help: ArgumentHelp(
      "A file of a camera's controls, set at the start, before --control; `\(programName) devices NAME "
        + "--save` makes it.", valueName: "path"), completion: .file())
  var controls: String?

  @Option(
    help: ArgumentHelp(
      "When the camera is unplugged: waits for it, stops, or waits for so long. Recordings wait, all else "
        + "stops, where it is not given.", valueName: "wait | stop | DURATION"),
    transform: Duration.parseUnplug)
  var onUnplug: Duration?
}
