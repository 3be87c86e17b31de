internal import ArgumentParser
internal import Sprocket

/// Where the frames of `sprocket run` come from.
struct SourceOptions: ParsableArguments {
  @Option(
    "Where frames come from: if nothing is said, the first camera. `\(programName) stages` lists every "
      + "source. May be given several times, as LABEL=SOURCE: a label names each in options and in "
      + "`{source}`, which stands for it in names of files.",
    takes: "camera[:NAME] | file:PATH | replay:PATH | pipe:FD | scene | none")
  var source: [String] = []

  @Option(
    "A setting of the source; `\(programName) stages scene` lists them.", takes: "[label.]key=value"
  )
  var sourceSet: [String] = []

  @Option("Pixel format, as a fourcc.", takes: "[label=]fourcc", as: Labelled.parser { $0 })
  var format: [Labelled<String>] = []

  @Option(
    "Width and height in pixels: 1280x720.", takes: "[label=]WxH",
    as: Labelled.parser(FrameSize.parse))
  var size: [Labelled<FrameSize>] = []

  @Option(
    "Frames per second: 30, 29.97, 30000/1001.", takes: "[label=]fps",
    as: Labelled.parser(FrameRate.parse))
  var rate: [Labelled<FrameRate>] = []

  @Option(
    "Begins with the first frame at or after this time, from the first frame: for file: and replay:.",
    takes: "duration", as: Duration.parse)
  var from: Duration?

  @Option("A control of the source, set at the start.", takes: "[label.]name=value")
  var control: [String] = []

  @Option(
    "A file of a camera's controls, set at the start, before --control; `\(programName) devices NAME "
      + "--save` makes it.", takes: "path", completion: .file())
  var controls: String?

  @Option(
    "When the camera is unplugged: waits for it, stops, or waits for so long. Recordings wait, all else "
      + "stops, where it is not given.", takes: "wait | stop | DURATION", as: Duration.parseUnplug)
  var onUnplug: Duration?
}
