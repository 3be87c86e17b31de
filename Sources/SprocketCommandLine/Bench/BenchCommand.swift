internal import ArgumentParser
internal import CSprocketCalls
internal import Sprocket
internal import SprocketPipelines

/// `sprocket bench`: what stages cost, by the engine's own account of them.
struct BenchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Measures what sources, stages, encoders and sinks cost.",
    discussion: """
      Every choice of variant, format, size and workers is a case. Frames are made once and lie in \
      memory; then each case runs in turn, round after round. Ctrl-C ends it with what is finished.
      """)

  @Option(
    "A stage of the chain; the order given is the chain's order. One that is given again, with other "
      + "settings, is a variant.", takes: "name[:key=value,...]")
  var stage: [String] = []

  @Option(
    "A sink that gets the frames, or a variant of one; each round replaces its files.",
    takes: "name[:argument][,key=value,...]")
  var sink: [String] = []

  @Flag(help: "Takes frames from the source in each round, not from memory, and measures it.")
  var measureSource = false

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

  @Option(
    "Writes a row for each step as CSV. `-` is standard output.", takes: "path", completion: .file()
  )
  var csv: String?

  @Option(
    "Writes how long each step took for each frame of each round, as CSV.", takes: "path",
    completion: .file())
  var frameTimes: String?

  @Option(
    "Runs on these cores alone, counted from 0: 1, 0,1 or 0-3.", takes: "cores", as: coreList)
  var cpu: [Int32]?

  @Flag(help: "Replaces files that exist, also of sinks.")
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
    if stage.isEmpty, sink.isEmpty, !measureSource {
      throw ValidationError(
        "name what to measure, such as --stage focus, --sink or --measure-source")
    }
    if failAbove != nil, against == nil {
      throw ValidationError("--fail-above compares with an earlier result; give --against PATH")
    }
  }

  func execute(_ kinds: Kinds, _ signals: inout StopSignals) throws {
    let chains = try chains(kinds)
    let earlier = try against.map { path throws(RunError) in try BenchResult.read(path) }
    let outputs = [json, csv, frameTimes].compactMap(\.self)
    guard outputs.count(where: { $0 == "-" }) < 2 else {
      throw RunError(.usage, "two files are `-`, standard output; give one a name")
    }
    var files = try BenchFiles(json: json, csv: csv, frames: frameTimes, overwrite: overwrite)
    let console = outputs.contains("-") ? Console.errors : Console.output
    if let cores = cpu { try pinThreads(to: cores) }
    let voice = Voice(isQuiet: false, isVerbose: false)
    let countsAllocations = sprocket_count_calls() > 0
    let machine = BenchMachine(pinned: cpu)
    if !machine.isOptimized {
      voice.tell(notice: "this is a debug build: what it measures says little about a release")
    }
    let loads = kernelText("/proc/loadavg")?.split(separator: " ").prefix(2) ?? []
    var method = BenchMethod(keepsFrames: frameTimes != nil)
    var notCounted: String?
    do throws(RunError) {
      method.counters = try HardwareCounters(BenchMethod.events)
    } catch {
      notCounted = error.description
    }
    var cases = try makeCases(chains, kinds, &signals)
    for index in cases.indices { cases[index].method = method }
    let isWhole = try measure(&cases, earlier, &files, &signals)
    let results = cases.compactMap { $0.result(countsAllocations: countsAllocations) }
    guard !results.isEmpty else {
      throw RunError(.failed, "stopped before the first round was over: nothing was measured")
    }
    var result = BenchResult(
      machine: machine, source: source, loadAverage: loads.compactMap { Double($0) },
      notCounted: notCounted, cases: results)
    if let earlier, let against {
      result.comparison = BenchComparison(
        of: result, with: earlier, path: against, limit: failAbove ?? BenchComparison.defaultLimit)
    }
    let table = BenchTable(result)
    let lines =
      table.lines + table.remarks + (result.comparison.map { table.lines($0) } ?? [])
    for line in lines { console.say(line) }
    if !isWhole {
      let done = cases.map(\.rounds.count).min() ?? 0
      voice.tell(notice: "stopped after \(done) of \(rounds) rounds: these are the figures of them")
    }
    for found in cases {
      guard let fates = found.rounds.first?.dropped else { continue }
      voice.tell(
        notice:
          "\(found.name): no frame passed the stages (\(fates)): the figures are those of dropping")
    }
    try files.write(result)
    if failAbove != nil, let code = result.comparison?.verdict.exitCode { throw ExitCode(code) }
  }

  // MARK: Rounds

  /// Returns true if all rounds were measured.
  private func measure(
    _ cases: inout [BenchCase], _ earlier: BenchResult?, _ files: inout BenchFiles,
    _ signals: inout StopSignals
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
        if let trace = cases[index].rounds[round].trace.take() {
          try files.add(trace, of: cases[index], round: round)
        }
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
    case .unchanged, .faster: nil
    }
  }
}

/// A share such as `5%`, as a fraction.
@Sendable private func percentage(_ text: String) throws -> Double {
  guard text.hasSuffix("%"), let number = Double(text.dropLast()), (1...1000).contains(number)
  else {
    throw ValidationError(
      "give a percentage, 1% to 1000%, such as 5%: what is less cannot be told from noise")
  }
  return number / 100
}

/// Cores such as `1`, `0,1` or `0-3`.
@Sendable private func coreList(_ text: String) throws -> [Int32] {
  let cores = text.split(separator: ",", omittingEmptySubsequences: false).flatMap {
    part -> [Int32] in
    let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int32($0) }
    guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
      first >= 0, first <= last, last < 1024
    else { return [-1] }
    return Array(first...last)
  }
  guard !cores.contains(-1) else {
    throw ValidationError("give cores, 0 to 1023, such as 1, 0,1 or 0-3")
  }
  return Set(cores).sorted()
}
