internal import ArgumentParser
internal import CSprocketCalls
internal import Sprocket
internal import SprocketPipelines

/// `sprocket bench`: what stages cost, by the engine's own account of them.
struct BenchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Measures what a chain of stages costs.",
    discussion: """
      Every choice of format, size and workers is a case. Frames are made once and lie in memory; then each \
      case runs in turn, round after round. Ctrl-C ends it with what is finished.
      """)

  @Option(
    "A stage of the chain; the order given is the chain's order.", takes: "name[:key=value,...]")
  var stage: [String] = []

  @Option(
    help: ArgumentHelp("Where frames come from.", valueName: "scene | file:PATH | replay:PATH"))
  var source = "scene"

  @Option("A setting of the source; `\(programName) stages scene` lists them.", takes: "key=value")
  var sourceSet: [String] = []

  @Option(
    "A pixel format, as a fourcc; default of the scene: MJPG, YUYV and NV12.", takes: "fourcc")
  var format: [String] = []

  @Option(
    "A size in pixels; default of the scene: 640x480 and 1280x720.", takes: "WxH",
    as: FrameSize.parse)
  var size: [FrameSize] = []

  @Option(
    "Threads of each parallel lane; default 1.", takes: "n",
    as: wholeNumber(1...RunOptions.mostWorkers, example: 2))
  var workers: [Int] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("How often each case is measured; default 10.", valueName: "n"),
    transform: wholeNumber(1...100, example: 10))
  var rounds = 10

  @Option(
    "Frames of each case in each round; default as many as take 0.3 s.", takes: "n",
    as: wholeNumber(1...mostFrames, example: 300))
  var frames: UInt64?

  @Option(
    "Compares with an earlier result, and says what has changed by more than noise.", takes: "path",
    completion: .file())
  var against: String?

  @Option(
    "Exits with 3 if a step is slower by more than that than in the result of --against, and with 4 if that "
      + "cannot be decided.", takes: "percent%", as: percentage)
  var failAbove: Double?

  @Option("Writes the result as JSON. `-` is standard output.", takes: "path", completion: .file())
  var json: String?

  @Flag(help: "Replaces the file of --json if it exists.")
  var overwrite = false

  /// Seconds of each case in each round, and bounds for its frames: enough for a p99 over all rounds. Larger:
  /// smaller changes are detected, the benchmark takes longer.
  static let roundSeconds = 0.3
  static let frameLimits = 20.0...1000.0
  /// Frames of the first round, which only estimates the speed. Larger: a better estimate, a later start.
  static let firstFrames: UInt64 = 20
  /// Most frames of a round. Larger: catches fewer mistakes.
  static let mostFrames: UInt64 = 1_000_000
  static let defaultFormats: [PixelFormat] = [.mjpeg, .yuyv, .nv12]
  static let defaultSizes = [
    FrameSize(640, 480), FrameSize(1280, 720),
  ]

  func validate() throws {
    if stage.isEmpty { throw ValidationError("name what to measure, such as --stage focus") }
    if failAbove != nil, against == nil {
      throw ValidationError("--fail-above compares with an earlier result; give --against PATH")
    }
  }

  func execute(_ kinds: Kinds, _ signals: inout StopSignals) throws {
    let chain = try stage.map { try kinds.choice(kinds.stage($0)) }
    let earlier = try against.map { path throws(RunError) in try BenchResult.read(path) }
    var file: OutputFile?
    if let json {
      file = try OutputFile(path: json, purpose: "result", overwrite: overwrite)
    }
    let voice = Voice(isQuiet: false, isVerbose: false)
    let countsAllocations = sprocket_count_calls() > 0
    let machine = BenchMachine()
    if !machine.isOptimized {
      voice.tell(notice: "this is a debug build: what it measures says little about a release")
    }
    let loads = kernelText("/proc/loadavg")?.split(separator: " ").prefix(2) ?? []
    var cases = try makeCases(chain, kinds, &signals)
    let isWhole = try measure(&cases, earlier, &signals)
    let results = cases.compactMap { $0.result(countsAllocations: countsAllocations) }
    guard !results.isEmpty else {
      throw RunError(.failed, "stopped before the first round was over: nothing was measured")
    }
    var result = BenchResult(
      machine: machine, source: source, loadAverage: loads.compactMap { Double($0) },
      cases: results)
    if let earlier, let against {
      result.comparison = BenchComparison(
        of: result, with: earlier, path: against, limit: failAbove ?? BenchComparison.defaultLimit)
    }
    let table = BenchTable(result)
    let lines =
      table.lines + table.disturbances + (result.comparison.map { table.lines($0) } ?? [])
    for line in lines { (json == "-" ? Console.errors : Console.output).say(line) }
    if !isWhole {
      let done = cases.map(\.rounds.count).min() ?? 0
      voice.tell(notice: "stopped after \(done) of \(rounds) rounds: these are the figures of them")
    }
    guard let text = try? jsonText(result) else {
      throw RunError(.failed, "the result cannot be put into JSON; please report this")
    }
    try file.take()?.write(text + "\n")
    if failAbove != nil, let code = result.comparison?.verdict.exitCode { throw ExitCode(code) }
  }

  // MARK: Cases

  private func makeCases(
    _ chain: [StageChoice], _ kinds: Kinds, _ signals: inout StopSignals
  ) throws -> [BenchCase] {
    let isScene = source == "scene"
    let formats = try format.map { text throws(RunError) in try PixelFormat(option: text) }
    let formatChoices: [PixelFormat?] =
      formats.isEmpty ? (isScene ? Self.defaultFormats : [nil]) : formats
    let sizes: [FrameSize?] = size.isEmpty ? (isScene ? Self.defaultSizes : [nil]) : size
    var cases: [BenchCase] = []
    var refusals: [RunError] = []
    for format in formatChoices {
      for size in sizes {
        let clip = try load(format, size, kinds, &signals)
        for count in workers.isEmpty ? [1] : workers {
          do throws(RunError) {
            cases.append(
              try BenchCase(chain, clip, workers: count, frames: frames ?? Self.firstFrames))
          } catch {
            guard formats.isEmpty, isScene else { throw error }
            refusals.append(error)
          }
        }
      }
    }
    if cases.isEmpty, let first = refusals.first { throw first }
    for text in Set(refusals.map(\.description)).sorted() {
      tellError("left out: \(text)")
    }
    return cases
  }

  /// Copies the first frames of the source to memory.
  private func load(
    _ format: PixelFormat?, _ size: FrameSize?, _ kinds: Kinds,
    _ signals: inout StopSignals
  ) throws -> BenchClip {
    var values = try keyValues(sourceSet, option: "--source-set")
    if source == "scene", values["pace"] == nil { values["pace"] = "fast" }
    let part = try kinds.source(source, values)
    for file in part.settings.files where file.use == .read {
      try FileIdentity.refuseDevice(file.path)
    }
    var wanted = SourceFormat()
    (wanted.format, wanted.size) = (format, size)
    let made = try kinds.make(part, wanted)
    let box = ClipBox()
    let sink = ClosureSink("clip", reading: .encoded) { frame in box.clip?.add(frame) }
    let options = RunOptions(workers: 1, frameLimit: UInt64(BenchClip.frames))
    let engine = try Engine(source: made, sinks: [sink], options: options)
    let description = engine.description
    guard !description.isLive else {
      throw RunError(
        .usage,
        "\(description.name) is live, and a benchmark needs frames that wait; record some, and give the "
          + "file", change: .source)
    }
    let clip = BenchClip(description)
    box.clip = clip
    guard try engine.finish(&signals) else {
      throw RunError(.failed, "stopped before the first round was over: nothing was measured")
    }
    if let error = engine.summary.errors.first { throw error }
    guard clip.count > 0 else {
      throw RunError(.failed, "\(description.name) gave no whole frame to measure with")
    }
    return clip
  }

  // MARK: Rounds

  /// Returns true if all rounds were measured.
  private func measure(
    _ cases: inout [BenchCase], _ earlier: BenchResult?, _ signals: inout StopSignals
  ) throws -> Bool {
    var seconds = 0.0
    for index in cases.indices {
      guard let first = try cases[index].measure(&signals) else { return false }
      if frames == nil {
        let wanted = first.framesPerSecond * Self.roundSeconds
        let bounded = min(max(wanted, Self.frameLimits.lowerBound), Self.frameLimits.upperBound)
        // Results are compared best where their rounds show the same frames.
        let before = earlier?.cases.first { $0.name == cases[index].name }
        cases[index].frames = before.map { min($0.frames, Self.mostFrames) } ?? UInt64(bounded)
      }
      seconds += Double(cases[index].frames + BenchCase.warmUp) / first.framesPerSecond
    }
    let total = Int((seconds * Double(rounds)).rounded(.up))
    Console.errors.say(
      "\(cases.count) \(cases.count == 1 ? "case" : "cases"), \(rounds) rounds: some \(total) s")
    for round in 0..<rounds {
      for index in cases.indices {
        guard try cases[index].addRound(&signals) else { return false }
        if Console.errors.isTerminal {
          Console.errors.show(
            progress: ["round \(round + 1) of \(rounds), case \(index + 1) of \(cases.count)"])
        }
      }
    }
    return true
  }
}

extension BenchVerdict {
  /// Exit code with `--fail-above`; `nil` is success. No other command and no other mistake has these.
  fileprivate var exitCode: Int32? {
    switch self {
    case .slower: 3
    case .undecided: 4
    case .unchanged: nil
    }
  }
}

/// A share such as `5%`, as a fraction.
@Sendable private func percentage(_ text: String) throws -> Double {
  guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0.1...1000).contains(number)
  else { throw ValidationError("give a percentage, 0.1% to 1000%, such as 5%") }
  return number / 100
}

/// Holds the clip for the closure that fills it.
///
/// Unchecked: set before the run is started.
private final class ClipBox: @unchecked Sendable {
  var clip: BenchClip?
}
