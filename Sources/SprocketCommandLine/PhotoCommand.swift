internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines
internal import SprocketStages

/// `sprocket photo`: a run that takes one still and ends; with `--run`, a request to a run that goes on.
struct PhotoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "photo", abstract: "Takes a photograph.",
    discussion: """
      Frames of the start, which a camera marks or `startup` of the source counts, are not taken. Where \
      exposure or lens are driven, the picture waits until they have settled.

      EXAMPLES:
        \(programName) photo out.jpg --after 2s
        \(programName) photo out.png --auto-exposure auto --auto-focus auto
        \(programName) photo out.jpg --sharpest 1s --size 1920x1080
        \(programName) photo --run /run/sprocket/control --ago 300ms

      The path of the file is printed. With --run, the run that listens there takes the photograph, as its \
      --stills say. A moment of the past needs a run with --on-demand, --stills and --pre-roll.
      """)

  @Argument(
    help: ArgumentHelp(
      "The file, whose ending says what it is; not with --run.",
      valueName: "path.jpg | .png | .tif | .dng"),
    completion: .file())
  var path: String?

  @Option("Asks the run with this control socket.", takes: "socket", completion: .file())
  var run: String?

  @Option(
    "With --run: the frame of so long ago, such as 300ms.", takes: "duration", as: Duration.parse)
  var ago: Duration?

  @Option(
    "With --run: of that time, or of now, the `nearest` frame (the default with --ago), the first `after` "
      + "it, or the last `before` it.", takes: "nearest | after | before")
  var moment: FrameChoice.Rule?

  @OptionGroup(title: "Source: where frames come from, and in which shape")
  var input: SourceOptions

  @OptionGroup(title: "Stages: what becomes of frames, and what drives the camera")
  var controllers: ControllerOptions

  @Option(
    "The photograph is none of the frames before so much time after the first.",
    takes: "duration", as: Duration.parse)
  var after: Duration?

  @Option(
    "The sharpest frame within so much time; adds `focus` where it is missing.", takes: "duration",
    as: Duration.parsePositive)
  var sharpest: Duration?

  @Option(
    "Gives up when there is no photograph so long after it could have been taken (default: 10s).",
    takes: "duration", as: Duration.parsePositive)
  var within: Duration?

  @Option("Of JPEG that is encoded: 1 to 100.", takes: "n", as: wholeNumber(1...100, example: 90))
  var quality: Int?

  @Flag(help: "Replaces a file that exists.")
  var overwrite = false

  @Flag(help: "Prints errors alone, and the path with --run.")
  var quiet = false

  /// Time that loops may take to settle. Larger: a dark room, or a slow lens, still gives a photograph; a
  /// camera that never settles is told of later.
  private static let patience = Duration.seconds(10)

  /// The words of a loop's `state` with which the picture is as it is to be.
  private static let settled = [
    AutoExposure.plugin.name: ["converged", "limited", "locked", "custom"],
    AutoFocus.plugin.name: ["focused", "resting", "locked"],
  ]

  func execute(
    _ kinds: Kinds, _ invocation: Invocation, _ signals: inout StopSignals
  ) throws {
    if let run { return try ask(run, &signals) }
    guard ago == nil, moment == nil else {
      throw RunError(
        .usage,
        "a moment of the past is one of a run that goes on; name its control socket by --run")
    }
    guard let path else {
      throw RunError(.usage, "a photograph needs a name, such as `\(programName) photo out.jpg`")
    }
    guard StillFormat(ending: path) != nil else {
      throw RunError(
        .usage, "a photograph's name ends with .jpg, .png, .tif or .dng, and \(path) does not")
    }
    // A run makes the folder of its stills; the name of one photograph is more likely misspelled.
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    // A label or a number of a folder is not known yet.
    guard folder.contains("{") || PartialFile.isFolder(folder) else {
      throw RunError(
        .usage,
        "cannot write a photograph to \(path): the directory \(folder) does not exist; make it")
    }
    guard controllers.bracket == nil else {
      throw RunError(
        .usage, "--bracket takes several stills; use `\(programName) run --stills FOLDER --bracket`"
      )
    }
    var run = try RunCommand.parse([])
    (run.input, run.controllers) = (input, controllers)
    run.recording.stills = path
    run.recording.stillsSharpest = sharpest
    run.recording.quality = quality
    (run.overwrite, run.quiet) = (overwrite, quiet)
    run.duration = (after ?? .zero) + (sharpest ?? .zero) + (within ?? Self.patience)
    try run.execute(kinds, invocation, &signals, takesPhoto: true) { described in
      for index in described.sources.indices { complete(&described.sources[index].pipeline) }
    }
  }

  /// Has the still taken once, and when the loops of the chain have settled.
  private func complete(_ pipeline: inout Pipeline) {
    let loops = pipeline.stages.compactMap { stage in
      Self.settled[stage.kind].map { words in
        "(" + words.map { "\(stage.id).state == \($0)" }.joined(separator: " or ") + ")"
      }
    }
    for index in pipeline.outputs.indices {
      pipeline.outputs[index][StillSettings.self]?.count = 1
      pipeline.outputs[index][StillSettings.self]?.after = after ?? .zero
      pipeline.outputs[index][StillSettings.self]?.when = loops.joined(separator: " and ")
    }
  }
}
