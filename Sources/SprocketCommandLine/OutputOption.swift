internal import Sprocket
internal import SprocketPipelines

/// An option of `run` that sets one setting of outputs. The table `all` is the only place that says which
/// setting it is, and which outputs get it.
struct OutputOption: Sendable {
  /// Which outputs of a run an option is for.
  enum Scope {
    /// All of its kinds.
    case all
    /// Those of its kinds that the command line names; where it names none, those of the file.
    case named
    /// Like `named`; of several in the file, the one that is recorded on request, on a condition or within
    /// limits, if there is one.
    case asked
  }

  /// Without its dashes.
  let name: String
  let setting: String
  let kinds: [String]
  let scope: Scope
  /// What is given on the command line.
  let text: @Sendable (RunCommand) -> String?

  private init(
    _ name: String, _ setting: String? = nil, of kinds: [String], _ scope: Scope = .named,
    _ text: @escaping @Sendable (RunCommand) -> String?
  ) {
    (self.name, self.setting, self.kinds) = (name, setting ?? name, kinds)
    (self.scope, self.text) = (scope, text)
  }

  private static let movie = [MovieSink.kind.name]
  private static let stills = [StillSink.kind.name]

  /// The codec stands before the quality, which not all codecs have.
  static let all = [
    Self("codec", of: movie) { $0.recording.codec },
    Self("container", of: movie) { $0.recording.container },
    Self("quality", of: movie + stills) { $0.recording.quality?.settingText },
    Self("movie-reports", "reports", of: movie) { $0.recording.movieReports ? "true" : nil },
    Self("every", of: stills) { $0.recording.every?.settingText },
    Self("stills-sharpest", "sharpest", of: stills) { $0.recording.stillsSharpest?.settingText },
    Self("bracket", "when", of: stills) { $0.controllers.stillCondition },
    Self("on-demand", of: movie + stills, .asked) { $0.recording.onDemand ? "true" : nil },
    Self("record-when", of: movie, .asked) { $0.recording.recordWhen },
    Self("keep", of: movie, .asked) { $0.recording.keep?.settingText },
    Self("pre-roll", of: movie + stills, .asked) { $0.recording.preRoll?.settingText },
    Self("pre-roll-memory", of: movie + stills, .asked) { $0.recording.preRollMemory?.settingText },
    Self("split", of: movie, .asked) { $0.recording.split?.settingText },
    Self("longest", of: movie, .asked) { $0.recording.longest?.settingText },
    Self("keep-free", of: movie, .asked) { $0.recording.keepFree?.settingText },
    Self("keep-total", of: movie, .asked) { $0.recording.keepTotal?.settingText },
    Self("sync", of: movie + [DumpSink.kind.name, ReportSink.kind.name], .all) {
      $0.recording.sync?.settingText
    },
  ]

  /// The numbers of the outputs that it is for. `named` are those that the command line names, each with
  /// whether an option of its own does, such as `--movie`, or `--sink`.
  func targets(among outputs: [Part], named: [Int: Bool]) -> [Int] {
    var found = outputs.indices.filter { kinds.contains(outputs[$0].kind) }
    /// Leaves those of each kind for which a condition holds, if it holds for one.
    func prefer(_ condition: (Int) -> Bool) {
      let fit = found.filter(condition).map { outputs[$0].kind }
      found.removeAll { fit.contains(outputs[$0].kind) && !condition($0) }
    }
    if scope != .all, found.contains(where: { named[$0] != nil }) {
      found.removeAll { named[$0] == nil }
      prefer { named[$0] == true }
    } else if scope == .asked {
      prefer { outputs[$0].isAsked }
    }
    let fit = found.filter { outputs[$0].fits(setting) }
    return fit.isEmpty ? found : fit
  }

  /// An error where nothing is there that it is for.
  var useless: RunError {
    let names = kinds.map { "--\($0)" } + (name == "sync" ? ["--sound"] : [])
    let all = names.dropLast().joined(separator: ", ") + (names.count > 1 ? " and " : "")
    let remedy =
      names.count > 1
      ? "one of them" : "\(names[0]) \(kinds == Self.stills ? "FOLDER" : "PATH")"
    return RunError(
      .usage, "--\(name) is for \(all)\(names[names.count - 1]); add \(remedy)")
  }
}

extension Part {
  /// Whether an option for several outputs is for this one. The quality of stills is none of a movie that an
  /// encoder makes, and stills that nobody asks for have no pre-roll.
  fileprivate func fits(_ setting: String) -> Bool {
    switch setting {
    case "quality": self[MovieSettings.self]?.codec.isJPEG ?? true
    case "pre-roll", "pre-roll-memory": self[StillSettings.self]?.isOnDemand ?? true
    default: true
    }
  }
}
