internal import Sprocket
internal import SprocketPipelines

extension RunCommand {
  /// The run that the options describe.
  func makeRun(_ kinds: Kinds) throws(RunError) -> Run {
    var (run, before) = (Run(), Run())
    if let pipeline {
      run = try DescriptionFile(path: pipeline).run(kinds)
      run.origins = [pipeline == "-" ? "/dev/stdin" : pipeline]
    }
    if let like {
      guard pipeline == nil else {
        throw RunError(.usage, "--like and --pipeline both describe the run; give one of them")
      }
      before = try DescriptionFile(path: like).runBefore(kinds)
      run = before.unnamed
      run.origins = [like]
    }
    try input.addSources(to: &run, kinds)
    let labels = run.sources.map(\.label)
    try sound.checkLabels(labels)
    var used: Set<String> = []
    for index in run.sources.indices {
      try run.sources[index].naming(in: run) { () throws(RunError) in
        try addParts(to: &run.sources[index], kinds, used: &used)
      }
    }
    let hasSound = sound.sound != nil || run.sources.contains(where: \.pipeline.holdsSound)
    for index in run.sources.indices {
      try run.sources[index].naming(in: run) { () throws(RunError) in
        try sound.add(to: &run.sources[index], among: labels, hasSound: hasSound, kinds)
      }
      if recording.sync != nil, !run.sources[index].pipeline.sound.files.path.isEmpty {
        run.sources[index].pipeline.sound.files.sync = recording.sync
        used.insert("sync")
      }
    }
    try checkUse(used)
    try controllers.checkUse(used)
    try addShared(to: &run.settings)
    if let like { tellLeft(run.leaveUnnamed(of: before), like) }
    return run
  }

  /// Applies the options about stages and outputs to a source.
  private func addParts(
    to source: inout Run.Source, _ kinds: Kinds, used: inout Set<String>
  ) throws(RunError) {
    if !controllers.stage.isEmpty {
      source.pipeline.stages = try controllers.stage.map { (text) throws(RunError) in
        try kinds.stage(filled(text, source.label))
      }
      ControllerOptions.forgetBracket(of: &source.pipeline)
    }
    try addOutputs(to: &source, kinds, used: &used)
    let sharpest = source.pipeline.outputs.contains {
      $0[StillSettings.self]?.sharpest ?? .zero > .zero
    }
    try controllers.add(
      to: &source.pipeline,
      isDescribed: controllers.stage.isEmpty && !source.pipeline.stages.isEmpty,
      needsFocus: recording.stillsSharpest != nil && sharpest, kinds, used: &used)
  }

  /// Tells which outputs of the run before are not repeated.
  private func tellLeft(_ outputs: [String], _ like: String) {
    guard !outputs.isEmpty, !quiet else { return }
    Console.errors.say(
      "--like \(like): not repeated without a name: \(outputs.joined(separator: ", "))")
  }

  /// Applies the options that are for all sources.
  private func addShared(to settings: inout RunSettings) throws(RunError) {
    if let summary = outputs.summary {
      settings.summary = try outputName(summary, "--summary", isShared: true)
    }
    if let trace = outputs.trace {
      settings.trace = try outputName(trace, "--trace", isShared: true)
    }
    if let path = pairing.pairs { settings.pairs = try outputName(path, "--pairs", isShared: true) }
    settings.pair = pairing.pair ?? settings.pair
    settings.histograms = outputs.histograms || settings.histograms
    settings.frames = frames ?? settings.frames
    settings.duration = duration ?? settings.duration
    settings.workers = workers ?? settings.workers
    settings.memory = memory ?? settings.memory
    settings.wait = wait ?? settings.wait
    settings.verify = verify || settings.verify
    settings.overwrite = overwrite
  }
}
