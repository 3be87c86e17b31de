internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines
internal import SprocketStages

// What a run leaves at its end: files, and an exit code.
extension RunJob {
  /// Writes a file on another thread, and checks for signals meanwhile: a pipe or a network disk may
  /// block.
  func write(
    _ what: String, to path: String, _ write: @escaping () throws -> Void, isHurried: Bool,
    _ signals: inout StopSignals
  ) throws {
    let limit = Duration.seconds(2)
    guard let work = try? BackgroundWork(what, write) else { return try write() }
    do {
      try work.value(&signals, limit: isHurried ? limit : nil) { limit }
    } catch is Abandoned {
      throw RunError(.failed, "stopped before the \(what) was written to \(path)")
    }
  }

  /// Errors are told once; the first decides the exit code. An unbalanced ledger is one.
  func judge(
    _ group: PreparedRuns, _ results: [RunResult], _ others: [RunError]
  ) throws {
    var errors: [RunError] = []
    var isBalanced = true
    for (run, result) in zip(group.runs, results) {
      for entry in result.summary.ledger.unbalanced {
        isBalanced = false
        tellError(
          run.named(
            "the ledger of \(entry.sink) does not add up: \(result.summary.ledger.produced) produced,"
              + " \(entry.counts.sum) accounted for; please report this"))
      }
      errors += result.summary.errors.map {
        RunError($0.code, run.named($0.description), $0.settings)
      }
    }
    errors += others
    guard let first = errors.first else {
      if !isBalanced { throw ExitCode(1) }
      return
    }
    for error in errors.dropFirst() { tellError(error.told) }
    throw RunError(.failed, first.description, first.settings)
  }
}

extension PreparedRun {
  /// Errors for files of pictures that were to be made and were not, since no frame came to them. What is
  /// recorded on request may never be asked for.
  func missingFiles(_ summary: RunSummary) -> [RunError] {
    guard summary.errors.isEmpty else { return [] }
    return [missingStills(summary)].compactMap(\.self)
      + desk.parts.pipeline.outputs.compactMap { missingPictures(of: $0, summary) }
  }

  private func missingPictures(of part: Part, _ summary: RunSummary) -> RunError? {
    let stills = part[StillSettings.self]
    let path: OutputName? =
      if let movie = part[MovieSettings.self], !movie.isAsked {
        movie.path
      } else if let stills, !stills.isOnDemand { stills.path } else { nil }
    guard let path, let entry = summary.ledger.entries.first(where: { $0.sink == part.id }),
      entry.counts[.delivered] == 0
    else { return nil }
    // The reader of standard output left before the first fragment, as is its right: an error of writing
    // would be in the summary.
    if FileIdentity.isStandardOutput(path.path), entry.counts[.flushed] > 0 { return nil }
    let fates = Fate.allCases.filter { entry.counts[$0] > 0 }
      .map { "\(entry.counts[$0]) \($0.name)" }
    let why = fates.isEmpty ? "none was produced" : fates.joined(separator: ", ")
    let when = stills?.when ?? ""
    let condition =
      when.isEmpty || entry.counts[.unselected] == 0 ? "" : "; for none of these held \(when)"
    // The limit may be what was too short.
    let limit = limits.duration.flatMap { summary.producing >= $0 - .seconds(1) ? $0 : nil }
    let within = limit.map { " within \($0.settingText)" } ?? ""
    let end = limit.map { _ in "; look at the source, or wait longer" } ?? ""
    return RunError(
      .failed,
      "no frame reached \(path.path)\(within), which was not written: \(why)\(condition)\(end)",
      limit == nil ? [] : [.duration])
  }

  /// An error if a bracket came out, and not all of its stills were written.
  private func missingStills(_ summary: RunSummary) -> RunError? {
    guard pipeline.asking.until == ControllerOptions.bracketEnd,
      let steps = pipeline.stages[Bracket.plugin.name]?[Bracket.Settings.self]?.steps.values.count,
      let part = pipeline.outputs.first(where: {
        $0[StillSettings.self]?.when == ControllerOptions.bracketStep
      }),
      let stills = summary.ledger.entries.first(where: { $0.sink == part.id }),
      stills.counts[.delivered] < steps
    else { return nil }
    return RunError(
      .failed,
      "\(stills.counts[.delivered]) of the bracket's \(steps) stills were written; choose a smaller size, or "
        + "a faster disk")
  }
}
