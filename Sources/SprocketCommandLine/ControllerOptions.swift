internal import ArgumentParser
internal import Sprocket
internal import SprocketPipelines
internal import SprocketStages

/// The controllers of `sprocket run`, which drive the source by what the chain measures.
struct ControllerOptions: ParsableArguments {
  @Option(
    "A stage of the chain; the order given is the chain's order.", takes: "name[:key=value,...]")
  var stage: [String] = []

  @Option(
    "Drives exposure and gain; adds `meter` where it is missing.",
    takes: "locked | auto | continuous | custom")
  var autoExposure: String?

  @Option(
    "Drives the lens; adds `focus` where it is missing.",
    takes: "locked | auto | continuous | custom")
  var autoFocus: String?

  // The first step may begin with a hyphen.
  @Option(
    "Takes a frame for each step, by EV from the exposure that there is or by a control's values, and "
      + "ends: -2,0,2EV, exposure=5,20ms, gain=1,4, lens=0,0.5,1. --stills then has these frames alone.",
    takes: "steps", as: { $0 })
  var bracket: String?

  @Option(
    "Where `meter` and `focus` look, in fractions of the picture from its top left.", takes: "x/y")
  var point: String?

  /// Which stills are taken, as a condition; `nil` where the bracket does not choose.
  var stillCondition: String? { bracket == nil ? nil : Self.bracketStep }

  /// The condition of a bracket's stills.
  static let bracketStep = "bracket.step > 0"

  /// The condition that ends a run when its bracket is over.
  static let bracketEnd = "bracket.over"

  /// Removes what `--bracket` says beside the chain where the bracket has left the chain.
  static func forgetBracket(of pipeline: inout Pipeline) {
    guard pipeline.stages[Bracket.plugin.name] == nil else { return }
    if pipeline.asking.until == bracketEnd { pipeline.asking.until = "" }
    for index in pipeline.outputs.indices
    where pipeline.outputs[index][StillSettings.self]?.when == bracketStep {
      pipeline.outputs[index][StillSettings.self]?.when = ""
    }
  }

  /// Adds the controllers, and what they read, behind the chain that was asked for by name. With
  /// `needsFocus`, another option reads the stage `focus`, too. Over a chain that a file describes
  /// (`isDescribed`), options win. `used` gets the names of options that found their stage.
  func add(
    to pipeline: inout Pipeline, isDescribed: Bool, needsFocus: Bool, _ kinds: Kinds,
    used: inout Set<String>
  ) throws(RunError) {
    var chain = pipeline.stages
    if bracket != nil, autoExposure == "continuous" {
      throw RunError(
        .usage,
        "--bracket and --auto-exposure continuous would both change the exposure: give --auto-exposure auto, "
          + "which ends when the exposure is right")
    }
    let asked = [
      Controller("--auto-exposure", autoExposure, name: "autoexposure", reads: "meter"),
      Controller("--auto-focus", autoFocus, name: "autofocus", reads: "focus"),
      Controller(
        "--bracket", bracket, name: "bracket", setting: "steps",
        reads: bracket?.hasPrefix("lens=") == true ? "focus" : "meter"),
    ].compactMap(\.self)
    for name in asked.map(\.reads) + (needsFocus ? ["focus"] : []) where chain[name] == nil {
      // Before the controllers that a file has already: they read it.
      let controllers = ["autoexposure", "autofocus", "bracket"]
      let place = chain.firstIndex { controllers.contains($0.kind) } ?? chain.endIndex
      chain.insert(try kinds.stage(name), at: place)
    }
    if let point, try look(at: point, &chain, isDescribed: isDescribed, kinds) {
      used.insert("point")
    }
    for controller in asked {
      if isDescribed, chain[controller.name] != nil {
        if let part = chain[controller.name] {
          chain[controller.name] = try controller.part(kinds, from: part.settings)
        }
        continue
      }
      if chain[controller.name] != nil {
        throw RunError(
          .usage, "\(controller.option): --stage \(controller.name) is there already; give one")
      }
      chain.append(try controller.part(kinds))
    }
    pipeline.stages = chain
    if bracket != nil { pipeline.asking.until = Self.bracketEnd }
  }

  /// The share of the picture's sides that `focus` looks at around a point.
  private static let window = "0.25"

  /// Throws where no stage of the run looks at a point.
  func checkUse(_ used: Set<String>) throws(RunError) {
    guard point != nil, !used.contains("point") else { return }
    throw RunError(
      .usage,
      "--point: no stage of the chain looks at a point; add --auto-exposure, --auto-focus, "
        + "--stage meter or --stage focus")
  }

  /// Gives the point to each stage that has one, and has it look there alone unless it is told how. Returns
  /// whether there is one.
  private func look(
    at point: String, _ chain: inout [Part], isDescribed: Bool, _ kinds: Kinds
  ) throws(RunError) -> Bool {
    guard Point(settingText: point) != nil else {
      throw RunError(.usage, "--point \(point) is not allowed: give \(Point.allowed)")
    }
    let narrower = ["meter": ("mode", "spot"), "focus": ("window", Self.window)]
    if let mode = chain["meter"]?[ExposureMeter.Settings.self]?.mode, mode != .spot,
      mode != ExposureMeter.Settings().mode
    {
      throw RunError(
        .usage,
        "--point: --stage meter:mode=\(mode.settingText) has no point; leave the mode out, or the point"
      )
    }
    var isUsed = false
    for index in chain.indices {
      let kind = try kinds.kind(chain[index].kind, .stage)
      guard kind.settingNames.contains("point") else { continue }
      let given = chain[index].settings.chosen.map(\.name)
      guard isDescribed || !given.contains("point") else {
        throw RunError(.usage, "--point: --stage \(kind.name) has a point already; give one")
      }
      var texts = ["point": point]
      if let (name, value) = narrower[kind.name], !given.contains(name) { texts[name] = value }
      chain[index].settings = try kind.settings(texts, from: chain[index].settings)
      isUsed = true
    }
    return isUsed
  }
}

/// One controller that was asked for.
private struct Controller {
  let option: String
  let value: String
  let name: String
  /// The stage's setting that has the option's value.
  let setting: String
  let reads: String

  init?(_ option: String, _ value: String?, name: String, setting: String = "mode", reads: String) {
    guard let value else { return nil }
    self.option = option
    self.value = value
    self.name = name
    self.setting = setting
    self.reads = reads
  }

  /// `base`: settings that a file gives besides.
  func part(_ kinds: Kinds, from base: (any KindSettings)? = nil) throws(RunError) -> Part {
    let plugin = try kinds.kind(name, .stage)
    var settings = base ?? plugin.settingsType.init()
    do throws(SettingError) {
      try settings.set(setting, to: value)
    } catch {
      throw RunError(.usage, "\(option) \(value) is not allowed: give \(error.allowed)")
    }
    return Part(name, settings)
  }
}
