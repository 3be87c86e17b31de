internal import Sprocket
internal import SprocketPipelines

extension RunCommand {
  /// The run that the options describe.
  func makeRun(_ kinds: Kinds) throws(RunError) -> Run {
    var run = Run()
    if let pipeline {
      run = try DescriptionFile(path: pipeline).run(kinds)
      run.origins = [pipeline == "-" ? "/dev/stdin" : pipeline]
    }
    if let like {
      guard pipeline == nil else {
        throw RunError(.usage, "--like and --pipeline both describe the run; give one of them")
      }
      run = try DescriptionFile(path: like).runBefore(kinds)
      run.origins = [like]
    }
    let before = run
    try input.addSources(to: &run, kinds)
    let labels = run.sources.map(\.label)
    try sound.checkLabels(labels)
    for index in run.sources.indices {
      var source = run.sources[index]
      try source.naming(in: run) { () throws(RunError) in
        try sound.add(to: &source, among: labels, kinds)
        try addOutputs(to: &source, kinds)
        var pipeline = source.pipeline
        if !controllers.stage.isEmpty {
          pipeline.stages = try controllers.stage.map { (text) throws(RunError) in
            try kinds.stage(filled(text, source.label))
          }
        }
        try controllers.add(
          to: &pipeline, isDescribed: controllers.stage.isEmpty && !pipeline.stages.isEmpty,
          needsFocus: recording.stillsSharpest != nil, kinds)
        source.pipeline = pipeline
      }
      run.sources[index] = source
    }
    try addShared(to: &run.settings)
    if let like { tellLeft(run.leaveUnnamed(of: before), like) }
    return run
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
