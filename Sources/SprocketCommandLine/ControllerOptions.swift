internal import ArgumentParser
internal import Sprocket

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
    help: ArgumentHelp(
      "Where `meter` and `focus` look, in fractions of the picture from its top left.",
      valueName: "x/y"))
  var point: String?

  /// The chain that was asked for by name, with the controllers and what they read behind it. With
  /// `needsFocus`, another option reads the stage `focus`, too.
  func appended(
    to chain: [StageChoice], needsFocus: Bool, _ registry: Registry
  ) throws(RunError) -> [StageChoice] {
    var chain = chain
    let asked = [
      Controller("--auto-exposure", autoExposure, name: "autoexposure", reads: "meter"),
      Controller("--auto-focus", autoFocus, name: "autofocus", reads: "focus"),
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

/// One controller that was asked for.
private struct Controller {
  let option: String
  let mode: String
  let name: String
  let reads: String

  init?(_ option: String, _ mode: String?, name: String, reads: String) {
    guard let mode else { return nil }
    self.option = option
    self.mode = mode
    self.name = name
    self.reads = reads
  }

  func choice(_ registry: Registry) throws(RunError) -> StageChoice {
    let plugin = try registry.stage(name)
    do throws(SettingError) {
      for stage in plugin.stages { _ = try stage.make(["mode": mode]) }
    } catch {
      throw RunError(.usage, "\(option) \(mode) is not allowed: give \(error.allowed)")
    }
    return StageChoice(plugin, values: ["mode": mode])
  }
}
