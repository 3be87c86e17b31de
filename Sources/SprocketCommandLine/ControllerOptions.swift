internal import ArgumentParser
internal import Sprocket
internal import SprocketStages

/// The controllers of `sprocket run`, which drive the source by what the chain measures.
struct ControllerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Drives exposure and gain; adds `meter` where it is missing.",
      valueName: "locked | auto | continuous | custom"))
  var autoExposure: String?

  @Option(
    help: ArgumentHelp(
      "Drives the lens; adds `focus` where it is missing.",
      valueName: "locked | auto | continuous | custom"))
  var autoFocus: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Takes a frame for each step, by EV from the exposure that there is or by a control's values, and "
        + "ends: -2,0,2EV, exposure=5,20ms, gain=1,4, lens=0,0.5,1. --stills then has these frames alone.",
      valueName: "steps"))
  var bracket: String?

  @Option(
    help: ArgumentHelp(
      "Where `meter` and `focus` look, in fractions of the picture from its top left.",
      valueName: "x/y"))
  var point: String?

  /// Which stills are taken, as a condition; `nil` where the bracket does not choose.
  var stillCondition: String? { bracket == nil ? nil : "bracket.step > 0" }

  /// The chain that was asked for by name, with the controllers and what they read behind it. With
  /// `needsFocus`, another option reads the stage `focus`, too.
  func appended(
    to chain: [StageChoice], needsFocus: Bool, _ registry: Registry
  ) throws(RunError) -> [StageChoice] {
    var chain = chain
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
    for controller in asked where !chain.contains(where: { $0.plugin.name == controller.reads }) {
      chain.append(StageChoice(try registry.stage(controller.reads)))
    }
    if needsFocus, !chain.contains(where: { $0.plugin.name == "focus" }) {
      chain.append(StageChoice(try registry.stage("focus")))
    }
    if let point { try look(at: point, &chain) }
    for controller in asked {
      if chain.contains(where: { $0.plugin.name == controller.name }) {
        throw RunError(
          .usage, "\(controller.option): --stage \(controller.name) is there already; give one")
      }
      chain.append(try controller.choice(registry))
    }
    return chain
  }

  /// An error if a bracket came out, and not all of its stills were written.
  func missingStills(_ summary: RunSummary) -> RunError? {
    guard let steps = bracket.flatMap({ BracketSteps(settingText: $0) }), summary.errors.isEmpty,
      let stills = summary.ledger.entries.first(where: { $0.sink == StillSink.kind.name }),
      stills.counts[.delivered] < steps.values.count
    else { return nil }
    return RunError(
      .failed,
      "\(stills.counts[.delivered]) of the bracket's \(steps.values.count) stills were written; choose a "
        + "smaller size, or a faster disk")
  }

  /// Adds a sink that ends the run when the bracket is over, once it knows the engine.
  func bracketEnd(addedTo sinks: inout [any Sink]) throws(RunError) -> BracketEnd {
    let end = BracketEnd()
    if bracket != nil {
      sinks.append(
        try TriggerSink("bracket.over", name: "bracket") { isOver, _ in
          if isOver { end.stop() }
        })
    }
    return end
  }

  /// The share of the picture's sides that `focus` looks at around a point.
  private static let window = "0.25"

  /// Gives the point to each stage that has one, and has it look there alone unless it is told how.
  private func look(at point: String, _ chain: inout [StageChoice]) throws(RunError) {
    guard Point(settingText: point) != nil else {
      throw RunError(.usage, "--point \(point) is not allowed: give \(Point.allowed)")
    }
    let narrower = ["meter": ("mode", "spot"), "focus": ("window", Self.window)]
    if let mode = chain.first(where: { $0.plugin.name == "meter" })?.values["mode"], mode != "spot"
    {
      throw RunError(
        .usage, "--point: --stage meter:mode=\(mode) has no point; leave the mode out, or the point"
      )
    }
    var isUsed = false
    for index in chain.indices {
      let plugin = chain[index].plugin
      guard plugin.settings.contains(where: { $0.name == "point" }) else { continue }
      guard chain[index].values.updateValue(point, forKey: "point") == nil else {
        throw RunError(.usage, "--point: --stage \(plugin.name) has a point already; give one")
      }
      if let (name, value) = narrower[plugin.name], chain[index].values[name] == nil {
        chain[index].values[name] = value
      }
      isUsed = true
    }
    guard isUsed else {
      throw RunError(
        .usage,
        "--point: no stage of the chain looks at a point; add --auto-exposure, --auto-focus, "
          + "--stage meter or --stage focus")
    }
  }
}

/// Ends a run when its bracket is over.
final class BracketEnd: Sendable {
  private let action = Locked<(@Sendable () -> Void)?>(nil)

  func connect(_ engine: Engine) { action.withLock { $0 = { [weak engine] in engine?.end() } } }

  func stop() { action.withLock { $0 }?() }
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

  func choice(_ registry: Registry) throws(RunError) -> StageChoice {
    let plugin = try registry.stage(name)
    do throws(SettingError) {
      for stage in plugin.stages { _ = try stage.make([setting: value]) }
    } catch {
      throw RunError(.usage, "\(option) \(value) is not allowed: give \(error.allowed)")
    }
    return StageChoice(plugin, values: [setting: value])
  }
}
