internal import Sprocket
internal import SprocketPipelines

// What is to be measured: every choice of variant, format, size and workers.
extension BenchCommand {
  /// One for each variant of what is given several times.
  func chains(_ kinds: Kinds) throws -> [BenchChain] {
    let stages = try stage.map { try kinds.choice(kinds.stage($0)) }
    let sinks = try sink.map { text throws(RunError) in
      let part = try kinds.sink(text)
      guard part.kind != PipeSink.kind.name,
        !part.settings.files.contains(where: { $0.path == "-" })
      else {
        throw RunError(
          .usage, "--sink \(text): the table goes to standard output; give a file", change: .sink)
      }
      guard part.kind != ShareSink.kind.name else {
        throw RunError(
          .usage,
          "--sink \(text): a share waits for programs that read it, and a benchmark has none; give "
            + "another sink",
          change: .sink)
      }
      return part
    }
    return variants(of: stages) { $0.plugin.name }.flatMap { stages in
      variants(of: sinks) { $0.kind }.map { BenchChain(stages: stages, sinks: $0) }
    }
  }

  func makeCases(
    _ chains: [BenchChain], _ kinds: Kinds, _ signals: inout StopSignals
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
        let origin = try origin(format, size, kinds)
        let clip = try load(origin, &signals)
        for chain in chains {
          for count in workers.isEmpty ? [1] : workers {
            do throws(RunError) {
              cases.append(try makeCase(chain, clip, origin, workers: count))
            } catch {
              guard formats.isEmpty, isScene else { throw error }
              refusals.append(error)
            }
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

  private func makeCase(
    _ chain: BenchChain, _ clip: BenchClip, _ origin: BenchOrigin, workers: Int
  ) throws(RunError) -> BenchCase {
    func make(_ isFromSource: Bool) throws(RunError) -> BenchCase {
      try BenchCase(
        chain, clip, origin, isFromSource: isFromSource, workers: workers,
        frames: frames ?? Self.firstFrames, overwrite: overwrite)
    }
    if measureSource { return try make(true) }
    do throws(RunError) {
      return try make(false)
    } catch {
      // Frames in memory have no controls, which a stage that steers needs.
      guard clip.source.controls != nil, let steered = try? make(true) else { throw error }
      return steered
    }
  }

  private func origin(
    _ format: PixelFormat?, _ size: FrameSize?, _ kinds: Kinds
  ) throws -> BenchOrigin {
    var values = try keyValues(sourceSet, option: "--source-set")
    if source == "scene", values["pace"] == nil { values["pace"] = "fast" }
    let part = try kinds.source(source, values)
    for file in part.settings.files where file.use == .read {
      try FileIdentity.refuseDevice(file.path)
    }
    var wanted = SourceFormat()
    (wanted.format, wanted.size) = (format, size)
    return BenchOrigin(kinds: kinds, part: part, format: wanted)
  }

  /// Copies the first frames of the source to memory.
  private func load(_ origin: BenchOrigin, _ signals: inout StopSignals) throws -> BenchClip {
    let box = ClipBox()
    let sink = ClosureSink("clip", reading: .encoded) { frame in box.clip?.add(frame) }
    let options = RunOptions(workers: 1, frameLimit: UInt64(BenchClip.frames))
    let engine = try Engine(source: origin.make(), sinks: [sink], options: options)
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
}

/// All choices of one of each name, in the order in which the names come first.
private func variants<Choice>(
  of all: [Choice], name: (Choice) -> String
) -> [[Choice]] {
  var names: [String] = []
  for choice in all where !names.contains(name(choice)) { names.append(name(choice)) }
  return names.reduce([[]]) { chains, wanted in
    chains.flatMap { chain in all.filter { name($0) == wanted }.map { chain + [$0] } }
  }
}

/// Holds the clip for the closure that fills it.
///
/// Unchecked: set before the run is started.
private final class ClipBox: @unchecked Sendable {
  var clip: BenchClip?
}
